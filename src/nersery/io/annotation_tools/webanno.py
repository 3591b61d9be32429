"""WebAnno TSV 3, which INCEpTION and WebAnno export: words with their characters, and layers of labels in columns.

The labels are those of the layer ``NamedEntity``, or of the only layer that people have added; ``--tag-column`` names
another one. Words of a sentence are as far apart as in the file; each sentence is a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from nersery.core.errors import DataError, Issue
from nersery.io.annotation_tools.standoff import Document, Place, Span, StandoffSource
from nersery.io.base import Pass, ReadOptions, unread
from nersery.io.formats import Format
from nersery.io.text_file import TextFile

MARK = "#FORMAT=WebAnno TSV 3"
_LAYER = re.compile(r"#T_(?P<kind>SP|CH|RL)=(?P<name>[^|]*)\|?(?P<features>.*)")
_ROW = re.compile(r"\d+-\d+(?P<part>\.\d+)?\t(?P<start>\d+)-(?P<end>\d+)\t(?P<rest>.*)")
_LABEL = re.compile(r"(?P<type>(?:\\.|[^\\\[])*)(?:\[(?P<number>\d+)\])?")
_BAR, _ESCAPE = re.compile(r"(?<!\\)\|"), re.compile(r"\\(.)")
_OF_DKPRO, _NAMED_ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.", "NamedEntity"
_FIRST_LAYER = 4
"""The column of the first layer, from 1; before it are number, characters and word."""


class _Layer(NamedTuple):
    """A column of labels.

    Args:
        column: From 1.
        name: Without its package.
        feature: What the column says of a label; empty if only that there is one.
    """

    column: int
    name: str
    feature: str

    def __str__(self) -> str:
        return f"{self.column} ({self.name}{'.' if self.feature else ''}{self.feature})"


class _Token(NamedTuple):
    """A word, or a part of the word before it; ``begins`` is whether a sentence begins with it."""

    line: int
    begins: bool
    is_part: bool
    start: int
    end: int
    word: str
    written: str


class WebannoSource(StandoffSource):
    """Sentences of a document, whose words are those of the file.

    Raises:
        DataError: If the file cannot be read, or it is not clear which column has the labels.
    """

    numbers_lines = True

    def __init__(self, file: TextFile, options: ReadOptions) -> None:
        super().__init__(file, options)
        layers = list(self._layers())
        named = [layer for layer in layers if options.tag_column in (None, layer.column)]
        main = [layer for layer in named if layer.name == _NAMED_ENTITY] or named
        if len(main) != 1:
            there = (
                f"labels stand in the columns {', '.join(map(str, layers))}" if layers else "it has no layer of spans"
            )
            fix = "name the column: --tag-column" if layers else "export the document with such a layer"
            raise DataError(Issue(f"{there}, expected one", file.name), fix=fix)
        self._layer, self._others = main[0], [layer for layer in layers if layer != main[0]]

    @property
    def description(self) -> str:
        """The format, and where the labels are."""
        others = f"; others in {', '.join(map(str, self._others))}: --tag-column" if self._others else ""
        return f"webanno, labels in column {self._layer}{others}"

    def _layers(self) -> Iterator[_Layer]:
        """The columns that may have the labels: not those of parts of speech, chains, relations and links."""
        column = _FIRST_LAYER
        for line in self.file.lines():
            if _ROW.match(line):
                return
            if (layer := _LAYER.match(line.rstrip("\r\n"))) is None:
                continue
            name, before = layer["name"], ""
            is_span = layer["kind"] == "SP" and (name.endswith(_NAMED_ENTITY) or not name.startswith(_OF_DKPRO))
            for feature in layer["features"].split("|"):
                if is_span and feature != "identifier" and "ROLE_" not in (before[:5], feature[:5]):
                    yield _Layer(column, name.rpartition(".")[2], feature)
                column, before = column + 1, feature

    def documents(self, found: Pass) -> Iterator[Document]:
        """The document, if its lines can be read."""
        issues, spans, places, text = list[Issue](), dict[tuple[str, str], Span](), list[Place](), ""
        word: _Token | None = None
        for row in self._rows(issues):
            if word is None or not row.is_part:
                text += _gap(word, row)
                places.append((len(text), len(text) + len(row.word)))
                text, word = text + row.word, row
            start, end = places[-1]
            if row.is_part:
                start, end = start + row.start - word.start, min(end, start + row.end - word.start)
            for type_, number in self._labels(row, issues):
                known = spans.setdefault((type_, number), Span(start, end, type_, row.line))
                spans[type_, number] = Span(known.start, end, type_, known.line)
        if issues:
            found.broken(self.file.stem, issues, unread(text))
        elif places:
            yield Document(self.file.stem, text, list(spans.values()), 1, places)

    def _rows(self, issues: list[Issue]) -> Iterator[_Token]:
        """The lines of words and of parts of words; others that are no comments are issues."""
        begins = True
        for number, line in enumerate(self.file.lines(), start=1):
            row = _ROW.fullmatch(line.rstrip("\r\n"))
            if row is not None:
                word, *values = row["rest"].split("\t")
                at = self._layer.column - _FIRST_LAYER
                label = values[at] if at < len(values) else ""
                yield _Token(
                    number, begins, row["part"] is not None, int(row["start"]), int(row["end"]), _plain(word), label
                )
            elif line.strip() and not line.startswith("#"):
                message = f"{line.rstrip()!r:.60}, expected e.g. 1-1, a tab, 0-4, a tab, Oslo, a tab, LOC"
                issues.append(Issue(message, line=number, kind="not a word"))
            begins = row is None

    def _labels(self, row: _Token, issues: list[Issue]) -> Iterator[tuple[str, str]]:
        """The types of a word's labels, each with what distinguishes it from other labels of its type."""
        for written in filter(None, _BAR.split(row.written)):
            label = _LABEL.fullmatch(written)
            type_ = label["type"] if label else written
            if type_ == "*" and self._layer.feature:
                message = f"the label of {row.word!r:.60} has no {self._layer.feature}, which is its type"
                issues.append(Issue(message, line=row.line, kind="label without type"))
            elif type_ != "_":
                number = label["number"] if label else None
                yield self._layer.name if type_ == "*" else _plain(type_), number or f"line {row.line}"


def _gap(before: _Token | None, row: _Token) -> str:
    """What stands in front of a word: the number of characters in the file, between sentences at least a line break."""
    if before is None:
        return " " * row.start
    gap = " " * (row.start - before.end)
    return f"{gap[1:]}\n" if row.begins else gap


def _plain(written: str) -> str:
    """A value without the signs that escape others; a tab or line break becomes a space."""
    return _ESCAPE.sub(lambda escape: " " if escape[1] in "tnr" else escape[1], written)


FORMATS = (
    Format(
        "webanno",
        "WebAnno TSV 3, from INCEpTION or WebAnno",
        reader=WebannoSource,
        unwritable="WebAnno TSV is only read. Choose conll with --separator space: INCEpTION imports it as CoNLL 2002",
        recognises=lambda start: start.lines[:1] != [] and start.lines[0].startswith(MARK),
    ),
)
