"""Sentences and their translations, as prefixes, in batches of similar length."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nersery.crosslingual.hmm.lexicon import Values
from nersery.crosslingual.hmm.temporary_array import TemporaryArray
from nersery.crosslingual.hmm.vocabulary import Vocabulary

WORDS = 1 << 16
"""Number of words that are counted at once."""

Prefixes = NDArray[np.integer]


class NumberedSentences:
    """Sentences of one language as the numbers of their prefixes; only their lengths are in memory."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary, self._stored, self._lengths, self._size = vocabulary, TemporaryArray(np.int32), array("i"), 0

    def __len__(self) -> int:
        return len(self._lengths)

    def append(self, words: Sequence[str]) -> None:
        """Add a sentence, and add its new prefixes to the vocabulary."""
        self._stored.write(self._size, np.array(self._vocabulary.add(words), np.int32))
        self._lengths.append(len(words))
        self._size += len(words)

    @property
    def lengths(self) -> NDArray[np.int32]:
        """The number of words of each sentence. Shape: (sentences)."""
        return np.frombuffer(self._lengths, np.int32)

    def uses(self, known: Values) -> Values:
        """How often each prefix was read, plus the known counts. Shape: (prefixes)."""
        uses = np.zeros(len(self._vocabulary))
        uses[: len(known)] = known
        for start in range(0, self._size, WORDS):
            np.add.at(uses, self.read(start, min(WORDS, self._size - start)), 1)
        return uses

    def read(self, start: int, length: int) -> Prefixes:
        """The prefixes of some words; their positions count over all sentences."""
        return self._stored.read(start, length)


PADDING = -2
CELLS = 60_000
"""Maximum number of word pairs in a batch of several sentences, so that they fit into a processor's cache."""


@dataclass(frozen=True)
class Batch:
    """Some sentences and their translations, as prefixes.

    Args:
        source: Prefixes, or `PADDING` where there is no word. Shape: (sentences, source words).
        target: The same. Shape: (sentences, target words).
    """

    source: Prefixes
    target: Prefixes

    @property
    def lengths(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of words of each source and each target sentence, at least 1. Shape: twice (sentences)."""
        sources, targets = ((side != PADDING).sum(1) for side in (self.source, self.target))
        return np.maximum(sources, 1), np.maximum(targets, 1)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Target words, sentences, source words."""
        return self.target.shape[1], *self.source.shape


class Batches:
    """Sentences and their translations in batches of similar length. Each iteration yields the same batches."""

    def __init__(self, sources: NumberedSentences, targets: NumberedSentences) -> None:
        self._stored, self._shapes = TemporaryArray(np.int32), list[tuple[int, int, int]]()
        sides = [(side, side.lengths, np.cumsum(side.lengths, dtype=np.int64)) for side in (sources, targets)]
        start = 0
        for group in _groups(sources.lengths, targets.lengths):
            batch = Batch(*(padded([side.read(end[n] - size[n], size[n]) for n in group]) for side, size, end in sides))
            for side in (batch.source, batch.target):
                self._stored.write(start, side)
                start += side.size
            self._shapes.append(batch.shape)

    def __iter__(self) -> Iterator[Batch]:
        start = 0
        for targets, rows, sources in self._shapes:
            sides = self._stored.read(start, rows * (sources + targets))
            start += len(sides)
            yield Batch(sides[: rows * sources].reshape(rows, -1), sides[rows * sources :].reshape(rows, -1))


def _groups(sources: NDArray[np.int32], targets: NDArray[np.int32]) -> Iterator[list[int]]:
    """Groups of sentences of similar length, with at most `CELLS` word pairs together, or one sentence with more."""
    group: list[int] = []
    longest = (0, 0)
    for number in np.lexsort((targets, sources // 4)):
        lengths = int(sources[number]), int(targets[number])
        grown = max(longest[0], lengths[0]), max(longest[1], lengths[1])
        if group and grown[0] * grown[1] * (len(group) + 1) > CELLS:
            yield group
            group, grown = [], lengths
        group.append(int(number))
        longest = grown
    if group:
        yield group


def padded(sentences: Sequence[Prefixes], length: int = 0) -> NDArray[np.int64]:
    """Sentences as rows padded to the longest sentence, or to ``length`` if it is more. Shape: (sentences, words)."""
    rows = np.full((len(sentences), max(length, *map(len, sentences))), PADDING, np.int64)
    for row, sentence in zip(rows, sentences, strict=True):
        row[: len(sentence)] = sentence
    return rows
