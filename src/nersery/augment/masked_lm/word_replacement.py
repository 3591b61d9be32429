"""What methods that replace single words share: which words, one after the other, and what is shown of their types."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from nersery.core.errors import SettingsError
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.models.masked.masked_inputs import Drawing, MaskedInput, is_replaceable

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import Guess, MaskedLM

NO_WORD = "no word to replace"
Condition = Callable[[str | None], tuple[str, ...]]
"""The words that stand in front of a sentence for the type of a hidden word; None is a word in no entity."""


def unconditioned(type: str | None) -> tuple[str, ...]:
    """Nothing is shown of a type."""
    return ()


def check_words(words: int) -> None:
    """Refuse a number of words to replace that is none.

    Raises:
        SettingsError: Naming it.
    """
    if words < 1:
        raise SettingsError(f"words is {words}, expected 1 or more")


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
    model: MaskedLM,
    sentences: Sequence[Sentence],
    places: Sequence[Sequence[int]],
    condition: Condition,
    top_k: int,
) -> list[list[list[Guess]]]:
    """The most probable words for each place, under what is shown of its type; see `Suggester.suggest`."""
    types = [[type_at(sentence, place) for place in at] for sentence, at in zip(sentences, places, strict=True)]
    asked = [(number, type_) for number, found in enumerate(types) for type_ in dict.fromkeys(found)]
    masked_inputs = [
        MaskedInput(sentences[number].words, tuple(places[number]), condition(type_)) for number, type_ in asked
    ]
    guesses = dict(zip(asked, model.guesses(masked_inputs, top_k), strict=True))
    return [
        [guesses[number, type_][gap] for gap, type_ in enumerate(found)]  # each under its own type
        for number, found in enumerate(types)
    ]
