"""How often prefixes count as linked before anything is learnt."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from nersery.crosslingual.hmm.lexicon import Values, split_keys
from nersery.crosslingual.hmm.string_similarity import WordFeatures
from nersery.crosslingual.hmm.texts import UNKNOWN, SymbolTable
from nersery.crosslingual.hmm.vocabulary import MAX_CACHED, Numbers, Vocabulary

DEFAULT_PRIOR = 1e-4
"""How often the prefixes of any pair count as linked before learning."""


class PriorCounts:
    """Counts of pairs of prefixes before learning, from their spelling and from suggestions of other aligners.

    Args:
        string_similarity: Number of observations that two identical words are worth.
    """

    def __init__(self, string_similarity: float) -> None:
        self._string_similarity = string_similarity
        self._features, self._rows = WordFeatures(), (range(0), range(0))
        self._keys, self._counts = np.zeros(0, np.int64), np.zeros(0)

    def compare(self, sources: Iterable[str], targets: Iterable[str]) -> None:
        """Set the words by which prefixes are compared: one for each prefix of each side."""
        self._rows = self._features.added(sources), self._features.added(targets)

    def add(self, keys: Numbers, counts: Values) -> None:
        """Count suggested links. The counts of a pair of prefixes that occurs more than once add up."""
        order = np.argsort(keys, kind="stable")
        self._keys, self._counts = keys[order], counts[order]

    def counts(self, keys: Numbers) -> Values:
        """The prior counts of sorted keys, which must contain all suggested keys between the first and the last."""
        priors = np.full(len(keys), DEFAULT_PRIOR)
        if self._string_similarity:
            rows = (side.start + prefixes for side, prefixes in zip(self._rows, split_keys(keys), strict=True))
            priors += self._string_similarity * self._features.similarity(*rows)
        start, end = np.searchsorted(self._keys, keys[:1]).sum(), np.searchsorted(self._keys, keys[-1:], "right").sum()
        np.add.at(priors, np.searchsorted(keys, self._keys[start:end]), self._counts[start:end])
        return priors


class WordCounts:
    """How often each word of a language was read."""

    def __init__(self) -> None:
        self._words, self._counts = SymbolTable(), array("q")
        self._latest: Counter[str] = Counter()

    def update(self, words: Sequence[str]) -> None:
        """Count some words."""
        self._latest.update(words)
        if len(self._latest) >= MAX_CACHED:
            self._put_away()

    def _put_away(self) -> None:
        for word, count in self._latest.items():
            number = self._words.add(word)
            if number == len(self._counts):
                self._counts.append(0)
            self._counts[number] += count
        self._latest.clear()

    def commonest(self, vocabulary: Vocabulary) -> Iterator[str]:
        """The most frequent word of each prefix, or the prefix if no word of it was read.

        Of equally frequent words, it is the last one in the order of code points.
        """
        self._put_away()
        words, counts = self._words, self._counts
        best = array("i", [UNKNOWN]) * len(vocabulary)
        for number, word in enumerate(words):
            (prefix,) = vocabulary.add((word,))
            current = best[prefix]
            if current == UNKNOWN or (counts[number], word) > (counts[current], words[current]):
                best[prefix] = number
        return (
            vocabulary.prefixes[prefix] if number == UNKNOWN else words[number] for prefix, number in enumerate(best)
        )
