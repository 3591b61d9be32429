"""One side of parallel text: a sentence a line, or a corpus in any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from nersery import io
from nersery.core.errors import SettingsError
from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.io.base import Pass, ReadOptions, Source
from nersery.io.folder import FolderSource
from nersery.io.jsonl import JsonlSource
from nersery.io.text import TextSource, is_blank
from nersery.io.text_file import TextFile
from nersery.pipeline.stage_job import Sentences, opened

EMPTY_LINE = "empty line"
EXCERPT = 60
"""Characters that a message shows of a sentence."""

Side = Sentence | Reject


class Lines(TextSource):
    """Sentences of a text file, a line each; a blank line keeps its place, as a reject without a sentence."""

    @property
    def description(self) -> str:
        """The format, and whether nothing parts the words."""
        return f"text, line by line{self._oddity}"

    def skip(self, found: Pass) -> None:
        """Note a blank line."""
        found.rejects.append(Reject(EMPTY_LINE))

    def note_skipped(self, count: int, first: int) -> None:
        """Nothing is left out."""


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


def opened_side(corpus: Sentences, name: str) -> Source:
    """One side as users of the library give it: a path, a source, or sentences in memory; messages call it so."""
    return open_side(corpus, ReadOptions()) if isinstance(corpus, str | Path) else opened(corpus, name)


def _opened(path: str | Path, options: ReadOptions) -> Source:
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
    reading = Pass(source.file, source.options)
    passed = 0
    for sentence in source.sentences(reading):
        if len(reading.rejects) > passed:
            yield from reading.rejects[passed:]
            passed = len(reading.rejects)
        if not reading.issues:
            yield sentence
    yield from reading.rejects[passed:]
    if reading.issues:
        raise reading.error()
    source.rejects, source.repaired = reading.rejects, reading.repaired


def is_empty(side: Side) -> bool:
    """Whether this is a line without words."""
    return isinstance(side, Reject) and side.reason == EMPTY_LINE


def words_of(side: Side) -> Sequence[str]:
    """The words of a sentence; a reject has none."""
    return side.words if isinstance(side, Sentence) else ()


class Extent(NamedTuple):
    """The number of the last row of a side, of the last one with words, of blank ones before it, and of the first."""

    rows: int
    last: int
    blank: int = 0
    first_blank: int = 0


def extent(source: Source) -> Extent:
    """How long a side is; text is only counted, not parsed."""
    if isinstance(source, JsonlSource):
        rows = sum(1 for _ in source.values())
        return Extent(rows, rows)
    rows = last = words = first_blank = 0
    sides = source.file.lines() if isinstance(source, Lines) else in_order(source)
    for rows, side in enumerate(sides, start=1):
        if is_blank(side) if isinstance(side, str) else is_empty(side):
            first_blank = first_blank or rows
        else:
            last, words = rows, words + 1
    return Extent(rows, last, last - words, first_blank)


def excerpt(source: Source, number: int) -> str:
    """The beginning of a sentence, in quotation marks."""
    side = next(islice(in_order(source), number - 1, None), None)
    return quoted(words_of(side) if side is not None else ())


def quoted(words: Sequence[str]) -> str:
    """The beginning of a text, in quotation marks."""
    text = " ".join(words)
    return f'"{text[:EXCERPT]}…"' if len(text) > EXCERPT else f'"{text}"'
