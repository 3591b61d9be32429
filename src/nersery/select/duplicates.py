"""Reject duplicates: sentences that repeat one of gold, dev, test or the generated sentences."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from nersery.core.errors import DataError, Issue
from nersery.core.sentence import Sentence
from nersery.core.settings.ranges import Rate, RateAboveZero
from nersery.core.training_context import NO_TRAINING, Training
from nersery.io.temporary_tables.ids import SeenIds
from nersery.select.base import Selector, not_a_candidate
from nersery.select.components.near_duplicates import NOTHING, ExactDuplicates, Found, NearDuplicates, text_of

SOURCES = ("held-out data", "gold", "another generated sentence")
"""What a sentence may be a duplicate of. If several are equally near, the first one counts."""


@dataclass
class Duplicates(Selector):
    """Rejects sentences that repeat a sentence of gold, dev, test or an earlier generated sentence.

    A duplicate scores 1 minus its similarity to the nearest earlier sentence, any other sentence 1. Equal texts are
    duplicates however they are split. Labels are ignored: the same words with other labels contradict each other. The
    reason names what a sentence repeats: dev or test (a leak), gold, or another generated sentence.

    Args:
        similarity: Minimum similarity of duplicates, in (0, 1]: the share of both sentences' words in their longest
            common subsequence. At 0.9, a sentence needs more than one new word in ten.
        ignore_case: Ignore case.
        threshold: Minimum score, in [0, 1].
    """

    checks_candidates: ClassVar[bool] = True
    avoids_held_out: ClassVar[bool] = True

    similarity: RateAboveZero = 1.0
    ignore_case: bool = True
    threshold: Rate = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._forget()

    def _forget(self) -> None:
        self._earlier, self._near = ExactDuplicates(), NearDuplicates(self.similarity)
        self._candidates, self._starts = SeenIds(), list[int]()

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        """Store the held-out and gold sentences."""
        self._forget()
        for sentences in (training.held_out, gold):
            self._starts.append(len(self._earlier))
            for sentence in sentences:
                self._add(sentence)
        self._starts.append(len(self._earlier))

    def fit_candidates(self, candidates: Iterable[Sentence]) -> None:
        """Store the candidates in their order. Raises `DataError` if two of them share an id."""
        repeated = []
        for sentence in candidates:
            if self._candidates.add(sentence.id, len(self._earlier)) is not None:
                repeated.append(Issue("another candidate has the same id", sentence=sentence.id))
            self._add(sentence)
        if repeated:
            raise DataError(repeated, fix="give every sentence an id of its own")

    def score(self, sentences: Sequence[Sentence]) -> list[float]:
        """1 minus the similarity to the nearest earlier sentence. Raises an error if a sentence is not a candidate."""
        return [1 - self._nearest(sentence)[0] for sentence in sentences]

    def reason(self, sentence: Sentence, score: float) -> str:
        """What the sentence duplicates, e.g. ``near-duplicate of gold``."""
        _, number = self._nearest(sentence)
        source = SOURCES[bisect_right(self._starts, number) - 1]
        return f"{'near-' if score > 0 else ''}duplicate of {source}"

    def _nearest(self, sentence: Sentence) -> Found:
        entry = self._candidates.find(sentence.id)
        if entry is None:
            raise not_a_candidate(self, sentence.id)
        number, _ = entry
        same = self._earlier.nearest(number)
        return same if same != NOTHING or self.similarity == 1 else self._near.nearest(number)

    def _add(self, sentence: Sentence) -> None:
        text = text_of(sentence, ignore_case=self.ignore_case)
        self._earlier.add(text)
        if self.similarity < 1:
            self._near.add(text)
