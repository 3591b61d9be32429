"""Sentences that are the same or nearly so, found without comparing all with all."""

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
from nersery.core.text_forms import folded
from nersery.io.temporary_tables.ids import naming_the_temporary_folder, temporary_table

if TYPE_CHECKING:
    import sqlite3

Text = tuple[str, ...]
Found = tuple[float, int]
"""How alike an earlier text is, and its number."""

NOTHING: Found = (0.0, -1)
ROUNDING = 1e-6
"""By so much a number may miss a bound that it meets on paper. With less, rapidfuzz overlooks some."""

LARGEST_CHUNK = 1024
"""Maximum number of texts compared with one at once."""


def text_of(sentence: Sentence, *, ignore_case: bool = True) -> Text:
    """The words, equal where Unicode calls them canonically equivalent."""
    text = "\n".join(sentence.words)
    joined = folded(text) if ignore_case else normalize("NFD", text)
    return tuple(joined.split("\n"))


class NearDuplicates:
    """Finds similar ones among the earlier texts, comparing only those that can be similar enough.

    Texts of n and m words that are ``similarity`` s alike have s (n + m) / 2 words in common, so at least
    k = n s / (2 - s) of each one's. Two such texts then share one of their n - k + 1 rarest words: an index
    of those misses nothing.
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
        """Take note of one more text."""
        for word in text:
            number = self._numbers.setdefault(word, len(self._numbers))
            if number == len(self._frequency):
                self._frequency.append(0)
            self._frequency[number] += 1
            self._words.append(number)
        self._ends.append(len(self._words))
        self._index, self._found = None, {}

    def nearest(self, number: int) -> Found:
        """The most similar of the texts before one; of several the first."""
        if number not in self._found:
            self._found[number] = self._search(number)
        return self._found[number]

    def near_among(self, number: int, others: Iterable[int]) -> Iterator[int]:
        """Those of other texts that are similar enough; they are looked at as they are asked for."""
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import extract

        # Chunks grow: callers mostly stop at the first hit, but many texts in one call are much faster.
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
            size = min(4 * size, LARGEST_CHUNK)

    def rare_words(self, number: int) -> set[int]:
        """Words of a text of which every similar one has some among its own; as numbers."""
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
        """The earlier texts that share a rare word and are not too short or long, each once."""
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
        """The words of which a similar text must have one; those of a single text are left out."""
        # Rare words first: of the n - k + 1 words at least one is shared, and the rarer they are, the fewer texts are
        # compared. A word that no other text has finds nothing. Ties go by number, so that all texts agree.
        common = math.ceil(self._least * len(text) - ROUNDING)
        by_rarity = sorted(text, key=lambda word: (self._frequency[word], word))
        return {word for word in by_rarity[: len(text) - common + 1] if self._frequency[word] > 1}


class ExactDuplicates:
    """Remembers of each text where it came first, and of the text itself a hash alone, on disk."""

    def __init__(self) -> None:
        self._first_numbers = array("L")
        self._table: sqlite3.Connection | None = None

    def __len__(self) -> int:
        return len(self._first_numbers)

    def add(self, text: Text) -> None:
        """Take note of one more text."""
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
        """The first of the texts before one that is equal."""
        first = self._first_numbers[number]
        return (1.0, first) if first < number else NOTHING
