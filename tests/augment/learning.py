"""A small corpus in which the label determines the word."""

from __future__ import annotations

from typing import Any

from nersery import Corpus, Entity, Sentence
from nersery.augment.base import Augmenter
from nersery.core.training_context import Training
from nersery.models.masked.masked_inputs import Drawing

NAMES = {"PER": ("Ada", "Grace", "Linus", "Radia"), "LOC": ("Oslo", "Paris", "Lima", "Pune")}
GOLD = Corpus(Sentence((word, "won", "."), (Entity(0, 1, type_),)) for type_, words in NAMES.items() for word in words)
LEARNING = {"epochs": 200, "batch_size": 8, "learning_rate": 2e-3, "precision": "fp32"}
"""Settings with which a tiny model learns this corpus."""


def guesses(method: Augmenter, type_: str) -> dict[str, float]:
    """The words that a fitted method guesses for a mention of a type, with their probabilities."""
    asked: Any = method
    sentence = Sentence(("we", "won", "."), (Entity(0, 1, type_),))
    ((found,),) = asked.suggest([sentence], [(0,)], 50)
    return {word.casefold(): probability for word, probability in found}


def prefers(method: Augmenter, type_: str, meant: str) -> bool:
    """Check that names of the expected type are far more probable; the exact order varies with the machine."""
    found = guesses(method, type_)
    mass = {name: sum(found.get(word.casefold(), 0.0) for word in words) for name, words in NAMES.items()}
    return mass.pop(meant) > 3 * max(mass.values())


def assert_it_learns_what_labels_mean(method: Augmenter) -> None:
    """After fine-tuning the best words for a type are those of the type."""
    method.fit(GOLD, Training(seed=0))
    assert all(prefers(method, type_, type_) for type_ in NAMES)


def assert_it_ignores_labels(method: Augmenter) -> None:
    """The guesses are the same for every type."""
    method.fit(GOLD, Training(dev=GOLD, seed=0))
    assert guesses(method, "PER") == guesses(method, "LOC")


class Asked:
    """Records what a method requests from its model."""

    def __init__(self, method: Augmenter) -> None:
        held: Any = method
        self.masked_inputs: list[Any] = []
        self.drawings: list[Drawing] = []
        fill = held._lm.fill

        def watched(masked_inputs: Any, rngs: Any, drawing: Drawing) -> Any:
            self.masked_inputs += masked_inputs
            self.drawings.append(drawing)
            return fill(masked_inputs, rngs, drawing)

        held._lm.fill = watched
