"""The sentences of one language that the statistical aligner learns from, as stems in a temporary file."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nersery.crosslingual.hmm.lexicon import Values
from nersery.crosslingual.hmm.temporary_array import TemporaryArray
from nersery.crosslingual.hmm.vocabulary import Vocabulary

WORDS = 1 << 16
"""So many words are counted at once."""

Stems = NDArray[np.integer]


class Stemmed:
    """Sentences of one language as the numbers of their stems; only their lengths are in memory."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary, self._stored, self._lengths, self._size = vocabulary, TemporaryArray(np.int32), array("i"), 0

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self._lengths)

    def append(self, words: Sequence[str]) -> None:
        """Add a sentence, and its new stems to the vocabulary."""
        self._stored.write(self._size, np.array(self._vocabulary.grow(words), np.int32))
        self._lengths.append(len(words))
        self._size += len(words)

    @property
    def lengths(self) -> NDArray[np.int32]:
        """The words of each sentence. Shape: (sentences)."""
        return np.frombuffer(self._lengths, np.int32)

    def uses(self, known: Values) -> Values:
        """How often each stem was read, with what is known already. Shape: (stems)."""
        uses = np.zeros(len(self._vocabulary))
        uses[: len(known)] = known
        for start in range(0, self._size, WORDS):
            np.add.at(uses, self.read(start, min(WORDS, self._size - start)), 1)
        return uses

    def read(self, start: int, length: int) -> Stems:
        """The stems of some words, counted over all sentences."""
        return self._stored.read(start, length)
