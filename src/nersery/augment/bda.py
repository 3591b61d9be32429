"""BDA: a pretrained masked language model replaces any words from their context alone."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nersery.augment.base import Augmenter, unfitted
from nersery.augment.masked_lm.model_setup import check_model, open_model
from nersery.augment.masked_lm.word_replacement import (
    check_words,
    replace_words,
    suggest_words,
    unconditioned,
)
from nersery.core.outcome import Reject
from nersery.core.registry import FileName
from nersery.core.sentence import Sentence
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.masked.masked_inputs import Drawing
from nersery.models.model_settings import ModelSettings

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import Guess


@dataclass
class BDA(Augmenter, ModelSettings):
    """Replaces words by guesses of a pretrained masked language model, from the context alone.

    Any word may be replaced, inside a mention or outside. The model is told no label, so a new word need not fit the
    type: this is a baseline of `label_conditioned`.

    Args:
        model: ``bundled``, or any masked language model by name or folder.
        words: How many words of a sentence are replaced, one after the other.
        top_k: Each word is drawn from so many of the most probable ones, by their probability.
        by_subword: Draw each of a word's subwords by itself instead of a whole word.
        adapt: File of raw text, one sentence a line, that the model learns from first. Empty: none.
        adapt_epochs: Passes over that text.

    Reference:
        The baseline BDA of Liu et al. (2022). Low-Resource NER by Data Augmentation With Prompting. IJCAI, section 4;
        after Wangchunshu Zhou, Tao Ge, Ke Xu, Furu Wei and Ming Zhou (2019). BERT-based Lexical Substitution. ACL.

    Departures:
        - Zhou et al. show the model the old word, half hidden by dropout, and rank its guesses by how little they
          change the sentence. Here the word is hidden whole, as it is in `label_conditioned`, so that the two differ
          in the label alone.
        - The tail of the distribution is cut: see ``top_k``.
        - A new word is one whole word of the vocabulary; ``by_subword`` draws as many subwords as the old one had.
          Words of signs alone stay.
        - The paper's model is BERT base, cased, five times as large as the bundled one.
    """

    words: int = 1
    top_k: int = 50
    by_subword: bool = False
    adapt: FileName = ""
    adapt_epochs: int = 3
    _lm: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_words(self.words)
        Drawing(self.top_k)

    def check(self) -> None:
        """Look for the model; see `Augmenter.check`."""
        check_model(self)

    def fit(self, sentences: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Open the model."""
        self._lm = open_model(self, list(sentences), training)

    def generate_batch(self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]) -> list[Sentence | Reject]:
        """The sentences with words replaced."""
        if self._lm is None:
            raise unfitted(self)
        drawing = Drawing(self.top_k, weighted=True, by_subword=self.by_subword)
        return replace_words(self._lm, sentences, rngs, unconditioned, drawing, self.words)

    def suggest(
        self, sentences: Sequence[Sentence], places: Sequence[Sequence[int]], top_k: int
    ) -> list[list[list[Guess]]]:
        """The most probable words; see `Suggester.suggest`."""
        if self._lm is None:
            raise unfitted(self)
        return suggest_words(self._lm, sentences, places, unconditioned, top_k)
