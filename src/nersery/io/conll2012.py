"""CoNLL-2012, the format of OntoNotes: entities in brackets, as in ``(PERSON*``, ``*)`` and ``(GPE)``.

The columns of the word, its part of speech and the entity are read. The number of other columns differs between
sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from nersery.core.tags import OUTSIDE
from nersery.io.base import ReadOptions
from nersery.io.columns_and_rows.columns import split_line
from nersery.io.conll import ConllSource
from nersery.io.formats import Format
from nersery.io.input_files.text_file import TextFile, with_changed_words

_WORD, _POS, _ENTITY = 3, 4, 10
"""Positions of the columns, from 0."""
_BRACKETS = re.compile(r"(?:\((?P<type>[^()*]+))?\*?(?P<end>\))?")


def _as_columns(lines: Sequence[str]) -> Iterator[str]:
    """The words of a sentence as three columns separated by tabs: word, part of speech and tag."""
    rows = [*map(_values, lines)]
    for row, tag in zip(rows, _tags([row[_ENTITY] for row in rows]), strict=True):
        yield f"{row[_WORD]}\t{row[_POS]}\t{tag}\n"


def _is_word(line: str) -> bool:
    """Whether a line has a word. The reader reports lines that are too short."""
    return not line.startswith("#") and len(_values(line)) > _ENTITY


def _values(line: str) -> list[str]:
    """The values between spaces or tabs. Other white space, such as a no-break space, belongs to words."""
    return split_line(line.replace("\t", " "))


def _tags(entities: Sequence[str]) -> list[str]:
    """The tags of a sentence. A bracket that is nested or has no partner stays as it is, and so is not a tag."""
    tags, opening, type_ = list[str](), 0, ""
    for written in entities:
        brackets = _BRACKETS.fullmatch(written)
        begins, ends = (brackets["type"], brackets["end"]) if brackets else ("", "")
        if brackets is None or (begins and type_) or (ends and not begins and not type_):
            tags.append(written)
        elif begins:
            tags.append(f"B-{begins}")
            opening, type_ = len(tags) - 1, "" if ends else begins
        else:
            tags.append(f"I-{type_}" if type_ else OUTSIDE)
            type_ = "" if ends else type_
    if type_:  # its bracket is never closed
        tags[opening:] = [OUTSIDE if tag == f"I-{type_}" else tag for tag in tags[opening:]]
        tags[opening] = entities[opening]
    return tags


class Conll2012Source(ConllSource):
    """Sentences of OntoNotes, read as columns. Raise `DataError` if the user names columns."""

    def __init__(self, file: TextFile, options: ReadOptions) -> None:
        if options.word_column or options.tag_column:
            message = f"the columns of CoNLL-2012 are fixed: word {_WORD + 1}, entity {_ENTITY + 1}"
            raise file.error(message, "leave out --word-column and --tag-column, or give --format conll")
        file.mapped = partial(with_changed_words, _is_word, _as_columns)
        super().__init__(file, replace(options, word_column=1, tag_column=3))

    @property
    def description(self) -> str:
        return f"conll2012, {self.scheme}, word {_WORD + 1}, entity {_ENTITY + 1}"


FORMATS = (
    Format(
        "conll2012",
        "CoNLL-2012 of OntoNotes, with entities in brackets",
        (".v4_gold_conll", ".v4_auto_conll", ".gold_conll"),
        reader=Conll2012Source,
        unwritable="CoNLL-2012 is only read. Choose conll",
        recognises=lambda head: head.first_line.startswith("#begin document"),
        rank=2,
    ),
)
