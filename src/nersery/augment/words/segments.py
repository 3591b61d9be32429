"""Segments of a sentence, which are mentions and the stretches between them, and shuffling of their words."""

from __future__ import annotations

import random
from collections.abc import Iterable

from nersery.core.entity import Span
from nersery.core.sentence import Sentence


def segments(sentence: Sentence) -> list[Span]:
    """The mentions and the stretches between them, in order."""
    parts, position = list[Span](), 0
    for entity in sentence.entities:
        start = entity.start
        if position < start:
            parts.append((position, start))
        position = entity.end
        parts.append((start, position))
    if position < len(sentence.words):
        parts.append((position, len(sentence.words)))
    return parts


def shuffled(sentence: Sentence, chosen: Iterable[Span], rng: random.Random) -> Sentence:
    """The sentence with the words of some segments in random order, which may be the old order."""
    order: list[int] = []
    for start, end in chosen:
        order = order or list(range(len(sentence)))
        _shuffle(order, start, end, rng)
    return sentence.reordered(order) if order else sentence


def _shuffle(items: list[int], start: int, end: int, rng: random.Random) -> None:
    """Shuffle the items of a segment as ``rng.shuffle`` does, which takes three times as long because of its calls."""
    getrandbits = rng.getrandbits
    for size in range(end - start, 1, -1):
        bits = size.bit_length()
        drawn = getrandbits(bits)
        while drawn >= size:
            drawn = getrandbits(bits)
        last, other = start + size - 1, start + drawn
        items[last], items[other] = items[other], items[last]
