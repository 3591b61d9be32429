"""Mentions and the stretches between them, and words that change places."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from nersery.core.sentence import Sentence

Segment = tuple[int, int]
"""Words ``[start, end)``."""


def segments(sentence: Sentence) -> Iterator[Segment]:
    """The mentions and the stretches between them, in order."""
    position = 0
    for entity in sentence.entities:
        if position < entity.start:
            yield position, entity.start
        yield entity.start, entity.end
        position = entity.end
    if position < len(sentence):
        yield position, len(sentence)


def shuffled(sentence: Sentence, chosen: Iterable[Segment], rng: random.Random) -> Sentence:
    """The sentence with the words of some segments in random order, which may be the old one."""
    order = list(range(len(sentence)))
    for start, end in chosen:
        places = order[start:end]
        rng.shuffle(places)
        order[start:end] = places
    return reordered(sentence, order)


def reordered(sentence: Sentence, order: Sequence[int]) -> Sentence:
    """The sentence's words, with their extra columns, in another order; its entities stay where they are.

    Args:
        order: Which word comes first, second and so on; each word once.
    """
    return replace(
        sentence,
        words=tuple(sentence.words[place] for place in order),
        columns=tuple(tuple(column[place] for place in order) for column in sentence.columns),
    )
