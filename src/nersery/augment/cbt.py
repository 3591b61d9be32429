"""CBT: a masked language model re-trained under each word's label replaces words that fit it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nersery.augment.base import Augmenter, unfitted
from nersery.augment.masked_lm.model_setup import (
    check_fine_tuning,
    check_model,
    fine_tune,
    open_model,
)
from nersery.augment.masked_lm.word_replacement import (
    check_conditions,
    check_words,
    random_masked_input,
    replace_words,
    suggest_words,
    types_in,
)
from nersery.core.errors import DataError
from nersery.core.outcome import Reject
from nersery.core.registry import FileName
from nersery.core.sentence import Sentence
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.masked.masked_inputs import Drawing, MaskedInput
from nersery.models.model_settings import ModelSettings

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import Guess

OUTSIDE = "O"


@dataclass
class CBT(Augmenter, ModelSettings):
    """Replaces words by guesses of a masked language model, fine-tuned under their labels.

    The label itself, ``PER`` or ``O``, stands in front of the sentence: this is the baseline of `label_conditioned`
    that knows the labels by name, but not what they mean.

    Args:
        model: ``bundled``, or any masked language model by name or folder.
        words: How many words of a sentence are replaced, one after the other, each in sight of the ones before it.
        top_k: Each word is drawn from so many of the most probable ones, by their probability.
        by_subword: Draw each of a word's subwords by itself instead of a whole word.
        epochs: Passes over the gold sentences in fine-tuning, in each of which one word of a sentence is hidden; the
            one with the lowest loss on dev is kept.
        patience: Stop after so many passes without a lower loss on dev; None makes them all.
        batch_size: Sentences in a step.
        learning_rate: Of Adam. None: 1e-5; for the bundled model, a tenth of the size, 1e-4.
        adapt: File of raw text, one sentence a line, that the model learns from first. Empty: none.
        adapt_epochs: Passes over that text.

    Reference:
        The baseline CBT of Liu et al. (2022). Low-Resource NER by Data Augmentation With Prompting. IJCAI, section 4;
        after Varun Kumar, Ashutosh Choudhary and Eunah Cho (2020). Data Augmentation using Pre-trained Transformer
        Models. Workshop on Life-long Learning for Spoken Language Systems.

    Departures:
        - Kumar et al. put the label of a sentence in front of it; Liu et al. do not say how they put the label of a
          word. Here it stands where `label_conditioned` has the definition, the same for all words of a mention.
        - Training and drawing are those of `label_conditioned`, with its departures.
    """

    words: int = 1
    top_k: int = 50
    by_subword: bool = False
    epochs: int = 3
    patience: int | None = None
    batch_size: int = 32
    learning_rate: float | None = None
    adapt: FileName = ""
    adapt_epochs: int = 3
    _lm: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_words(self.words)
        check_fine_tuning(self)
        Drawing(self.top_k)

    def check(self) -> None:
        """Look for the model; see `Augmenter.check`."""
        check_model(self)

    def fit(self, sentences: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Fine-tune the model on words under their labels.

        Raises:
            DataError: When there is no sentence.
        """
        gold = list(sentences)
        if not gold:
            raise DataError("there are no training sentences, and cbt has nothing to learn from")
        model = open_model(self, gold, training)
        check_conditions(model, types_in([*gold, *training.dev]), _label)
        fine_tune(model, self, gold, _random_masked_input, training, rate=1.0)
        self._lm = model

    def generate_batch(self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]) -> list[Sentence | Reject]:
        """The sentences with words replaced."""
        if self._lm is None:
            raise unfitted(self)
        drawing = Drawing(self.top_k, weighted=True, by_subword=self.by_subword)
        return replace_words(self._lm, sentences, rngs, _label, drawing, self.words)

    def suggest(
        self, sentences: Sequence[Sentence], places: Sequence[Sequence[int]], top_k: int
    ) -> list[list[list[Guess]]]:
        """The most probable words; see `Suggester.suggest`."""
        if self._lm is None:
            raise unfitted(self)
        return suggest_words(self._lm, sentences, places, _label, top_k)


def _label(type: str | None) -> tuple[str, ...]:
    return tuple((OUTSIDE if type is None else type).split())


def _random_masked_input(sentence: Sentence, rng: random.Random) -> MaskedInput:
    return random_masked_input(sentence, rng, _label)
