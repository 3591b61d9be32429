"""What `bda`, `cbt` and `label_conditioned` share: they replace single words, and differ in what the model is shown."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nersery.augment.base import unfitted
from nersery.augment.masked_lm.model_setup import Adapted, FineTunedAndAdapted, check_model, fine_tune, open_model
from nersery.core.errors import DataError
from nersery.core.outcome import Reject
from nersery.core.ranges import Count
from nersery.core.registry import name_of
from nersery.core.sentence import Sentence
from nersery.core.training_context import Training
from nersery.models.masked.masked_inputs import Drawing, MaskedInput, is_replaceable

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import Guess, MaskedLM

NO_WORD = "no word to replace"
Condition = Callable[[str | None], tuple[str, ...]]
"""The words that stand in front of a sentence for the type of a hidden word; None is a word in no entity."""


@dataclass
class WordPredictions:
    """Settings and generation of the methods that replace random words by predictions of a masked language model.

    Args:
        words: Words to replace per sentence, one by one; each prediction sees the previous ones.
        top_k: Draw each word from this many most probable words, in proportion to their probability.
        by_subword: Draw each subword of a word separately instead of a whole word.
    """

    words: Count = 1
    top_k: Count = 50
    by_subword: bool = False
    _lm: Any = field(default=None, init=False, repr=False, compare=False)

    def check(self: Adapted) -> None:
        """Look for the model; see `Augmenter.check`."""
        check_model(self)

    def _condition(self, type: str | None) -> tuple[str, ...]:
        """The words in front of the sentence for the type of a masked word; by default none."""
        return unconditioned(type)

    def generate_batch(self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]) -> list[Sentence | Reject]:
        """The sentences with words replaced."""
        if self._lm is None:
            raise unfitted(self)
        drawing = Drawing(self.top_k, weighted=True, by_subword=self.by_subword)
        return replace_words(self._lm, sentences, rngs, self._condition, drawing, self.words)

    def suggest(
        self, sentences: Sequence[Sentence], places: Sequence[Sequence[int]], top_k: int
    ) -> list[list[list[Guess]]]:
        """The most probable words; see `Suggester.suggest`."""
        if self._lm is None:
            raise unfitted(self)
        return suggest_words(self._lm, sentences, places, self._condition, top_k)


def fine_tuned_on_words(
    settings: FineTunedAndAdapted, gold: Sequence[Sentence], training: Training, condition: Condition
) -> MaskedLM:
    """A model fine-tuned to predict one masked word per gold sentence, given its condition.

    Raises:
        DataError: When there is no gold sentence.
    """
    if not gold:
        raise DataError(f"there are no training sentences, and {name_of(settings)} has nothing to learn from")
    model = open_model(settings, gold, training)
    check_conditions(model, types_in([*gold, *training.dev]), condition)
    fine_tune(model, settings, gold, lambda s, rng: random_masked_input(s, rng, condition), training, rate=1.0)
    return model


def unconditioned(type: str | None) -> tuple[str, ...]:
    """Nothing is shown of a type."""
    return ()


def check_conditions(model: MaskedLM, types: Iterable[str], condition: Condition) -> None:
    """Refuse conditions that leave no room for a sentence, before any time is spent.

    Raises:
        SettingsError: Naming the first.
    """
    for type_ in (None, *types):
        model.check_condition(condition(type_))


def types_in(sentences: Iterable[Sentence]) -> list[str]:
    """The types of all entities, sorted."""
    return sorted({entity.type for sentence in sentences for entity in sentence.entities})


def replaceable_words(sentence: Sentence) -> list[int]:
    """The positions of words that another word can stand in for, inside entities or not."""
    return [position for position, word in enumerate(sentence.words) if is_replaceable(word)]


def type_at(sentence: Sentence, position: int) -> str | None:
    """The type of the entity over a word, if there is one."""
    return next((entity.type for entity in sentence.entities if entity.start <= position < entity.end), None)


def masked_input_at(sentence: Sentence, position: int, condition: Condition) -> MaskedInput:
    """The sentence with one word hidden, under what is shown of its type."""
    return MaskedInput(sentence.words, (position,), condition(type_at(sentence, position)))


def random_masked_input(sentence: Sentence, rng: random.Random, condition: Condition) -> MaskedInput:
    """The sentence with one word hidden, each with the same chance; with no gap when none can be replaced."""
    positions = replaceable_words(sentence)
    return masked_input_at(sentence, rng.choice(positions), condition) if positions else MaskedInput(sentence.words, ())


def replace_words(
    model: MaskedLM,
    sentences: Sequence[Sentence],
    rngs: Sequence[random.Random],
    condition: Condition,
    drawing: Drawing,
    words: int,
) -> list[Sentence | Reject]:
    """The sentences with random words replaced, one after the other, each in sight of those replaced before it.

    Args:
        words: How many distinct words of a sentence; all of them where it has fewer.
    """
    made = list(sentences)
    places = []
    for sentence, rng in zip(sentences, rngs, strict=True):
        positions = replaceable_words(sentence)
        places.append(rng.sample(positions, min(words, len(positions))))
    for turn in range(max(map(len, places), default=0)):
        due = [number for number, chosen in enumerate(places) if turn < len(chosen)]
        masked_inputs = [masked_input_at(made[number], places[number][turn], condition) for number in due]
        filled = model.fill(masked_inputs, [rngs[number] for number in due], drawing)
        for number, new in zip(due, filled, strict=True):
            place = places[number][turn]
            made[number] = made[number].replace_span(place, place + 1, new)
    return [sentence if chosen else Reject(NO_WORD) for sentence, chosen in zip(made, places, strict=True)]


def suggest_words(
    model: MaskedLM, sentences: Sequence[Sentence], places: Sequence[Sequence[int]], condition: Condition, top_k: int
) -> list[list[list[Guess]]]:
    """The most probable words for each place, under what is shown of its type; see `Suggester.suggest`."""
    types = [[type_at(sentence, place) for place in at] for sentence, at in zip(sentences, places, strict=True)]
    queries = [(number, type_) for number, found in enumerate(types) for type_ in dict.fromkeys(found)]
    masked_inputs = [
        MaskedInput(sentences[number].words, tuple(places[number]), condition(type_)) for number, type_ in queries
    ]
    guesses = dict(zip(queries, model.guesses(masked_inputs, top_k), strict=True))
    return [
        [guesses[number, type_][gap] for gap, type_ in enumerate(found)]  # each under its own type
        for number, found in enumerate(types)
    ]
