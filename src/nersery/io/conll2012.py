"""CoNLL-2012, the format of OntoNotes: entities in brackets, as in ``(PERSON*``, ``*)`` and ``(GPE)``.

Of its columns, the word, its part of speech and the entity are read; the number of the others differs between
sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from nersery.core.tags import OUTSIDE
from nersery.io.base import ReadOptions
from nersery.io.conll import ConllSource
from nersery.io.formats import Format
from nersery.io.text_file import TextFile

_WORD, _POS, _ENTITY = 3, 4, 10
"""Positions of the columns, from 0."""
_BRACKETS = re.compile(r"(?:\((?P<type>[^()*]+))?\*?(?P<end>\))?")


class _AsColumns(TextFile):
    """The file with three columns between tabs: word, part of speech and tag."""

    def __init__(self, file: TextFile) -> None:
        self.__dict__ |= file.__dict__  # standard input cannot be opened again

    def lines(self) -> Iterator[str]:
        """The lines, one for each of the file."""
        open_type = ""
        for line in super().lines():
            values = line.split()
            if line.startswith("#") or len(values) <= _ENTITY:  # reading the line reports one that is too short
                open_type = ""
                yield line
                continue
            written = values[_ENTITY]
            brackets = _BRACKETS.fullmatch(written)
            if (
                brackets is None
                or (brackets["type"] and open_type)
                or (brackets["end"] and not (brackets["type"] or open_type))
            ):
                tag = written
            elif brackets["type"]:
                open_type, tag = brackets["type"], f"B-{brackets['type']}"
            else:
                tag = f"I-{open_type}" if open_type else OUTSIDE
            if brackets and brackets["end"]:
                open_type = ""
            yield f"{values[_WORD]}\t{values[_POS]}\t{tag}\n"


class Conll2012Source(ConllSource):
    """Sentences of OntoNotes, read as columns."""

    def __init__(self, file: TextFile, options: ReadOptions) -> None:
        super().__init__(_AsColumns(file), replace(options, word_column=1, tag_column=3))

    @property
    def description(self) -> str:
        """What was recognised."""
        return f"conll2012, {self.scheme}, word {_WORD + 1}, entity {_ENTITY + 1}"


FORMATS = (
    Format(
        "conll2012",
        "CoNLL-2012 of OntoNotes, with entities in brackets",
        (".v4_gold_conll", ".v4_auto_conll", ".gold_conll"),
        reader=Conll2012Source,
        unwritable="CoNLL-2012 is only read. Choose conll",
        recognises=lambda start: start.lines[:1] != [] and start.lines[0].startswith("#begin document"),
        rank=2,
    ),
)
