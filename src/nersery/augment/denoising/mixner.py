"""ACLM's mixner: the template of a sentence goes together with that of one that is like it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nersery.core.sentence import Sentence

if TYPE_CHECKING:
    from nersery.models.text_encoder import TextEncoder

MIXED_ABOVE = 0.7
MEAN, DEVIATION = 0.5, 0.79
"""Of the number that is drawn for each sentence and round. The paper does not give the deviation; with this one two
rounds in five are mixed, which is the share in its code."""


def is_mixed(rng: random.Random) -> bool:
    """Whether a round of a sentence is one with a partner."""
    return rng.gauss(MEAN, DEVIATION) > MIXED_ABOVE


class Partners:
    """The gold sentences that are most like a sentence, by the cosine of sentence embeddings; of copies the first.

    Args:
        gold: From which partners are taken; those without entities are none.
        neighbours: From how many of the most similar ones a partner is drawn.
    """

    def __init__(self, encoder: TextEncoder, gold: Sequence[Sentence], neighbours: int) -> None:
        self._encoder, self._neighbours = encoder, neighbours
        distinct: dict[tuple[str, ...], Sentence] = {}
        for sentence in gold:
            if sentence.entities:
                distinct.setdefault(sentence.words, sentence)
        self._gold = [*distinct.values()]
        self._numbers = {words: number for number, words in enumerate(distinct)}
        self._vectors = encoder.sentences([*distinct])

    def of(self, sentences: Sequence[Sentence]) -> list[list[Sentence]]:
        """For each sentence the gold sentences to draw a partner from, the most similar first; never its own words."""
        import numpy as np

        from nersery.models.neighbours import nearest

        # Gold sentences have their vectors already; -1 marks those to encode, whose rows are overwritten below.
        numbers = np.array([self._numbers.get(sentence.words, -1) for sentence in sentences], dtype=np.int64)
        vectors = self._vectors[numbers]
        vectors[numbers < 0] = self._encoder.sentences([s.words for s in sentences if s.words not in self._numbers])
        neighbours = nearest(vectors, self._vectors, self._neighbours, numbers)
        return [
            [self._gold[number] for number in row if self._gold[number].words != sentence.words]
            for row, sentence in zip(neighbours.tolist(), sentences, strict=True)
        ]
