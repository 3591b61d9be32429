"""WebAnno TSV 3, which INCEpTION and WebAnno export: words with their offsets, and layers of labels in columns.

The labels are those of the layer ``NamedEntity``, or of the only layer that people have added; ``--tag-column`` names
another one. The tools write only layers that have labels, so a file may have no layer. All files of a folder use the
layer of the first file that has one. Words have the same distance as in the file. Each sentence is a separate line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from nersery.core.errors import Issue, shown
from nersery.core.warnings import warn
from nersery.io.annotation_tools.labelled_text import CharacterSpan, Document, LabelledSpan
from nersery.io.annotation_tools.standoff import StandoffSource
from nersery.io.base import RETURN_HINT, Findings, ReadOptions, carriage_return_issue
from nersery.io.formats import Format
from nersery.io.input_files.text_file import TextFile
from nersery.io.text import MAX_LINE_LENGTH

MARK = "#FORMAT=WebAnno TSV 3"
_LAYER = re.compile(r"#T_(?P<kind>SP|CH|RL)=(?P<name>[^|]*)\|?(?P<features>.*)")
_ROW = re.compile(r"\d+-\d+(?P<part>\.\d+)?\t(?P<start>\d{1,9})-(?P<end>\d{1,9})\t(?P<rest>.*)")
_LABEL = re.compile(r"(?P<type>(?:\\.|[^\\\[])*)(?:\[(?P<number>\d+)\])?")
_BAR, _ESCAPE = re.compile(r"(?<!\\)\|"), re.compile(r"\\(.)")
_OF_DKPRO, _NAMED_ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.", "NamedEntity"
_FIRST_LAYER = 4
"""The column of the first layer, from 1. The columns before it are number, characters and word."""
_TYPE_FIX = ("give each label a value in the tool, and export again; or write it, or _ for no label, in that column",)


class _Layer(NamedTuple):
    """A column of labels.

    Args:
        column: Number of the column, from 1.
        name: Name of the layer without its package.
        feature: What the column says about a label; empty if it only says that there is one.
    """

    column: int
    name: str
    feature: str

    @property
    def full_name(self) -> str:
        return f"{self.name}{'.' if self.feature else ''}{self.feature}"

    def __str__(self) -> str:
        return f"{self.column} ({self.full_name})"


class _Token(NamedTuple):
    """A word, a part of the word before it, or a line that is neither.

    Args:
        begins: Whether a sentence begins with it.
        start: First character in UTF-16.
        end: Character after the last one, in UTF-16.
        labels: As written; ``_`` if there is none.
        issue: What is wrong with the line.
    """

    line: int
    begins: bool
    is_part: bool
    start: int
    end: int
    word: str
    labels: str
    issue: str = ""


class WebannoSource(StandoffSource):
    """Sentences of a document, with the words of the file.

    Raises:
        DataError: If the file cannot be read; during reading, if it is not clear which column has the labels.
    """

    numbers_lines = True

    def __init__(self, file: TextFile, options: ReadOptions) -> None:
        super().__init__(file, options)
        self._layers, self._width = list[_Layer](), 0
        self._read_header()

    @property
    def description(self) -> str:
        if self._layer is None:
            return "webanno, no labels"
        others = ", ".join(str(layer) for layer in self._layers if layer != self._layer)
        return f"webanno, labels in column {self._layer}{others and f'; others in {others}: --tag-column'}"

    def _read_header(self) -> None:
        """Find the columns that may have the labels: not those of parts of speech, chains, relations and links."""
        for line in self.file.lines():
            if line.startswith(MARK) and carriage_return_issue(line, 1):
                raise self.file.error("its lines end with carriage returns, expected line feeds", RETURN_HINT)
            if line.strip() and not line.startswith("#"):
                return
            if (layer := _LAYER.match(line.rstrip("\r\n"))) is None:
                continue
            name, previous_feature = layer["name"], ""
            is_span = layer["kind"] == "SP" and (name.endswith(_NAMED_ENTITY) or not name.startswith(_OF_DKPRO))
            for feature in layer["features"].split("|"):
                if is_span and feature != "identifier" and "ROLE_" not in (previous_feature[:5], feature[:5]):
                    self._layers.append(_Layer(_FIRST_LAYER + self._width, name.rpartition(".")[2], feature))
                self._width, previous_feature = self._width + 1, feature

    @cached_property
    def _layer(self) -> _Layer | None:
        """The column of the labels if the file is read by itself; None without layers of spans."""
        candidates = [layer for layer in self._layers if self.options.tag_column in (None, layer.column)]
        main = [layer for layer in candidates if layer.name == _NAMED_ENTITY] or candidates
        if self._layers and len(main) != 1:
            message = f"labels are in the columns {', '.join(map(str, self._layers))}, expected one"
            raise self.file.error(message, "name the column: --tag-column")
        return main[0] if main else None

    def _layer_in(self, findings: Findings) -> _Layer | None:
        """The column of the labels: in a folder, that of the layer of the first file that has one."""
        layer = next((layer for layer in self._layers if layer.full_name == findings.layer), None)
        if not findings.layer and (layer := self._layer):
            findings.layer = layer.full_name
        names = {other.name for other in self._layers}
        if self.options.tag_column is None and _NAMED_ENTITY in names and (not layer or layer.name != _NAMED_ENTITY):
            message = f"labels are in the layer {_NAMED_ENTITY}, but in files before this one in {findings.layer}"
            raise self.file.error(message, "rename this file to be the first in the folder")
        if layer is None and self.labelled:
            warn(f"{self.file.name}: no layer {findings.layer or _NAMED_ENTITY}, so its sentences have no entities")
        return layer

    def documents(self, findings: Findings) -> Iterator[Document]:
        """The document. The issues of a line belong to its sentence."""
        layer, issues = self._layer_in(findings), defaultdict[int, list[Issue]](list)
        spans, offsets = dict[tuple[str, str], LabelledSpan](), list[CharacterSpan]()
        text, sentence, word = "", 0, _NO_TOKEN
        for row in self._rows(layer):
            sentence += row.begins
            if not row.is_part:
                gap = " " * (row.start - word.end)
                text += f"{gap[1:]}\n" if row.begins and offsets else gap
                offsets.append((len(text), len(text) + len(row.word)))
                text += row.word
                word = row
            start, end = offsets[-1]
            if row.is_part:
                start += _character_count(word.word, row.start - word.start)
                end = start + len(row.word)
            if row.issue:
                issues[sentence].append(Issue(row.issue, line=row.line, kind="broken line"))
            for type_, number in _labels(row, layer):
                if not type_:
                    message = f"a label of {shown(row.word)} has no type in column {layer}"
                    issues[sentence].append(Issue(message, line=row.line, kind="label without type", fixes=_TYPE_FIX))
                    continue
                earlier = spans.get((type_, number), LabelledSpan(start, start, type_, row.line, ""))
                covered = (earlier.text or "")[: start - earlier.start] + text[earlier.end : start] + row.word
                spans[type_, number] = LabelledSpan(earlier.start, end, type_, earlier.line, covered)
        if offsets:
            yield Document(
                self.file.stem, text, list(spans.values()), 1, offsets, issues=issues, counts_characters=True
            )

    def _rows(self, layer: _Layer | None) -> Iterator[_Token]:
        """The lines of words and of parts of words, and other lines that are not comments."""
        word, begins = _NO_TOKEN, True
        for number, line in enumerate(self.file.lines(), start=1):
            line = line.rstrip("\r\n")
            if line.startswith(MARK) and word.line:
                fix = "save each document to its own file, in one folder"
                raise self.file.error("a second document begins here, expected one per file", fix, number)
            if line.strip() and not line.startswith("#"):
                row = self._row(line, number, begins, word, layer)
                word = word if row.is_part else row
                yield row
            begins = not line.strip() or line.startswith("#")

    def _row(self, line: str, number: int, begins: bool, before: _Token, layer: _Layer | None) -> _Token:
        """The content of a line; ``before`` is the word before it."""
        match, at, issue = _ROW.fullmatch(line), before.end + 1, ""
        if match is None or (match["part"] and begins):
            issue = f"{shown(line)}, expected e.g. 1-1, a tab, 0-4, a tab, Oslo, a tab, LOC"
            return _Token(number, begins, False, at, at, line, "_", issue)
        word, *values = match["rest"].split("\t")
        if values[self._width :] == [""]:  # after the tab at the end of the line
            values.pop()
        start, end, labels = int(match["start"]), int(match["end"]), "_"
        if len(values) != self._width:
            issue = f"{shown(word)} has {len(values) + 3} columns, expected {self._width + 3} as in the header"
        elif layer:
            labels = values[layer.column - _FIRST_LAYER]
        if start - before.end > MAX_LINE_LENGTH:
            gap, limit = start - before.end, f"{MAX_LINE_LENGTH:,}"
            issue = f"{shown(word)} begins {gap:,} characters after the text before it, expected {limit} at most"
            start = at
        return _Token(number, begins, match["part"] is not None, start, end, word, labels, issue)


_NO_TOKEN = _Token(0, False, False, 0, 0, "", "_")


def _labels(row: _Token, layer: _Layer | None) -> Iterator[tuple[str, str]]:
    """The types of a word's labels, or empty ones, each with what distinguishes the label from others of its type."""
    for value in _BAR.split(row.labels):
        label = _LABEL.fullmatch(value)
        type_, number = label.group("type", "number") if label else (value, None)
        if type_ != "_":
            default_type = layer.name if layer and not layer.feature else ""
            yield default_type if type_ == "*" else _plain(type_), number or f"line {row.line}"


def _character_count(word: str, units: int) -> int:
    """The number of characters in the first ``units`` of a word in UTF-16."""
    return len(word.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "ignore"))


def _plain(written: str) -> str:
    """A value without escape characters. An escaped tab or line break becomes a space."""
    return _ESCAPE.sub(lambda escape: " " if escape[1] in "tnr" else escape[1], written)


FORMATS = (
    Format(
        "webanno",
        "WebAnno TSV 3, from INCEpTION or WebAnno",
        reader=WebannoSource,
        unwritable="WebAnno TSV is only read. Choose conll with --separator space: INCEpTION imports it as CoNLL 2002",
        recognises=lambda head: head.first_line.startswith(MARK),
    ),
)
