"""PromptDA, label-conditioned: a masked language model re-trained under definitions replaces words that fit them."""

from __future__ import annotations

import json
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
    warn_of_unused,
)
from nersery.augment.masked_lm.word_replacement import (
    check_conditions,
    check_words,
    random_masked_input,
    replace_words,
    suggest_words,
    types_in,
)
from nersery.core.definitions import (
    OUTSIDE,
    check_texts,
    definition,
    is_known,
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


@dataclass
class LabelConditioned(Augmenter, ModelSettings):
    """Replaces words by guesses of a masked language model, fine-tuned under definitions of their types.

    In front of the sentence stands what the type of the hidden word means ("named person or family"), or "other" for
    a word in no entity, so the model guesses words that fit both the context and the type. The paper makes ten
    sentences of each, which is ``copies = 10`` of the loop, and then sorts out what is noise by `self_training`.

    Args:
        model: ``bundled``, or any masked language model by name or folder.
        words: How many words of a sentence are replaced, one after the other, each in sight of the ones before it.
        top_k: Each word is drawn from so many of the most probable ones, by their probability.
        by_subword: Draw each of a word's subwords by itself instead of a whole word.
        definitions: What types mean, before the defaults for common sets of types. A type without any definition
            is shown by its name, and a note says so.
        epochs: Passes over the gold sentences in fine-tuning, in each of which one word of a sentence is hidden; the
            one with the lowest loss on dev is kept.
        patience: Stop after so many passes without a lower loss on dev; None makes them all.
        batch_size: Sentences in a step.
        learning_rate: Of Adam. None: 1e-5; for the bundled model, a tenth of the size, 1e-4.
        adapt: File of raw text, one sentence a line, that the model learns from first. Empty: none.
        adapt_epochs: Passes over that text.

    Reference:
        Jian Liu, Yufeng Chen and Jinan Xu (2022). Low-Resource NER by Data Augmentation With Prompting. IJCAI,
        section 3.1.

    Departures:
        - The paper draws from the whole predicted distribution. Its tail holds tens of thousands of words, each
          improbable, that together are drawn often; here it is cut behind ``top_k``.
        - The paper takes its definitions from spaCy; those here are our own, and also for MultiCoNER and MaSciP.
        - The paper says neither how long nor how fast it re-trains, nor how many words it replaces. Three epochs and
          one word are our choice; the learning rate is the one of its tagger.
        - A word is drawn from all words with a letter or digit, inside entities or not; signs are never hidden. All
          subwords of a word are hidden at once, and a new word is one whole word of the vocabulary; ``by_subword``
          draws as many subwords as the old one had.
        - All segment ids are 0, those of the definition too.
        - The paper's model is BERT base, cased, five times as large as the bundled one, which learns at 1e-4.
    """

    words: int = 1
    top_k: int = 50
    by_subword: bool = False
    definitions: dict[str, str] = field(default_factory=dict)
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
        check_texts(self.definitions, "definitions")
        check_fine_tuning(self)
        Drawing(self.top_k)

    def check(self) -> None:
        """Look for the model; see `Augmenter.check`."""
        check_model(self)

    def fit(self, sentences: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Fine-tune the model on words under the definitions of their types.

        Raises:
            DataError: When there is no sentence.
        """
        gold = list(sentences)
        if not gold:
            raise DataError("there are no training sentences, and label_conditioned has nothing to learn from")
        types = types_in([*gold, *training.dev])
        self._warn_of_undefined(types)
        warn_of_unused(self.definitions, "definitions", gold)
        model = open_model(self, gold, training)
        check_conditions(model, types, self._definition)
        fine_tune(model, self, gold, self._random_masked_input, training, rate=1.0)
        self._lm = model

    def generate_batch(self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]) -> list[Sentence | Reject]:
        """The sentences with words replaced."""
        if self._lm is None:
            raise unfitted(self)
        drawing = Drawing(self.top_k, weighted=True, by_subword=self.by_subword)
        return replace_words(self._lm, sentences, rngs, self._definition, drawing, self.words)

    def suggest(
        self, sentences: Sequence[Sentence], places: Sequence[Sequence[int]], top_k: int
    ) -> list[list[list[Guess]]]:
        """The most probable words; see `Suggester.suggest`."""
        if self._lm is None:
            raise unfitted(self)
        return suggest_words(self._lm, sentences, places, self._definition, top_k)

    def _random_masked_input(self, sentence: Sentence, rng: random.Random) -> MaskedInput:
        return random_masked_input(sentence, rng, self._definition)

    def _definition(self, type: str | None) -> tuple[str, ...]:
        return tuple((OUTSIDE if type is None else definition(type, self.definitions)).split())

    def _warn_of_undefined(self, types: Sequence[str]) -> None:
        from nersery.core.warnings import warn

        if undefined := [type_ for type_ in types if type_ not in self.definitions and not is_known(type_)]:
            warn(
                f"label_conditioned has no definition of {', '.join(undefined)}, and shows the model the bare name. "
                f'Say what is meant: definitions = {{ {json.dumps(undefined[0], ensure_ascii=False)} = "..." }}'
            )
