"""Duplicates: sentences that are there already, in gold, in dev or test, or among the generated ones."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from nersery.data import Sentence
from nersery.errors import DataError, NerseryError, Problem, SettingsError
from nersery.select.base import Selector
from nersery.training import NO_TRAINING, Training

Text = tuple[str, ...]
Found = tuple[float, int]
"""How alike an earlier text is, and its number."""

NOTHING: Found = (0.0, -1)
ROUNDING = 1e-6
"""By so much a number may miss a bound that it meets on paper. With less, rapidfuzz overlooks some."""

SOURCES = ("held-out data", "gold", "another generated sentence")
"""What a sentence may be a duplicate of; of several that are equally near, the first counts."""


@dataclass
class Duplicates(Selector):
    """Rejects sentences that say what gold, dev, test or an earlier generated sentence says.

    The score is 1 minus the similarity to the nearest earlier sentence that is at least ``similarity`` alike,
    and 1 when there is none; of generated duplicates the first has 1. Only words are compared, not labels,
    for the same words under other labels contradict each other. They are equal when Unicode calls them
    canonically equivalent, so that nothing hangs on how an accent is encoded. The reason says what a sentence
    duplicates: held-out data (a leak from dev or test), gold, or another generated sentence; and whether
    exactly or nearly.

    Args:
        similarity: From which similarity on two sentences are duplicates, in (0, 1]. 1 finds exact duplicates
            alone, by hash. Below 1 it is the share of the words of both that lie in their longest common
            subsequence, and a sentence that stays close to its own parent is a near-duplicate of gold: at 0.9
            one new word in ten is too little.
        ignore_case: Whether words that differ in case alone are equal.
        threshold: Sentences that score less are rejected; 1 rejects every duplicate that was found.
    """

    similarity: float = 1.0
    ignore_case: bool = True
    threshold: float = 1.0
    _numbers: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _starts: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 < self.similarity <= 1:
            raise SettingsError(f"similarity is {self.similarity:g}, expected a number in (0, 1]")
        if not 0 <= self.threshold <= 1:
            raise SettingsError(f"threshold is {self.threshold:g}, expected a number in [0, 1]")
        self._seen = self._memory()

    def _memory(self) -> _Exact | _Near:
        return _Exact() if self.similarity == 1 else _Near(self.similarity)

    def fit(
        self, gold: Sequence[Sentence], *, held_out: Iterable[Sentence] = (), training: Training = NO_TRAINING
    ) -> None:
        """Take note of what is there already."""
        self._seen, self._numbers, self._starts = self._memory(), {}, []
        for sentences in (held_out, gold):
            self._starts.append(len(self._seen))
            for sentence in sentences:
                self._seen.add(self._text(sentence))
        self._starts.append(len(self._seen))

    def survey(self, candidates: Iterable[Sentence]) -> None:
        """Take note of the candidates in their order.

        Raises:
            DataError: When two of them share an id.
        """
        repeated = []
        for sentence in candidates:
            if sentence.id in self._numbers:
                repeated.append(Problem("another candidate has the same id", sentence=sentence.id))
            self._numbers[sentence.id] = len(self._seen)
            self._seen.add(self._text(sentence))
        if repeated:
            raise DataError(repeated, fix="give every sentence an id of its own")

    def score(self, sentences: Sequence[Sentence]) -> list[float]:
        """1 minus the similarity to the nearest earlier sentence.

        Raises:
            NerseryError: When a sentence was not surveyed.
        """
        return [1 - self._nearest(sentence)[0] for sentence in sentences]

    def reason(self, sentence: Sentence, score: float) -> str:
        """What the sentence duplicates, e.g. ``near-duplicate of gold``."""
        _, number = self._nearest(sentence)
        source = SOURCES[bisect_right(self._starts, number) - 1]
        return f"{'near-' if score > 0 else ''}duplicate of {source}"

    def _nearest(self, sentence: Sentence) -> Found:
        number = self._numbers.get(sentence.id)
        if number is None:
            raise NerseryError(
                f"duplicates was asked about sentence {sentence.id!r}, which it was not shown: "
                "call fit, then survey with all candidates, then score"
            )
        return self._seen.nearest(number)

    def _text(self, sentence: Sentence) -> Text:
        joined = unicodedata.normalize("NFD", "\n".join(sentence.words))
        if self.ignore_case:
            joined = unicodedata.normalize("NFD", joined.casefold())
        return tuple(joined.split("\n"))


class _Exact:
    """Remembers of each text where it came first, and of the text itself a hash alone."""

    def __init__(self) -> None:
        self._first: dict[bytes, int] = {}
        self._first_of: list[int] = []

    def __len__(self) -> int:
        return len(self._first_of)

    def add(self, text: Text) -> None:
        digest = hashlib.blake2b("\n".join(text).encode(), digest_size=16).digest()
        self._first_of.append(self._first.setdefault(digest, len(self)))

    def nearest(self, number: int) -> Found:
        first = self._first_of[number]
        return (1.0, first) if first < number else NOTHING


class _Near:
    """Finds the most similar of the earlier texts, comparing only those that can be similar enough.

    Texts of n and m words that are ``similarity`` s alike have s (n + m) / 2 words in common, so at least
    k = n s / (2 - s) of each one's. Two such texts then share one of their n - k + 1 rarest words: an index
    of those misses nothing.
    """

    def __init__(self, similarity: float) -> None:
        self._similarity = similarity
        self._least = similarity / (2 - similarity)
        self._texts: list[Text] = []
        self._frequency: Counter[str] = Counter()
        self._index: dict[str, list[int]] = {}
        self._found: dict[int, Found] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, text: Text) -> None:
        self._texts.append(text)
        self._frequency.update(text)
        self._index, self._found = {}, {}

    def nearest(self, number: int) -> Found:
        if number not in self._found:
            self._found[number] = self._search(number)
        return self._found[number]

    def _search(self, number: int) -> Found:
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import extractOne

        text = self._texts[number]
        numbers = sorted(self._comparable(number))
        best = extractOne(
            text,
            [self._texts[earlier] for earlier in numbers],
            scorer=Indel.normalized_similarity,
            score_cutoff=self._similarity - ROUNDING,
        )
        return NOTHING if best is None else (best[1], numbers[best[2]])

    def _comparable(self, number: int) -> Iterator[int]:
        """The earlier texts that share a rare word and are not too short or long, each once."""
        if not self._index:
            self._build_index()
        length = len(self._texts[number])
        seen: set[int] = set()
        for word in self._rarest(self._texts[number]):
            numbers = self._index[word]
            seen.update(numbers[: bisect_left(numbers, number)])
        for earlier in seen:
            shorter, longer = sorted((length, len(self._texts[earlier])))
            if shorter >= self._least * longer - ROUNDING:
                yield earlier

    def _build_index(self) -> None:
        index = defaultdict(list)
        for number, text in enumerate(self._texts):
            for word in self._rarest(text):
                index[word].append(number)
        self._index = index

    def _rarest(self, text: Text) -> set[str]:
        """The words of which a similar text must have one."""
        common = math.ceil(self._least * len(text) - ROUNDING)
        by_rarity = sorted(text, key=lambda word: (self._frequency[word], word))
        return set(by_rarity[: len(text) - common + 1])
