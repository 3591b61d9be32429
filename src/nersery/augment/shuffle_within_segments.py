"""Shuffle within segments: shuffle words without crossing the borders of entities."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import ClassVar

from nersery.augment.base import Augmenter
from nersery.augment.words.segments import segments, shuffled
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.core.settings.ranges import Rate


@dataclass
class ShuffleWithinSegments(Augmenter):
    """Shuffles the words inside each mention and inside each stretch between mentions.

    Entities stay where they are; values of extra columns move with their words.

    Args:
        rate: Probability of shuffling a segment.

    Reference:
        Dai and Adel (2020), COLING, section 3, "shuffle within segments".

    Departures:
        - None known.
    """

    needs_whole_words: ClassVar[bool] = True

    rate: Rate = 0.3

    def generate(self, sentence: Sentence, rng: random.Random) -> Sentence | Reject:
        drawn, rate = rng.random, self.rate
        chosen = ((start, end) for start, end in segments(sentence) if end - start > 1 and drawn() < rate)
        return shuffled(sentence, chosen, rng)
