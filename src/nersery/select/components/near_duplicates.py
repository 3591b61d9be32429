"""Finds equal and nearly equal sentences without comparing all pairs."""

from __future__ import annotations

import hashlib
import math
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING
from unicodedata import normalize

from nersery.core.sentence import Sentence
from nersery.core.text.text_forms import folded
from nersery.io.temporary_tables.ids import naming_the_temporary_folder, temporary_table

if TYPE_CHECKING:
    import sqlite3

Text = tuple[str, ...]
Found = tuple[float, int]
"""The similarity of an earlier text, and its number."""

NOTHING: Found = (0.0, -1)
ROUNDING = 1e-6
"""The rounding error by which a number may miss a bound. With a smaller value, rapidfuzz misses some duplicates."""

MAX_CHUNK = 1024
"""Maximum number of texts compared with one at once."""


def text_of(sentence: Sentence, *, ignore_case: bool = True) -> Text:
    """The words in a normal form, so that canonically equivalent words are equal."""
    text = "\n".join(sentence.words)
    joined = folded(text) if ignore_case else normalize("NFD", text)
    return tuple(joined.split("\n"))


class NearDuplicates:
    """Finds similar texts among the earlier ones, comparing only texts that can be similar enough.

    Two texts of n and m words with the ``similarity`` s have s (n + m) / 2 words in common. That is at least
    k = n s / (2 - s) words of the text with n words. So the texts share one of the n - k + 1 rarest words of each. An
    index of these words therefore misses no similar text.
    """

    def __init__(self, similarity: float) -> None:
        self._similarity = similarity
        self._least = similarity / (2 - similarity)
        self._numbers: dict[str, int] = {}
        self._frequency = array("L")
        self._words, self._ends = array("L"), array("L", [0])
        self._index: dict[int, array[int]] | None = None
        self._found: dict[int, Found] = {}

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, text: Text) -> None:
        """Add a text."""
        for word in text:
            number = self._numbers.setdefault(word, len(self._numbers))
            if number == len(self._frequency):
                self._frequency.append(0)
            self._frequency[number] += 1
            self._words.append(number)
        self._ends.append(len(self._words))
        self._index, self._found = None, {}

    def nearest(self, number: int) -> Found:
        """The most similar text before this one; the first of several."""
        if number not in self._found:
            self._found[number] = self._search(number)
        return self._found[number]

    def similar_among(self, number: int, others: Iterable[int]) -> Iterator[int]:
        """The texts among ``others`` that are similar enough, compared lazily as the result is read."""
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import extract

        # Chunks grow, because callers usually stop at the first hit, but comparing many texts in one call is faster.
        text, remaining, size = self._text(number), iter(others), 1
        while chunk := list(islice(remaining, size)):
            numbers = self._of_like_length(text, chunk)
            matches = extract(
                text,
                [self._text(other) for other in numbers],
                scorer=Indel.normalized_similarity,
                score_cutoff=self._similarity - ROUNDING,
                limit=None,
            )
            yield from (numbers[index] for _, _, index in matches)
            size = min(4 * size, MAX_CHUNK)

    def rare_words(self, number: int) -> set[int]:
        """The rare words of a text, as numbers. Every similar text has some of them among its own rare words."""
        return self._rarest(self._text(number))

    def _text(self, number: int) -> array[int]:
        return self._words[self._ends[number] : self._ends[number + 1]]

    def _search(self, number: int) -> Found:
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import extractOne

        text = self._text(number)
        numbers = sorted(self._comparable(number))
        best = extractOne(
            text,
            [self._text(earlier) for earlier in numbers],
            scorer=Indel.normalized_similarity,
            score_cutoff=self._similarity - ROUNDING,
        )
        return NOTHING if best is None else (best[1], numbers[best[2]])

    def _comparable(self, number: int) -> list[int]:
        """The earlier texts that share a rare word and are neither too short nor too long, each once."""
        if self._index is None:
            self._index = self._new_index()
        text = self._text(number)
        earlier: set[int] = set()
        for word in self._rarest(text):
            numbers = self._index[word]
            earlier.update(numbers[: bisect_left(numbers, number)])
        return self._of_like_length(text, earlier)

    def _of_like_length(self, text: Sequence[int], numbers: Iterable[int]) -> list[int]:
        shortest, longest = self._least * len(text) - ROUNDING, (len(text) + ROUNDING) / self._least
        ends = self._ends
        return [number for number in numbers if shortest <= ends[number + 1] - ends[number] <= longest]

    def _new_index(self) -> dict[int, array[int]]:
        index: dict[int, array[int]] = defaultdict(lambda: array("L"))
        for number in range(len(self)):
            for word in self.rare_words(number):
                index[word].append(number)
        return index

    def _rarest(self, text: Sequence[int]) -> set[int]:
        """The words of which a similar text must have at least one, without words that occur only once."""
        # At least one of any n - k + 1 words is shared. The rarest are chosen, so that few texts are compared. A word
        # that occurs only once finds nothing. Ties are broken by number, so that the order is the same in all texts.
        common = math.ceil(self._least * len(text) - ROUNDING)
        by_rarity = sorted(text, key=lambda word: (self._frequency[word], word))
        return {word for word in by_rarity[: len(text) - common + 1] if self._frequency[word] > 1}


class ExactDuplicates:
    """Remembers the number of the first equal text for each text. Only a hash of the text itself is stored, on disk."""

    def __init__(self) -> None:
        self._first_numbers = array("L")
        self._table: sqlite3.Connection | None = None

    def __len__(self) -> int:
        return len(self._first_numbers)

    def add(self, text: Text) -> None:
        """Add a text."""
        # 16 bytes: among a billion texts, two share a hash with a chance below 1 in 10^20.
        hash = hashlib.blake2b("".join(text).encode(), digest_size=16).digest()
        with naming_the_temporary_folder():
            self._table = self._table or temporary_table("texts (hash blob primary key, number integer) without rowid")
            if self._table.execute("insert or ignore into texts values (?, ?)", (hash, len(self))).rowcount:
                self._first_numbers.append(len(self))
            else:
                self._first_numbers.extend(
                    self._table.execute("select number from texts where hash = ?", (hash,)).fetchone()
                )

    def nearest(self, number: int) -> Found:
        """The first equal text, if it is before this one, else `NOTHING`."""
        first = self._first_numbers[number]
        return (1.0, first) if first < number else NOTHING
