"""Shuffle within segments: words change places between the borders of the entities."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from nersery.augment.base import Augmenter, check_rate
from nersery.data import Sentence
from nersery.loop import Reject


@dataclass
class ShuffleWithinSegments(Augmenter):
    """Shuffles the words inside each mention and inside each stretch between mentions.

    A sentence is split at the borders of its entities: each mention is a segment, and so is each run of
    words between two. Each segment, with probability ``rate``, has its words put in random order. Entities
    stay where they are; the values of extra columns move with their words.

    Args:
        rate: Probability in [0, 1] with which a segment is shuffled.

    Reference:
        Xiang Dai and Heike Adel (2020). An Analysis of Simple Data Augmentation for Named Entity Recognition.
        COLING, section 3, "shuffle within segments".

    Departures:
        - None known. A shuffle may by chance leave a short segment as it was, as in the paper's code, whose
          default rate, 0.3, is ours.
    """

    rate: float = 0.3

    def __post_init__(self) -> None:
        check_rate(self.rate)

    def generate(self, sentence: Sentence, rng: random.Random) -> Sentence | Reject:
        """The sentence with some segments shuffled."""
        order: list[int] = []
        for start, end in _segments(sentence):
            places = list(range(start, end))
            if len(places) > 1 and rng.random() < self.rate:
                rng.shuffle(places)
            order += places
        return replace(
            sentence,
            words=tuple(sentence.words[place] for place in order),
            columns=tuple(tuple(column[place] for place in order) for column in sentence.columns),
        )


def _segments(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """The mentions and the stretches between them, in order."""
    position = 0
    for entity in sentence.entities:
        if position < entity.start:
            yield position, entity.start
        yield entity.start, entity.end
        position = entity.end
    if position < len(sentence):
        yield position, len(sentence)
