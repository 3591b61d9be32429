"""Shuffle within segments: words change places between the borders of the entities."""

from __future__ import annotations

import random
from dataclasses import dataclass

from nersery.augment.base import Augmenter, check_rate
from nersery.augment.words.segments import segments, shuffled
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence


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
        super().__post_init__()
        check_rate(self.rate)

    def generate(self, sentence: Sentence, rng: random.Random) -> Sentence | Reject:
        """The sentence with some segments shuffled."""
        chosen = ((start, end) for start, end in segments(sentence) if end - start > 1 and rng.random() < self.rate)
        return shuffled(sentence, chosen, rng)
