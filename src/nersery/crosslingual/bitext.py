"""Parallel text: a sentence a line in two files, or two corpora in any format, paired by order or by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b, sha256
from itertools import zip_longest
from json import dumps
from typing import Any, Literal, NamedTuple, get_args

from nersery.core.alignments import Pair
from nersery.core.errors import DataError, Issue, SettingsError, did_you_mean
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.core.warnings import warn
from nersery.crosslingual.divergence import Features, where_apart
from nersery.crosslingual.sides import Lines, Side, excerpt, extent, in_order, is_empty, words_of
from nersery.io.base import Pass, Source
from nersery.io.folder import FolderSource
from nersery.io.ids import Ids
from nersery.io.sentence_table import SentenceTable

EMPTY_SOURCE = "empty line in the source"
EMPTY_TARGET = "empty line in the target"
EMPTY_BOTH = "empty line on both sides"
UNPAIRED = "the other side has no sentence of that id"
BLANK_FIX = (
    "if blank lines were left out when {} was made, leave them out too: nersery dataset convert {} NEW.txt --format "
    "text"
)
LINE_BY_LINE = "correct the files so that each line is the translation of the same line"
PairedBy = Literal["auto", "order", "id"]


class Row(NamedTuple):
    """A row of parallel text: a target sentence and its translation in each source.

    For a source sentence without a target, ``of`` is the number of its source, from 0.
    """

    target: Side
    sources: tuple[Side, ...]
    of: int | None = None


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
        if self.by not in get_args(PairedBy):
            raise SettingsError(f'pair_by is "{self.by}"; {did_you_mean(self.by, get_args(PairedBy))}')

    @property
    def sides(self) -> tuple[Source, ...]:
        """The target and the sources."""
        return (self.target, *self.sources)

    def fingerprint(self) -> Any:
        """What tells the text, and how it is read, from any other."""
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
        first = [_first_own_id(side) for side in self.sides]
        if not all(first):
            return "order"
        if len({*first}) == 1 or len({_ids_digest(side) for side in self.sides}) == 1:
            return "id"
        if shared := _shared_id(self.sides):
            names = " and ".join(side.file.name for side in self.sides)
            raise SettingsError(
                f"{names} have some ids in common, e.g. {shared}, but not all, so pairs are ambiguous: choose "
                "--pair-by id or --pair-by order"
            )
        return "order"

    def __iter__(self) -> Iterator[Row]:
        """The rows; source sentences without a target come last.

        Raises:
            DataError: With the issues of a file, or if the lengths differ.
        """
        return self._by_id() if self.paired_by == "id" else self._by_order()

    def count(self) -> int:
        """The number of rows; text is only counted, not parsed.

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
        for sides in zip_longest(*map(in_order, self.sides)):
            if all(sides):
                yield Row(sides[0], sides[1:])
            elif not all(side is None or is_empty(side) for side in sides):
                raise self._unequal()

    def _by_id(self) -> Iterator[Row]:
        tables = [_Unpaired(source) for source in self.sources]
        for target in in_order(self.target):
            sides = [None if isinstance(target, Reject) else table.take(target.id) for table in tables]
            yield Row(target, tuple(side or Reject(UNPAIRED) for side in sides))
        for number, table in enumerate(tables):
            yield from (Row(reject, (reject,), number) for reject in table.rest())

    def _unequal(self) -> DataError:
        """The error for files of unequal length, with the place where they run apart if it can be seen."""
        target, *extents = map(extent, self.sides)
        issues, fixes = list[Issue](), dict[str, None]()
        for source, reached in zip(self.sources, extents, strict=True):
            if reached.last == target.last:
                continue
            counts = f"{reached.last:,} sentences, and {target.last:,} in {self.target.file.name}"
            sides = sorted([(reached, source), (target, self.target)], key=lambda side: side[0].last)
            (shorter, short), (longer, long) = sides
            if longer.last - longer.blank == shorter.last:
                seen = f"blank lines in {long.file.name}: {longer.blank:,}, the first is line {longer.first_blank:,}"
                fixes[BLANK_FIX.format(short.file.name, long.file.name)] = None
            else:
                place = where_apart(*(Features(map(words_of, in_order(side))) for side in (source, self.target)))
                seen = "where they run apart cannot be seen" if place is None else self.describe(source, place)
                fixes[LINE_BY_LINE] = None
            issues.append(Issue(f"{counts}; {seen}", source.file.name))
        return DataError(issues, fix="; ".join(fixes))

    def describe(self, source: Source, place: tuple[int, int]) -> str:
        """Where a source and the target run apart, with what is there; see `where_apart`."""
        number, ahead = place
        here, there = number + 1 + max(ahead, 0), number + 1 + max(-ahead, 0)
        shown = (excerpt(source, here), excerpt(self.target, there))
        apart = f"they seem to run apart near {number + 1:,}"
        return f"{apart}: {here:,} here, {shown[0]}, seems to be {there:,} there, {shown[1]}"


class ShiftWatch:
    """Notices, while rows are read, where a target and a source of the same length run apart."""

    def __init__(self, bitext: Bitext) -> None:
        self._bitext = bitext
        self._features = [Features() for _ in bitext.sides] if bitext.paired_by == "order" else []

    def add(self, row: Row) -> None:
        """Note the next row."""
        for features, side in zip(self._features, (row.target, *row.sources), strict=False):
            features.add(words_of(side))

    def notes(self) -> Iterator[str]:
        """What is odd about the rows so far."""
        for source, features in zip(self._bitext.sources, self._features[1:], strict=False):
            if (place := where_apart(features, self._features[0])) is not None:
                counts = f"{source.file.name} has as many sentences as {self._bitext.target.file.name}"
                yield f"{counts}, but {self._bitext.describe(source, place)}; if so, {LINE_BY_LINE}"


def reject_of(row: Row) -> Reject | None:
    """Why nothing can be done with a row: it has no target, or no source; None where it has both."""
    target, sources, _ = row
    present = [source for source in sources if isinstance(source, Sentence)]
    if isinstance(target, Sentence):
        return None if present else _named(sources[0], Reject(EMPTY_SOURCE, target), target)
    if present:
        return _named(target, Reject(EMPTY_TARGET, present[0]), present[0])
    return Reject(EMPTY_BOTH) if all(map(is_empty, row.sources)) and is_empty(target) else target


@dataclass
class WholePairs:
    """The complete rows of parallel text with one source, as pairs of words. Each iteration reads the text again.

    Args:
        quiet: Do not note where the sides seem to run apart.
    """

    bitext: Bitext
    quiet: bool = False
    _whole: int | None = field(default=None, init=False, repr=False)

    @cached_property
    def digest(self) -> str:
        """Tells this text, and how it is read, from any other."""
        return sha256(dumps(self.fingerprint(), sort_keys=True).encode()).hexdigest()

    def fingerprint(self) -> Any:
        """See `nersery.pipeline.stage_job.Rows`."""
        return self.bitext.fingerprint()

    def count(self) -> int:
        """The number of rows, whole or not; all of them are looked at."""
        rows = self._whole = 0
        watch = ShiftWatch(self.bitext)
        for rows, row in enumerate(self.bitext, start=1):  # noqa: B007 - it is counted
            self._whole += reject_of(row) is None
            watch.add(row)
        for note in () if self.quiet else watch.notes():
            warn(note)
        return rows

    def __len__(self) -> int:
        """The number of pairs, for which the text is read once."""
        if self._whole is None:
            self.count()
        assert self._whole is not None
        return self._whole

    def __iter__(self) -> Iterator[Pair]:
        """The pairs in order."""
        return (pair_of(row) for row in self.bitext if reject_of(row) is None)

    def outcomes(self) -> Iterator[Row | Reject]:
        """The rows in order, and in the places of those that have not both sides why nothing can be done with them."""
        return (reject_of(row) or row for row in self.bitext)


def pair_of(row: Row) -> Pair:
    """The words of a whole row, under the id of its target."""
    target, (source,), _ = row
    assert isinstance(target, Sentence)
    assert isinstance(source, Sentence)
    return Pair(source.words, target.words, target.id)


def _named(side: Side, blank: Reject, other: Sentence) -> Reject:
    """The reject of a side that is not there; ``blank``, which names the side, if its line is empty."""
    assert isinstance(side, Reject)
    return blank if is_empty(side) else Reject(side.reason, side.sentence or other)


def _first_own_id(source: Source) -> str:
    """The id of the first sentence, if the file brings ids other than those that reading it would give."""
    if isinstance(source, FolderSource):
        reading = Pass(source.file, source.options)
        head = next(source.sentences(reading), None)
        return "" if head is None or head.id.startswith(f"{reading.file.stem}:") else head.id
    first = ""
    for number, side in enumerate(() if isinstance(source, Lines) else in_order(source), start=1):
        if isinstance(side, Sentence):
            first = first or side.id
            if side.id != f"{source.file.stem}:{number}":
                return first
    return ""


def _shared_id(sides: Iterable[Source]) -> str:
    """An id that two sides have; empty where there is none."""
    ids = Ids()
    for number, source in enumerate(sides):
        for side in in_order(source):
            if isinstance(side, Sentence) and ids.add(side.id, number) not in (None, (number, "")):
                return side.id
    return ""


def _ids_digest(source: Source) -> tuple[int, int]:
    """The same for the same ids in any order; in constant memory."""
    count = total = 0
    for side in in_order(source):
        if isinstance(side, Sentence):
            count += 1
            total += int.from_bytes(blake2b(side.id.encode(), digest_size=16).digest(), "big")
    return count, total


class _Unpaired:
    """The sentences of a corpus by their ids, and which of them nobody has taken."""

    def __init__(self, source: Source) -> None:
        self._rejects: list[Reject] = []
        self._table = SentenceTable(self._sentences(source))
        self._taken = bytearray(len(self._table))

    def _sentences(self, source: Source) -> Iterator[Sentence]:
        for side in in_order(source):
            if isinstance(side, Reject):
                self._rejects.append(side)
            else:
                yield side

    def take(self, id: str) -> Sentence | None:
        if (number := self._table.number_of(id)) is None:
            return None
        self._taken[number] = True
        return self._table[number]

    def rest(self) -> Iterator[Reject]:
        yield from self._rejects
        for number, is_taken in enumerate(self._taken):
            if not is_taken:
                yield Reject(UNPAIRED, self._table[number])
