"""Rows of parallel text with words on both sides, and why the other rows cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from json import dumps
from typing import Any

from nersery.core.alignments import Pair
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.core.settings.typed_settings import hidden
from nersery.core.warnings import warn
from nersery.crosslingual.parallel_corpus.bitext import Bitext, Row, ShiftDetector
from nersery.crosslingual.parallel_corpus.sides import Side, is_empty

EMPTY_SOURCE = "empty line in the source"
EMPTY_TARGET = "empty line in the target"
EMPTY_BOTH = "empty line on both sides"


@dataclass
class CompletePairs:
    """The complete rows of parallel text with one source, as pairs of words. Each iteration reads the text again.

    Args:
        quiet: Give no notes about places where the sides seem to run apart.
    """

    bitext: Bitext
    quiet: bool = False
    _complete: int | None = hidden(default=None)

    @cached_property
    def digest(self) -> str:
        """A digest that identifies this text, and how it is read."""
        return sha256(dumps(self.fingerprint(), sort_keys=True).encode()).hexdigest()

    def fingerprint(self) -> Any:
        """See `nersery.pipeline.stage_job.Rows`."""
        return self.bitext.fingerprint()

    def count(self) -> int:
        """The number of rows, complete or not. This reads all of them."""
        rows = self._complete = 0
        detector = ShiftDetector(self.bitext)
        for rows, row in enumerate(self.bitext, start=1):  # noqa: B007 - it is counted
            self._complete += reject_of(row) is None
            detector.add(row)
        for note in () if self.quiet else detector.notes():
            warn(note)
        return rows

    def __len__(self) -> int:
        """The number of complete pairs. This reads the text, unless the rows have been counted."""
        if self._complete is None:
            self.count()
        assert self._complete is not None
        return self._complete

    def __iter__(self) -> Iterator[Pair]:
        return (pair_of(row) for row in self.bitext if reject_of(row) is None)

    def outcomes(self) -> Iterator[Row | Reject]:
        """The rows in order. A row without words on both sides is replaced by a reject with the reason."""
        return (reject_of(row) or row for row in self.bitext)


def reject_of(row: Row) -> Reject | None:
    """Why a row cannot be used: it has no target, or no source. None if it has both."""
    target, sources, _ = row
    present = [source for source in sources if isinstance(source, Sentence)]
    if isinstance(target, Sentence):
        return None if present else _named(sources[0], Reject(EMPTY_SOURCE, target), target)
    if present:
        return _named(target, Reject(EMPTY_TARGET, present[0]), present[0])
    return Reject(EMPTY_BOTH) if all(map(is_empty, row.sources)) and is_empty(target) else target


def _named(side: Side, blank: Reject, other: Sentence) -> Reject:
    """The reject of a missing side. If its line is empty, this is ``blank``, which names the side."""
    assert isinstance(side, Reject)
    return blank if is_empty(side) else Reject(side.reason, side.sentence or other)


def pair_of(row: Row) -> Pair:
    """The words of a complete row, with the id of its target."""
    target, (source,), _ = row
    assert isinstance(target, Sentence)
    assert isinstance(source, Sentence)
    return Pair(source.words, target.words, target.id)
