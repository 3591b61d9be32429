"""The standoff format of brat: a text, and beside it a file that ends in ``.ann`` with its labels by characters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from nersery.core.errors import DataError, Issue, SettingsError, shown
from nersery.core.system.files import BRAT_LABELS, BRAT_TEXT, files_of
from nersery.io.annotation_tools.labelled_text import Document, LabelledSpan
from nersery.io.annotation_tools.standoff import StandoffSource
from nersery.io.annotation_tools.tool_exports import pack_brat
from nersery.io.base import Findings, ReadOptions, unreadable_sentence
from nersery.io.formats import DOCUMENTS, ENTITIES, OFFSETS, Format
from nersery.io.input_files.text_file import TextFile
from nersery.io.jsonl import JsonlWriter

OTHERS = ("R", "E", "A", "M", "N", "*", "#")
"""The beginnings of lines that say more about labels. Lines of labels begin with ``T``."""
_LABEL = re.compile(r"(?P<id>T\S*)\t(?P<type>\S+) (?P<places>\d{1,9} \d{1,9}(?:;\d{1,9} \d{1,9})*)(?:\t(?P<text>.*))?")
_TRIGGER = re.compile(r"E\S*\t[^\s:]+:(\S+)")
LEFT_OUT = (
    "labels left out, because they name events, not entities: {}. To read them as labels, delete the lines that begin "
    "with E from .ann"
)


class BratSource(StandoffSource):
    """Sentences of a brat document, one per line. Relations, events, attributes and notes are ignored. A
    message counts labels that trigger events.

    Labels of brat often end at a hyphen or slash inside a word, so all punctuation is separate. Words do not depend on
    the labels, as they would with ``--repair cut-words``.
    """

    description = "brat"
    numbers_lines = True
    splitting = "signs"

    def __init__(self, file: TextFile, options: ReadOptions) -> None:
        if Path(file.name) != file.path:
            raise SettingsError(f"{file.name}: brat keeps a document in two files, name one of them")
        self._text = TextFile(file.path.with_suffix(BRAT_TEXT), options.encoding)
        super().__init__(TextFile(file.path.with_suffix(BRAT_LABELS), options.encoding), options)
        for half, other in ((self.file, self._text), (self._text, self.file)):
            if half.path.exists() and not other.path.exists():
                issue = Issue(f"{other.path.name}, the other file of the document, is missing", str(half.path))
                raise DataError(issue, fix="copy it there, or name another file")

    def documents(self, findings: Findings) -> Iterator[Document]:
        text = self._text.read()
        lines = [(number, line.rstrip("\r\n")) for number, line in enumerate(self.file.lines(), start=1)]
        triggers = {match[1] for _, line in lines if (match := _TRIGGER.match(line))}
        labels = [
            (number, line, _LABEL.fullmatch(line))
            for number, line in lines
            if line.strip() and not line.startswith(OTHERS)
        ]
        if issues := [_issue(number, line) for number, line, label in labels if label is None]:
            findings.record_broken(self.file.stem, issues, unreadable_sentence(text))
            return
        spans = [_span(label, number) for number, _, label in labels if label and label["id"] not in triggers]
        findings.noted.update(+Counter({LEFT_OUT: len(labels) - len(spans)}))
        if self._text.has_mark():  # brat counts the mark as a character
            moved_spans = [replace(span, start=span.start - 1, end=span.end - 1) for span in spans]
            if sum(span.fits(text) for span in moved_spans) > sum(span.fits(text) for span in spans):
                spans = moved_spans
        if text.strip() or spans:  # labels of a blank text are out of place, which reading the document reports
            yield Document(self.file.stem, text, spans)


def _issue(number: int, line: str) -> Issue:
    message = f"{shown(line)}, expected e.g. T1, a tab, PER 0 12, a tab, Ada Lovelace"
    return Issue(message, line=number, kind="not a label", fixes=("--format text if these are not labels of the text",))


def _span(match: re.Match[str], line: int) -> LabelledSpan:
    places = [int(place) for part in match["places"].split(";") for place in part.split(" ")]
    return LabelledSpan(places[0], places[-1], match["type"], line, match["text"], len(places) // 2)


FORMATS = (
    Format(
        "brat",
        "brat's standoff files, .txt beside .ann",
        reader=BratSource,
        writer=JsonlWriter,
        pack=pack_brat,
        makes_folder=True,
        keeps=frozenset({ENTITIES, DOCUMENTS, OFFSETS}),
        recognises=lambda head: (
            head.extension == BRAT_LABELS or (len(files_of(head.file.path)) > 1 and not head.names_columns)
        ),
    ),
)
