"""Training data of Rasa in YAML or Markdown: each list item below an intent is a sentence with its labels.

A label is ``[Oslo](city)``, ``[Oslo](city:capital)`` or ``[Oslo]{"entity": "city", "role": "to"}``; its type is read.
Items below synonyms, tables and regular expressions are not sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from nersery.core.errors import Issue
from nersery.io.annotation_tools.labelled_text import Document, LabelledSpan
from nersery.io.annotation_tools.standoff import StandoffSource
from nersery.io.base import Findings, unreadable_sentence
from nersery.io.formats import FileHead, Format

_BEGINS = re.compile(r"^(?:nlu:\s*|## ?(?:intent|synonym|lookup|regex):.*)$", re.MULTILINE)
_PART = re.compile(r"(?:\s*- +|## ?)(intent|synonym|lookup|regex):.*|([A-Za-z]\w*):.*")
_ITEM = re.compile(r"\s*[-*+] +(.*\S)\s*")
_BLOCK = re.compile(r"text: *[|>][+-]?")
"""An item whose sentence is in the next line."""
_LABEL = re.compile(r"\[([^\[\]]+)\](?:\(([^():]+)(?::[^()]*)?\)|(\{[^{}]*\}|\[ *\{.*?\} *\]))")


class RasaSource(StandoffSource):
    """Sentences of Rasa's training data."""

    description = "rasa"

    def documents(self, findings: Findings) -> Iterator[Document]:
        for number, (line, written) in enumerate(self._examples(), start=1):
            id, text, spans = f"{self.file.stem}:{number}", "", list[LabelledSpan]()
            at = 0
            for label in _LABEL.finditer(written):
                text += written[at : label.start()]
                spans.append(LabelledSpan(len(text), len(text) + len(label[1]), label[2] or _type(label[3]), line))
                text, at = text + label[1], label.end()
            if all(span.type for span in spans):
                yield Document(id, text + written[at:], spans, line)
            else:
                message = 'a label has no single "entity", expected e.g. [Oslo](city) or [Oslo]{"entity": "city"}'
                issue = Issue(message, line=line, kind="not a label")
                findings.record_broken(id, [issue], unreadable_sentence(written))

    def _examples(self) -> Iterator[tuple[int, str]]:
        """The items below intents, with their lines from 1."""
        part, is_block = "", False
        for line, written in enumerate(self.file.lines(), start=1):
            item = _ITEM.fullmatch(written)
            if header := _PART.fullmatch(written.rstrip()):
                part = header[1] or ""
            elif part == "intent" and item and _BLOCK.fullmatch(item[1]):
                is_block = True
            elif part == "intent" and (item or is_block):
                yield line, item[1] if item else written.strip()
                is_block = False


def _type(written: str) -> str:
    """The type in an object after a mention; empty if there is none, or several."""
    try:
        value: Any = json.loads(written)
    except ValueError:
        return ""
    return str(value.get("entity", "")) if isinstance(value, dict) else ""


def _recognises(head: FileHead) -> bool:
    """Whether a section of Rasa's training data begins in the first lines."""
    return head.extension in (".md", ".yml", ".yaml", "") and _BEGINS.search("".join(head.lines)) is not None


FORMATS = (
    Format(
        "rasa",
        "training data of Rasa",
        reader=RasaSource,
        unwritable="Rasa's training data is only read. Choose spans, which have labels by characters",
        recognises=_recognises,
    ),
)
