"""The tagger trained on gold that a method asks for its opinion."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from nersery.core.errors import SettingsError
from nersery.core.registry import create
from nersery.core.sentence import Sentence
from nersery.core.training_context import Training

if TYPE_CHECKING:
    from nersery.taggers.base import Tagger


def check_gold_tagger(folder: str | None) -> None:
    """Look for the tagger in a folder, where one is named.

    Raises:
        MissingResourceError: When there is none.
    """
    from nersery.taggers.base import load_tagger

    if folder is not None:
        load_tagger(folder)


def gold_tagger(name: str, folder: str | None, gold: Sequence[Sentence], training: Training) -> Tagger:
    """The tagger in a folder; or else the one that the caller has; or else a new one of the default kind.

    Args:
        name: Of the method that asks for it.
        folder: Or a Hugging Face name.

    Raises:
        SettingsError: When there is none, and nothing to train one on.
    """
    from nersery.taggers.base import load_tagger

    if folder is not None:
        return load_tagger(folder)
    if training.tagger is not None:
        given: Tagger = training.tagger()
        return given
    if not gold:
        raise SettingsError(
            f"{name} has no tagger. Name one by tagger (a folder that `nersery train` wrote, or a Hugging "
            "Face token-classification model), or give labelled sentences to train one on (--gold FILE)"
        )
    trained: Tagger = create("tagger", "transformer")
    state = training.folder / "tagger" if training.folder else None
    trained.fit(gold, training.dev, seed=training.seed, progress=training.progress, folder=state)
    return trained


def tell_of_labels(known: Collection[str], candidates: Iterable[Sentence], told: set[str]) -> None:
    """Say what labels no tagger can confirm, each type once.

    Args:
        known: The types that the tagger knows.
        told: The types of which that has been said; those of the candidates are added.
    """
    from nersery.core.warnings import warn

    types = {entity.type for sentence in candidates for entity in sentence.entities} - told
    told |= types
    if unknown := sorted(types - {*known}):
        warn(
            f"the tagger does not know {', '.join(unknown)}, and so never agrees where candidates have that: it knows "
            f"{', '.join(sorted(known))}"
        )
