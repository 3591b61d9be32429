"""The probabilities that GIZA++ learns, by which its links are weighed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nersery.crosslingual.answer_error import AnswerError

NULL = 0
"""The number of the empty word, from which words without a translation come."""
SHIFT = 32


@dataclass(frozen=True)
class TranslationTable:
    """How probably a word is translated by another one.

    Args:
        keys: Number of the word, and behind it that of its translation, sorted. Shape: (entries).
        values: The probability of the translation, given the word. Shape: (entries).
    """

    keys: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def read(cls, path: Path) -> TranslationTable:
        """From a file such as ``source_target.t3.final``: in each line two numbers of words and a probability.

        Raises:
            AnswerError: If it is another kind of file.
        """
        try:
            lines = np.loadtxt(path, dtype=np.float64, ndmin=2)
        except (OSError, ValueError) as error:
            raise AnswerError(f"{path.name} cannot be read ({error})") from error
        if lines.shape[1] != 3 or not ((lines >= 0).all() and (lines[:, 2] <= 1).all()):
            raise AnswerError(f"{path.name}: expected two numbers of words and a probability in each line")
        left, right = lines[:, :2].astype(np.int64).T
        keys = (left << SHIFT) | right
        order = np.argsort(keys)
        return cls(keys[order], lines[order, 2])

    def origins(self, words: Sequence[int], translation: Sequence[int]) -> NDArray[np.float64]:
        """How probably each word of a translation comes from each word, as IBM model 1 reckons it.

        Shape: (words, translation). The rest of each column is the empty word's.
        """
        left, right = np.array([*words, NULL], np.int64), np.array(translation, np.int64)
        wanted = (left << SHIFT)[:, None] | right
        places = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        chances = np.where(self.keys[places] == wanted, self.values[places], 0.0)
        origins: NDArray[np.float64] = chances / np.maximum(chances.sum(0), np.finfo(float).tiny)
        return origins[:-1]
