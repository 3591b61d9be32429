"""Mentions and the stretches between them, and words that change places."""

from __future__ import annotations

import random
from collections.abc import Iterable

from nersery.core.sentence import Sentence

Segment = tuple[int, int]
"""Words ``[start, end)``."""


def segments(sentence: Sentence) -> list[Segment]:
    """The mentions and the stretches between them, in order."""
    found, position = list[Segment](), 0
    for entity in sentence.entities:
        start = entity.start
        if position < start:
            found.append((position, start))
        position = entity.end
        found.append((start, position))
    if position < len(sentence.words):
        found.append((position, len(sentence.words)))
    return found


def shuffled(sentence: Sentence, chosen: Iterable[Segment], rng: random.Random) -> Sentence:
    """The sentence with the words of some segments in random order, which may be the old one."""
    order = list(range(len(sentence)))
    for start, end in chosen:
        segment = order[start:end]
        rng.shuffle(segment)
        order[start:end] = segment
    return sentence.reordered(order)
