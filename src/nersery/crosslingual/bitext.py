"""Parallel text: a sentence a line in two files, or two corpora in any format, paired by order or by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b, sha256
from itertools import islice, zip_longest
from json import dumps
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from nersery import io
from nersery.core.alignments import Pair
from nersery.core.errors import DataError, Issue, SettingsError, did_you_mean
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.crosslingual.divergence import where_apart
from nersery.io.base import Pass, ReadOptions, Source
from nersery.io.folder import FolderSource
from nersery.io.ids import Ids
from nersery.io.jsonl import JsonlSource
from nersery.io.sentence_table import SentenceTable
from nersery.io.text import TextSource
from nersery.io.text_file import TextFile
from nersery.pipeline.stage_job import Sentences, opened

EMPTY_LINE = "empty line"
EMPTY_SOURCE = "empty line in the source"
EMPTY_TARGET = "empty line in the target"
EMPTY_BOTH = "empty line on both sides"
UNPAIRED = "the other side has no sentence of that id"
EXCERPT = 60
"""Characters that a message shows of a sentence."""

Side = Sentence | Reject
PairedBy = Literal["auto", "order", "id"]


class Row(NamedTuple):
    """A row of parallel text: a target sentence and its translation in each source.

    For a source sentence without a target, ``of`` is the number of its source, from 0.
    """

    target: Side
    sources: tuple[Side, ...]
    of: int | None = None


class Lines(TextSource):
    """Sentences of a text file, a line each; a blank line keeps its place, as a reject without a sentence."""

    has_ids = False

    @property
    def description(self) -> str:
        """The format, and whether nothing parts the words."""
        return f"text, line by line{self._oddity}"

    def skip(self, found: Pass) -> None:
        """Note a blank line."""
        found.rejects.append(Reject(EMPTY_LINE))


def open_side(path: str | Path, options: ReadOptions) -> Source:
    """Open one side of parallel text: a corpus in any format, or text with one sentence per line.

    Args:
        path: A file, ``-`` for standard input, or a folder of files.

    Raises:
        DataError: If it cannot be read.
        SettingsError: If it should be split into words, but has words already.
    """
    if Path(path).is_dir():
        return FolderSource(TextFile(path, options.encoding), options, _opened)
    return _opened(path, options)


def opened_side(corpus: Sentences) -> Source:
    """One side as users of the library give it: a path, a source, or sentences in memory."""
    return open_side(corpus, ReadOptions()) if isinstance(corpus, str | Path) else opened(corpus)


def _opened(path: str | Path, options: ReadOptions) -> Source:
    """A file of one side."""
    source = io.open_text(path, options)
    if isinstance(source, TextSource):
        return Lines(source.file, options)
    if options.split not in (None, "spaces") and not source.is_split:
        raise SettingsError(f"{path} is {source.description} and has words already: they are not split again")
    return source


def in_order(source: Source) -> Iterator[Side]:
    """The sentences of a corpus, with rejects in their places.

    Raises:
        DataError: At the end, with all issues of the file.
    """
    found = Pass(source.file, source.options)
    passed = 0
    for sentence in source.sentences(found):
        if len(found.rejects) > passed:
            yield from found.rejects[passed:]
            passed = len(found.rejects)
        if not found.issues:
            yield sentence
    yield from found.rejects[passed:]
    if found.issues:
        raise found.error()
    source.rejects, source.repaired = found.rejects, found.repaired


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
                if not side.has_ids:
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
        extents = [_extent(side) for side in self.sides]
        rows = min(rows for rows, _ in extents)
        if max(last for _, last in extents) > rows:
            raise self._unequal()
        return rows

    def _by_order(self) -> Iterator[Row]:
        for sides in zip_longest(*map(in_order, self.sides)):
            if all(sides):
                yield Row(sides[0], sides[1:])
            elif not all(side is None or _is_blank(side) for side in sides):
                raise self._unequal()

    def _by_id(self) -> Iterator[Row]:
        tables = [_Unpaired(source) for source in self.sources]
        for target in in_order(self.target):
            found = [None if isinstance(target, Reject) else table.take(target.id) for table in tables]
            yield Row(target, tuple(side or Reject(UNPAIRED) for side in found))
        for number, table in enumerate(tables):
            yield from (Row(reject, (reject,), number) for reject in table.rest())

    def _unequal(self) -> DataError:
        """The error for files of unequal length, with the place where they run apart if it can be seen."""
        lengths = [_extent(side)[1] for side in self.sides]
        issues = []
        for source, length in zip(self.sources, lengths[1:], strict=True):
            if length == lengths[0]:
                continue
            counts = f"{length:,} sentences, and {lengths[0]:,} in {self.target.file.name}"
            place = where_apart(map(_words, in_order(source)), map(_words, in_order(self.target)))
            issues.append(Issue(f"{counts}{self._seen(source, place)}", source.file.name))
        return DataError(issues, fix="correct the files so that each line is the translation of the same line")

    def _seen(self, source: Source, place: tuple[int, int] | None) -> str:
        if place is None:
            return "; where they run apart cannot be seen"
        number, ahead = place
        here, there = number + 1 + max(ahead, 0), number + 1 + max(-ahead, 0)
        shown = (_excerpt(source, here), _excerpt(self.target, there))
        apart = f"they seem to run apart near {number + 1:,}"
        return f"; {apart}: {here:,} here, {shown[0]}, seems to be {there:,} there, {shown[1]}"


def reject_of(row: Row) -> Reject | None:
    """Why nothing can be done with a row: it has no target, or no source; None where it has both."""
    target, sources, _ = row
    there = [source for source in sources if isinstance(source, Sentence)]
    if isinstance(target, Sentence):
        return None if there else _named(sources[0], Reject(EMPTY_SOURCE, target), target)
    if there:
        return _named(target, Reject(EMPTY_TARGET, there[0]), there[0])
    return Reject(EMPTY_BOTH) if all(map(_is_blank, row.sources)) and _is_blank(target) else target


@dataclass
class WholePairs:
    """The complete rows of parallel text with one source, as pairs of words. Each iteration reads the text again."""

    bitext: Bitext
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
        for rows, row in enumerate(self.bitext, start=1):  # noqa: B007 - it is counted
            self._whole += reject_of(row) is None
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
    return blank if _is_blank(side) else Reject(side.reason, side.sentence or other)


def _is_blank(side: Side) -> bool:
    return isinstance(side, Reject) and side.reason == EMPTY_LINE


def _words(side: Side) -> Sequence[str]:
    return side.words if isinstance(side, Sentence) else ()


def _extent(source: Source) -> tuple[int, int]:
    """The number of the last row of a side, and of the last one that is not blank."""
    if isinstance(source, JsonlSource):
        rows = sum(1 for _ in source.values())
        return rows, rows
    rows = last = 0
    sides = source.file.lines() if isinstance(source, Lines) else in_order(source)
    for rows, side in enumerate(sides, start=1):
        if not (side.isspace() if isinstance(side, str) else _is_blank(side)):
            last = rows
    return rows, last


def _excerpt(source: Source, number: int) -> str:
    side = next(islice(in_order(source), number - 1, None), None)
    text = " ".join(_words(side)) if side is not None else ""
    return f'"{text[:EXCERPT]}…"' if len(text) > EXCERPT else f'"{text}"'


def _first_own_id(source: Source) -> str:
    """The id of the first sentence, if the file brings ids other than those that reading it would give."""
    if isinstance(source, FolderSource):
        found = Pass(source.file, source.options)
        head = next(source.sentences(found), None)
        return "" if head is None or head.id.startswith(f"{found.file.stem}:") else head.id
    first = ""
    for number, side in enumerate(in_order(source) if source.has_ids else (), start=1):
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
        """The sentence of an id, if there is one; it is no longer left over."""
        if (number := self._table.number_of(id)) is None:
            return None
        self._taken[number] = True
        return self._table[number]

    def rest(self) -> Iterator[Reject]:
        """What nobody has taken, in order."""
        yield from self._rejects
        for number, is_taken in enumerate(self._taken):
            if not is_taken:
                yield Reject(UNPAIRED, self._table[number])
