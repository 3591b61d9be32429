"""The lines in files of columns at which a document begins: ``-DOCSTART-``, ``# newdoc`` and ``#begin document``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from nersery.core.sentence import Sentence
from nersery.io.columns_and_rows.columns import DOCUMENT_MARK

_MARK = re.compile(
    rf"{DOCUMENT_MARK}(?:[ \t].*)?"
    r"|#[ \t]*newdoc(?:[ \t]+id[ \t]*[=:][ \t]*(?P<conllu>.*?))?[ \t]*"
    r"|#begin document \((?P<conll2012>.*)\).*"
)


class DocumentNames:
    """The document of each sentence of a file, in order.

    >>> names = DocumentNames("a")
    >>> [names.of(comments) for comments in ((), ("-DOCSTART- -X- O",), (), ("# newdoc id = news/1",))]
    ['', 'a:document 1', 'a:document 1', 'news/1']
    """

    def __init__(self, stem: str) -> None:
        self._stem, self._count, self._current = stem, 0, ""

    def of(self, comments: Iterable[str]) -> str:
        """The name of the document of the next sentence, which has these comments; empty before the first document."""
        for mark in filter(None, map(_MARK.fullmatch, comments)):
            self._count += 1
            self._current = mark["conllu"] or mark["conll2012"] or f"{self._stem}:document {self._count}"
        return self._current


def is_marked(sentence: Sentence) -> bool:
    """Whether a comment of the sentence says that a document begins."""
    return any(map(_MARK.fullmatch, sentence.comments))


def with_marks(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences. The first one of a document gets a mark as a comment if it has none."""
    current = ""
    for sentence in sentences:
        if sentence.document not in ("", current) and not is_marked(sentence):
            sentence = replace(sentence, comments=(f"# newdoc id = {sentence.document}", *sentence.comments))
        current = sentence.document or current
        yield sentence
