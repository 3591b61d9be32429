"""The standoff format of brat: a text, and beside it in a file that ends in ``.ann`` its labels by characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nersery.data import UNKNOWN_COLUMN, Sentence
from nersery.io.base import Flaw, Pass, ReadOptions, storable
from nersery.io.files import TextFile
from nersery.io.standoff import Document, Span, StandoffSource

LABELS, TEXT = ".ann", ".txt"
_LABEL = re.compile(r"T\S*\t(?P<type>\S+) (?P<places>\d+ \d+(?:;\d+ \d+)*)(?:\t(?P<text>.*))?")


def pair_of(path: Path) -> list[Path]:
    """The files of a document: the text and its labels, or the file alone where no labels are beside it.

    >>> pair_of(Path("notes.ann"))
    [PosixPath('notes.txt'), PosixPath('notes.ann')]
    """
    labels = path.with_suffix(LABELS)
    if path.suffix == LABELS or (path.suffix == TEXT and labels.is_file()):
        return [path.with_suffix(TEXT), labels]
    return [path]


class BratSource(StandoffSource):
    """The sentences of a document: a line is a sentence. Relations, events, attributes and notes are left out."""

    numbers_lines = True

    def __init__(self, file: TextFile, options: ReadOptions) -> None:
        self._text = TextFile(file.path.with_suffix(TEXT), options.encoding)
        super().__init__(TextFile(file.path.with_suffix(LABELS), options.encoding), options)

    @property
    def inputs(self) -> list[Path]:
        """The text and the labels."""
        return [self._text.path, self.file.path]

    @property
    def description(self) -> str:
        """The format."""
        return "brat"

    def documents(self, found: Pass) -> Iterator[Document]:
        """The document, if its labels can be read."""
        text = "".join(self._text.lines())
        spans: list[Span] = []
        flaws: list[Flaw] = []
        for number, line in enumerate(self.file.lines(), start=1):
            if line.startswith("T"):
                read = _LABEL.fullmatch(line.rstrip("\r\n"))
                if read is None:
                    message = f"{line.rstrip()!r:.60}, expected e.g. T1, a tab, PER 0 12, a tab, Ada Lovelace"
                    flaws.append(Flaw(number, "not a label", message))
                else:
                    spans.append(_span(read, number))
        if flaws:
            found.broken(self.file.stem, flaws, Sentence(tuple(storable(text).split()) or (UNKNOWN_COLUMN,)))
        elif text.strip():
            yield Document(self.file.stem, text, spans)


def _span(read: re.Match[str], line: int) -> Span:
    places = [int(place) for part in read["places"].split(";") for place in part.split(" ")]
    return Span(places[0], places[-1], read["type"], line, read["text"], len(places) // 2)
