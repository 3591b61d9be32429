"""MLM-entity: a pretrained masked language model fills mentions from their context alone."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nersery.augment.base import Augmenter, check_rate, unfitted
from nersery.augment.masked_lm.model_setup import (
    check_model,
    guesses_at,
    open_model,
    replace_in_mentions,
)
from nersery.core.outcome import Reject
from nersery.core.registry import FileName
from nersery.core.sentence import Sentence
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.masked.masked_inputs import Drawing, MaskedInput
from nersery.models.model_settings import ModelSettings

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import Guess


@dataclass
class MaskedEntity(Augmenter, ModelSettings):
    """Replaces words of mentions by guesses of a pretrained masked language model, from context alone.

    The model is told no label, so a new word need not fit the type: this is the baseline that MELM improves on.

    Args:
        model: ``bundled``, or any masked language model by name or folder.
        mean_rate: Mean share of a mention's words that is replaced, in [0, 1].
        top_k: Each word is drawn from so many of the most probable ones, all with the same chance.
        by_subword: Draw each of a word's subwords by itself instead of a whole word.
        in_turn: Replace the words of a sentence one after the other, each in sight of the new ones before it, instead
            of all at once; takes as many times longer.
        adapt: File of raw text, one sentence a line, that the model learns from first. Empty: none.
        adapt_epochs: Passes over that text.

    Reference:
        The baseline MLM-Entity of Zhou et al. (2022). MELM: Data Augmentation with Masked Entity Language Modeling
        for Low-Resource NER. ACL, section 3.3.

    Departures:
        - A new word is one whole word of the vocabulary; ``by_subword`` draws as many subwords as the old one had.
        - Where no word of a sentence would be replaced, one is; words of signs alone stay.
        - The paper's model is XLM-R base, twelve times as large as the bundled one.
    """

    mean_rate: float = 0.5
    top_k: int = 5
    by_subword: bool = False
    in_turn: bool = False
    adapt: FileName = ""
    adapt_epochs: int = 3
    _lm: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rate(self.mean_rate, "mean_rate")
        Drawing(self.top_k)

    def check(self) -> None:
        """Look for the model; see `Augmenter.check`."""
        check_model(self)

    def fit(self, sentences: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Open the model."""
        self._lm = open_model(self, list(sentences), training)

    def generate_batch(self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]) -> list[Sentence | Reject]:
        """The sentences with words of their mentions replaced."""
        if self._lm is None:
            raise unfitted(self)
        return replace_in_mentions(self._lm, self, sentences, rngs, _masked_input)

    def suggest(
        self, sentences: Sequence[Sentence], places: Sequence[Sequence[int]], top_k: int
    ) -> list[list[list[Guess]]]:
        """The most probable words; see `Suggester.suggest`."""
        if self._lm is None:
            raise unfitted(self)
        return guesses_at(self._lm, sentences, places, _masked_input, top_k)


def _masked_input(sentence: Sentence, places: Sequence[int]) -> MaskedInput:
    return MaskedInput(sentence.words, tuple(places))
