"""Reports what sentences lose in a format that does not keep all of their parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from operator import attrgetter
from typing import Any

from nersery.core.sentence import Sentence
from nersery.core.warnings import note
from nersery.io.columns_and_rows.document_marks import is_marked
from nersery.io.conll import id_in
from nersery.io.formats import (
    COLUMNS,
    COMMENTS,
    DOCUMENTS,
    ENTITY_SCORES,
    IDS,
    LANGUAGES,
    OFFSETS,
    ORIGINS,
    SCORES,
    SOFT_LABELS,
    Format,
)

_PARTS: dict[str, Callable[[Sentence], Any]] = {
    LANGUAGES: attrgetter("language"),
    ORIGINS: attrgetter("origin"),
    SCORES: attrgetter("scores"),
    ENTITY_SCORES: lambda sentence: any(entity.score is not None for entity in sentence.entities),
    SOFT_LABELS: attrgetter("soft_labels"),
    COLUMNS: attrgetter("columns"),
    COMMENTS: attrgetter("comments"),
    DOCUMENTS: attrgetter("document"),
    OFFSETS: lambda sentence: sentence.offsets and (sentence.document or sentence.offsets[0][0]),
}
"""Whether a sentence has a part. Words are never lost completely, and a format either refuses entities or says in its
name that it drops them. If the sentence is the whole text, its offsets only show where white space was."""


class Losses:
    """Finds out which parts of the written sentences are lost, and reports them once.

    Args:
        stems: Names, without extension, of the files that the sentences come from. Ids that the reader made from them
            are not a loss. Without stems, the same applies to all ids that end with a number like these.
    """

    def __init__(self, format: Format, stems: Collection[str] = ()) -> None:
        self._format, self._document = format, ""
        parts = {IDS: self._has_own_id, **_PARTS}
        self._sought = {name: has for name, has in parts.items() if name not in format.keeps}
        if format.marks_documents:
            self._sought[DOCUMENTS] = self._begins_unmarked
        self._order = [*self._sought]
        files = rf"(?:{'|'.join(map(re.escape, stems))})(?::\d+)+" if stems else r"(?:.+:)?\d+"
        self._made_id = re.compile(rf"(?:{files}(?:~.*)?)?", re.DOTALL)  # after ~, a method names a copy

    def see(self, sentence: Sentence) -> None:
        """Record which parts of a sentence are lost."""
        for name in [name for name, has in self._sought.items() if has(sentence)]:
            del self._sought[name]

    def report(self) -> None:
        """Print a note if any part is lost."""
        if lost := [name for name in self._order if name not in self._sought]:
            note(f"{self._format.name} does not store what these sentences have: {', '.join(lost)}")

    def _begins_unmarked(self, sentence: Sentence) -> bool:
        """Whether the sentence begins another document and no comment says so."""
        before, self._document = self._document, sentence.document
        return sentence.document != before and not is_marked(sentence)

    def _has_own_id(self, sentence: Sentence) -> bool:
        if self._made_id.fullmatch(sentence.id):
            return False
        return COMMENTS not in self._format.keeps or id_in(sentence.comments) != sentence.id
