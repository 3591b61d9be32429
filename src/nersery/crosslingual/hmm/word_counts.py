"""How often each word was read, in little memory."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence

from nersery.crosslingual.hmm.texts import UNKNOWN, TextNumbers
from nersery.crosslingual.hmm.vocabulary import KNOWN, Vocabulary


class WordCounts:
    """How often each word of a language was read."""

    def __init__(self) -> None:
        self._words, self._counts = TextNumbers(), array("q")
        self._latest: Counter[str] = Counter()

    def update(self, words: Sequence[str]) -> None:
        """Count some words."""
        self._latest.update(words)
        if len(self._latest) >= KNOWN:
            self._put_away()

    def _put_away(self) -> None:
        for word, count in self._latest.items():
            number = self._words.add(word)
            if number == len(self._counts):
                self._counts.append(0)
            self._counts[number] += count
        self._latest.clear()

    def commonest(self, vocabulary: Vocabulary) -> Iterator[str]:
        """The most frequent word of each stem, or the stem if no word of it was read.

        Of equally frequent words it is the last in the order of characters.
        """
        self._put_away()
        words, counts = self._words, self._counts
        best = array("i", [UNKNOWN]) * len(vocabulary)
        for number, word in enumerate(words):
            (stem,) = vocabulary.grow((word,))
            current = best[stem]
            if current == UNKNOWN or (counts[number], word) > (counts[current], words[current]):
                best[stem] = number
        return (vocabulary.stems[stem] if number == UNKNOWN else words[number] for stem, number in enumerate(best))
