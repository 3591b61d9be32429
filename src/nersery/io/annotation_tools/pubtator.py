"""PubTator: titles and abstracts, with labels by characters below them.

A document is ``PMID|t|title`` and ``PMID|a|abstract``, and a line of ``PMID``, start, end, text and type for each
label, parted by tabs; a blank line ends it. Relations, and what follows a type, are left out. Title and abstract are
a sentence each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nersery.core.errors import Issue
from nersery.io.annotation_tools.standoff import Document, Span, StandoffSource
from nersery.io.base import Pass, unread
from nersery.io.columns import paragraphs
from nersery.io.formats import Beginning, Format

_TEXT = re.compile(r"(?P<id>[^|\t]+)\|(?P<part>[a-z])\|(?P<text>.*)")
_EXPECTED = "expected a number, start, end, text and type between tabs"


class PubtatorSource(StandoffSource):
    """Sentences of PubTator's documents. Labels often end at a hyphen, so every sign is a word, as in brat."""

    numbers_lines = True
    splitting = "signs"

    @property
    def description(self) -> str:
        """The format."""
        return "pubtator"

    def documents(self, found: Pass) -> Iterator[Document]:
        """The documents whose lines can all be read."""
        for first, lines in paragraphs(self.file):
            texts, spans, issues, id = list[str](), list[Span](), list[Issue](), f"{self.file.stem}:{first}"
            for number, line in enumerate(lines, start=first):
                line = line.rstrip("\r\n")
                if (text := _TEXT.fullmatch(line)) and not spans:
                    texts, id = [*texts, text["text"]], text["id"]
                    continue
                values = line.split("\t")
                if len(values) >= 5 and values[0] == id and values[1].isdecimal() and values[2].isdecimal():
                    spans.append(Span(int(values[1]), int(values[2]), values[4], number, values[3]))
                elif len(values) < 3 or values[0] != id or values[1].isdecimal():  # else it is a relation
                    issues.append(Issue(f"{line!r:.60}, {_EXPECTED}", line=number, kind="not a label"))
            if issues or not texts:
                missing = Issue(f"{lines[0].rstrip()!r:.60}, expected e.g. 123|t|Title", line=first, kind="no text")
                found.broken(id, issues or [missing], unread(" ".join(texts or lines)))
            else:
                yield Document(id, "\n".join(texts), spans, first)


def _recognises(start: Beginning) -> bool:
    texts = [_TEXT.fullmatch(line.rstrip("\r\n")) for line in start.lines[:2]]
    return [text and text["part"] for text in texts] == ["t", "a"]


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
