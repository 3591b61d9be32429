"""Parallel text: two files with one sentence per line, or two corpora in any format, paired by order or by id."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, zip_longest
from typing import Any, Literal, NamedTuple, get_args

from nersery.core.errors import DataError, Issue, SettingsError, require_choice
from nersery.core.outcome import Reject
from nersery.crosslingual.parallel_corpus.divergence import Divergence, Features, first_divergence
from nersery.crosslingual.parallel_corpus.pairing_by_id import UNPAIRED, UnpairedSentences, have_equal_ids
from nersery.crosslingual.parallel_corpus.sides import Lines, Side, is_empty, quoted, words_of
from nersery.io.base import Source
from nersery.io.jsonl import JsonlSource
from nersery.io.text import is_blank

BLANK_FIX = (
    "if blank lines were left out when {} was made, leave them out too: nersery dataset convert {} NEW.txt --format "
    "text"
)
LINE_BY_LINE = "correct the files so that each line is the translation of the same line"
PairedBy = Literal["auto", "order", "id"]


class Row(NamedTuple):
    """A row of parallel text: a target sentence and its translation in each source.

    For a source sentence without a target, ``unpaired_source`` is the number of its source, from 0.
    """

    target: Side
    sources: tuple[Side, ...]
    unpaired_source: int | None = None


@dataclass(frozen=True)
class Bitext:
    """Parallel text: a target and one or several sources.

    Each iteration reads all files again, in constant memory. Sentences that cannot be paired keep their places.

    Args:
        by: ``order`` pairs sentences by position, ``id`` by id, in the order of the target. ``auto`` pairs by id if all
            files have own ids and begin with the same one or contain the same ones, and by order if they share none.
    """

    target: Source
    sources: tuple[Source, ...]
    by: PairedBy = "auto"

    def __post_init__(self) -> None:
        require_choice(self.by, "pair_by", get_args(PairedBy))

    @property
    def sides(self) -> tuple[Source, ...]:
        """The target and the sources."""
        return (self.target, *self.sources)

    def fingerprint(self) -> Any:
        """What identifies the text, and how it is read."""
        return {"sides": [side.fingerprint() for side in self.sides], "paired_by": self.paired_by}

    @cached_property
    def paired_by(self) -> Literal["order", "id"]:
        """How the sides are paired.

        Raises:
            SettingsError: If ids are requested and a side is plain text, or if only some ids are shared.
        """
        if self.by == "id":
            for side in self.sides:
                if isinstance(side, Lines):
                    raise SettingsError(f"{side.file.name} is text and has no ids: pair by order")
        if self.by != "auto":
            return self.by
        return "id" if have_equal_ids(self.sides) else "order"

    def __iter__(self) -> Iterator[Row]:
        """The rows; source sentences without a target come last.

        Raises:
            DataError: With the issues of a file, or if the lengths differ.
        """
        return self._by_id() if self.paired_by == "id" else self._by_order()

    def count(self) -> int:
        """The number of rows. Lines of text are only counted, not parsed.

        Raises:
            DataError: If the lengths differ, or with the issues of a file.
        """
        if self.paired_by == "id":
            return sum(1 for _ in self)
        extents = [extent(side) for side in self.sides]
        rows = min(extent.rows for extent in extents)
        if max(extent.last for extent in extents) > rows:
            raise self._unequal()
        return rows

    def _by_order(self) -> Iterator[Row]:
        for sides in zip_longest(*(side.in_order() for side in self.sides)):
            if all(sides):
                yield Row(sides[0], sides[1:])
            elif not all(side is None or is_empty(side) for side in sides):
                raise self._unequal()

    def _by_id(self) -> Iterator[Row]:
        tables = [UnpairedSentences(source) for source in self.sources]
        for target in self.target.in_order():
            sides = [None if isinstance(target, Reject) else table.take(target.id) for table in tables]
            yield Row(target, tuple(side or Reject(UNPAIRED) for side in sides))
        for number, table in enumerate(tables):
            yield from (Row(reject, (reject,), number) for reject in table.rest())

    def _unequal(self) -> DataError:
        """The error for files of unequal length, with the place where they run apart if it can be found."""
        target, *extents = map(extent, self.sides)
        issues, fixes = list[Issue](), dict[str, None]()
        for source, reached in zip(self.sources, extents, strict=True):
            if reached.last == target.last:
                continue
            counts = f"{reached.last:,} sentences, but {target.last:,} in {self.target.file.name}"
            sides = sorted([(reached, source), (target, self.target)], key=lambda side: side[0].last)
            (shorter, short), (longer, long) = sides
            if not shorter.last:
                seen = f"{short.file.name} has no text"
                fixes[f"check how {short.file.name} was made"] = None
            elif longer.last - longer.blank == shorter.last:
                seen = f"blank lines in {long.file.name}: {longer.blank:,}, the first is line {longer.first_blank:,}"
                fixes[BLANK_FIX.format(short.file.name, shlex.quote(long.file.name))] = None
            else:
                both = (source, self.target)
                found = first_divergence(*(Features(map(words_of, side.in_order())) for side in both))
                seen = "it is unclear where they stop matching" if found is None else self.describe(source, found)
                fixes[LINE_BY_LINE] = None
            issues.append(Issue(f"{counts}; {seen}", source.file.name))
        return DataError(issues, fix="; ".join(fixes))

    def describe(self, source: Source, divergence: Divergence) -> str:
        """A description of where a source and the target run apart, with excerpts."""
        number, ahead = divergence
        here, there = number + 1 + max(ahead, 0), number + 1 + max(-ahead, 0)
        shown = (excerpt(source, here), excerpt(self.target, there))
        apart = f"they seem to stop matching near sentence {number + 1:,}"
        return f"{apart}: {here:,} here, {shown[0]}, seems to be {there:,} there, {shown[1]}"


class ShiftDetector:
    """Notices, while rows are read, where a target and a source of the same length run apart."""

    def __init__(self, bitext: Bitext) -> None:
        self._bitext = bitext
        self._features = [Features() for _ in bitext.sides] if bitext.paired_by == "order" else []

    def add(self, row: Row) -> None:
        """Note the next row."""
        for features, side in zip(self._features, (row.target, *row.sources), strict=False):
            features.add(words_of(side))

    def notes(self) -> Iterator[str]:
        """Notes about everything odd in the rows so far."""
        for source, features in zip(self._bitext.sources, self._features[1:], strict=False):
            if (divergence := first_divergence(features, self._features[0])) is not None:
                counts = f"{source.file.name} has as many sentences as {self._bitext.target.file.name}"
                yield f"{counts}, but {self._bitext.describe(source, divergence)}; if so, {LINE_BY_LINE}"


class Extent(NamedTuple):
    """A side's number of rows, its last row with words, the number of blank rows before it, and the first blank row."""

    rows: int
    last: int
    blank: int = 0
    first_blank: int = 0


def extent(source: Source) -> Extent:
    """The extent of a side. Lines of text are only counted, not parsed."""
    if isinstance(source, JsonlSource):
        rows = sum(1 for _ in source.values())
        return Extent(rows, rows)
    rows = last = words = first_blank = 0
    sides = source.file.lines() if isinstance(source, Lines) else source.in_order()
    for rows, side in enumerate(sides, start=1):
        if is_blank(side) if isinstance(side, str) else is_empty(side):
            first_blank = first_blank or rows
        else:
            last, words = rows, words + 1
    return Extent(rows, last, last - words, first_blank)


def excerpt(source: Source, number: int) -> str:
    """The beginning of a sentence, in quotation marks."""
    side = next(islice(source.in_order(), number - 1, None), None)
    return quoted(words_of(side) if side is not None else ())
