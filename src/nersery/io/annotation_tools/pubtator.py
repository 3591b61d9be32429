"""PubTator: titles and abstracts, with labels by characters below them.

A document is ``PMID|t|title`` and ``PMID|a|abstract``, and for each label a line of ``PMID``, start, end, text and
type, separated by tabs. A blank line or another title ends it. Relations, and what follows a type, are left out. The
title is a sentence, and so is the abstract.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from nersery.core.errors import Issue, shown
from nersery.io.annotation_tools.labelled_text import Document, LabelledSpan
from nersery.io.annotation_tools.standoff import StandoffSource
from nersery.io.base import Findings, unreadable_sentence
from nersery.io.columns_and_rows.columns import paragraphs
from nersery.io.formats import FileHead, Format
from nersery.io.input_files.text_file import TextFile

_TEXT = re.compile(r"(?P<id>[^|\t]+)\|(?P<part>[a-z])\|(?P<text>.*)")
_LABEL = re.compile(
    r"(?P<id>[^\t]+)\t(?P<start>\d{1,9})\t(?P<end>\d{1,9})\t(?P<text>[^\t]*)\t(?P<type>[^\t]+)(?:\t.*)?"
)
_RELATION = re.compile(r"(?P<id>[^\t]+)\t[^\s\d]+(?:\t[^\t]+){2,3}\t?")
"""A relation: its name, the ids of both sides, and in BioRED whether it is novel."""
_EXPECTED = "expected a number, start, end, text and type between tabs"


class PubtatorSource(StandoffSource):
    """Sentences of PubTator's documents. Labels often end at a hyphen, so all punctuation is separate, as in brat."""

    description = "pubtator"
    numbers_lines = True
    splitting = "signs"

    def documents(self, findings: Findings) -> Iterator[Document]:
        for first, lines in _parts(self.file):
            texts, spans, issues, id = list[str](), list[LabelledSpan](), list[Issue](), f"{self.file.stem}:{first}"
            for number, line in enumerate(lines, start=first):
                line = line.rstrip("\r\n")
                text, match = _TEXT.fullmatch(line), _LABEL.fullmatch(line) or _RELATION.fullmatch(line)
                if text and not spans and (not texts or text["id"] == id):
                    texts, id = [*texts, text["text"]], text["id"]
                elif match and match["id"] == id and match.re is _LABEL:
                    spans.append(
                        LabelledSpan(int(match["start"]), int(match["end"]), match["type"], number, match["text"])
                    )
                elif not match or match["id"] != id:
                    issues.append(Issue(f"{shown(line)}, {_EXPECTED}", line=number, kind="not a label"))
            if issues or not texts:
                missing = Issue(f"{shown(lines[0].rstrip())}, expected e.g. 123|t|Title", line=first, kind="no text")
                findings.record_broken(id, issues or [missing], unreadable_sentence(" ".join(texts or lines)))
            else:
                yield Document(id, "\n".join(texts), spans, first)


def _parts(file: TextFile) -> Iterator[tuple[int, list[str]]]:
    """The lines of each document, and the number of the first."""
    for first, lines in paragraphs(file):
        texts = [(at, text) for at, text in enumerate(map(_TEXT.match, lines)) if at and text and text["part"] == "t"]
        begins = [0, *(at for at, text in texts if not lines[at - 1].startswith(f"{text['id']}|")), len(lines)]
        yield from ((first + begin, lines[begin:end]) for begin, end in pairwise(begins))


def _recognises(head: FileHead) -> bool:
    """Whether a title or abstract comes first, and then another one or a line of the same document."""
    first, second = [*head.lines, "", ""][:2]
    text = _TEXT.match(first)
    return bool(text and text["part"] in "ta" and (_TEXT.match(second) or second.startswith(f"{text['id']}\t")))


FORMATS = (
    Format(
        "pubtator",
        "titles and abstracts with labels by characters",
        (".pubtator",),
        reader=PubtatorSource,
        unwritable="PubTator is only read. Choose spans or brat, which have labels by characters",
        recognises=_recognises,
    ),
)
