"""CSV: a row for each word, or for each sentence with lists of words and tags in its cells.

A header names the columns, as in ``Sentence #,Word,POS,Tag``. Without one, the tags are in the column that looks like
tags, and the words in the first other one. An empty row ends a sentence, and one without a word where no column names
the sentences.
"""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

from nersery.core.errors import DataError, Issue
from nersery.core.sentence import UNKNOWN_COLUMN
from nersery.core.tags import looks_like_tag
from nersery.io.base import ReadOptions
from nersery.io.columns import NEARLY_ALL, SAMPLE_LINES
from nersery.io.conll import TAG_NAMES, WORD_NAMES
from nersery.io.formats import Format
from nersery.io.jsonl import JsonlSource
from nersery.io.objects import ENCODER
from nersery.io.text_file import TextFile

SENTENCE_NAMES = frozenset({"sentence", "sentence #", "sentence_id", "sentence id", "sentence_idx", "sent_id", "id"})
MOST_WORDS = 10_000
"""Of a sentence; more show that nothing ends one."""
_TableRow = Sequence[str]


class _Table(NamedTuple):
    """How a table is laid out; positions count from 0.

    Args:
        names: Of its columns, in lower case; empty without a header.
        word: Position of the word, or of the words of a sentence.
        tag: Position of the tag or tags.
        sentence: Position of what names the sentence of a word, if there is such a column.
        by_sentence: Whether each row is a sentence.
    """

    names: _TableRow
    word: int
    tag: int
    sentence: int | None
    by_sentence: bool


class CsvSource(JsonlSource):
    """Sentences of a table, read and checked like JSONL.

    Raises:
        DataError: If the file cannot be read, or it is not clear which columns have the words and the tags.
    """

    def __init__(self, file: TextFile, options: ReadOptions) -> None:
        first = next(iter(file.lines()), "")
        self._delimiter, self.file = max(",;\t|", key=first.count), file
        rows = [row for _, row in islice(self._rows(), SAMPLE_LINES)]
        self._table = _layout(rows, options, file.name) if rows else None
        super().__init__(file, options)

    @property
    def description(self) -> str:
        """What was recognised."""
        if self._empty or self._table is None:
            return "csv, empty"
        _, word, tag, sentence, by_sentence = self._table
        place = f"word {word + 1}, tag {tag + 1}{'' if sentence is None else f', sentence {sentence + 1}'}"
        return f"csv, {self.scheme}, a row for each {'sentence' if by_sentence else 'word'}: {place}"

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """The rows with the lines on which they end."""
        reader = csv.reader(self.file.lines(), delimiter=self._delimiter)
        try:
            yield from ((reader.line_num, row) for row in reader)
        except csv.Error as error:
            issue = Issue(f"not CSV: {error}", self.file.name, reader.line_num)
            raise DataError(issue, fix="export the table again, or correct it") from None

    def _lines(self) -> Iterator[tuple[int, str]]:
        """The sentences as lines of JSONL, with their first lines in the file."""
        if self._table is None:
            return
        names, word, tag, at_sentence, by_sentence = self._table
        current, began, id = list[_TableRow](), 0, ""
        for line, row in islice(self._rows(), bool(names), None):
            if by_sentence:
                words, tags = ([*_parts(row[at])] if at < len(row) else [] for at in (word, tag))
                yield line, ENCODER.encode({"tokens": words, "ner_tags": tags})
                continue
            named = "" if at_sentence is None or at_sentence >= len(row) else row[at_sentence]
            is_end = not (_cell(row, word).strip() if at_sentence is None else "".join(row).strip())
            if current and (is_end or (named and named != id) or len(current) == MOST_WORDS):
                yield began, self._encoded(current, id, began)
                current = []
            if not is_end:
                began, id = (began, id) if current else (line, named or id)
                current.append(row)
        if current:
            yield began, self._encoded(current, id, began)

    def _encoded(self, rows: Sequence[_TableRow], id: str, line: int) -> str:
        """A sentence as a line of JSONL, with the other columns that have a name, or all where none has."""
        assert self._table is not None
        names, word, tag, at_sentence, _ = self._table
        if len(rows) == MOST_WORDS:
            issue = Issue(f"a sentence has {MOST_WORDS:,} words or more", self.file.name, line)
            raise DataError(issue, fix="add a column that names the sentence of each word, or an empty row after each")
        width = max(map(len, rows))
        others = [
            at
            for at in range(width)
            if at not in (word, tag, at_sentence) and (not names or names[at : at + 1] != [""])
        ]
        value: dict[str, Any] = {"id": id} if id else {}
        value |= {"tokens": [_cell(row, word) for row in rows], "ner_tags": [_cell(row, tag) for row in rows]}
        columns = [["_".join(_cell(row, at).split()) or UNKNOWN_COLUMN for row in rows] for at in others]
        return ENCODER.encode({**value, "columns": columns} if columns else value)


def _cell(row: _TableRow, at: int) -> str:
    return row[at] if at < len(row) else ""


def _parts(cell: str) -> list[str]:
    """The words or tags in a cell: a list as Python writes it, or parted by spaces."""
    if cell.startswith("["):
        try:
            return list(map(str, ast.literal_eval(cell)))
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            pass
    return cell.split()


def _layout(rows: Sequence[_TableRow], options: ReadOptions, file: str) -> _Table:
    """How a table is laid out, by its first rows."""
    first = [name.strip().casefold() for name in rows[0]]
    tag = _only(options.tag_column, "tag", first, file, TAG_NAMES, _like_tags(rows))
    names = [] if any(map(looks_like_tag, _parts(_cell(rows[0], tag)))) else first
    sample = [row for row in rows[bool(names) :] if "".join(row).strip()]
    by_sentence = any(len(_parts(_cell(row, tag))) > 1 for row in sample)
    word_names = WORD_NAMES if WORD_NAMES.intersection(names) or not by_sentence else {"sentence"}
    unnamed = [at for at in range(len(first)) if at != tag][:1] if not names else []
    word = _only(options.word_column, "word", names, file, word_names, unnamed)
    grouping = [at for at, name in enumerate(names) if name in SENTENCE_NAMES and at != word]
    grouping = [at for at in grouping if not by_sentence and _names_sentences([_cell(row, at) for row in sample])]
    return _Table(names, word, tag, grouping[0] if grouping else None, by_sentence)


def _only(
    named: int | None, role: str, names: _TableRow, file: str, known: frozenset[str] | set[str], others: Sequence[int]
) -> int:
    """The named column, the only one with a known name, or the only other one that may have this role."""
    if named is not None:
        return named - 1
    found = [at for at, name in enumerate(names) if name in known] or others
    if len(found) != 1:
        columns = ", ".join(names) or "without a header"
        fix = (
            "name the columns by --word-column and --tag-column, or by a header such as sentence,word,tag. Of raw "
            "text, save the column alone, one sentence per line"
        )
        raise DataError(Issue(f"it is not clear which column has the {role}s: {columns:.100}", file), fix=fix)
    return found[0]


def _like_tags(rows: Sequence[_TableRow]) -> list[int]:
    """The columns in which nearly all cells are tags, or lists of them."""
    cells = [[*map(_parts, column)] for column in zip(*(row for row in rows if len(row) == len(rows[0])), strict=True)]
    like = [sum(bool(parts) and all(map(looks_like_tag, parts)) for parts in column) for column in cells]
    return [at for at, count in enumerate(like) if count >= NEARLY_ALL * len(cells[at])]


def _names_sentences(values: Sequence[str]) -> bool:
    """Whether a column names sentences: words share a name, or have none behind the first; numbers of words differ."""
    return any(not after or before == after for before, after in pairwise(values))


FORMATS = (
    Format(
        "csv",
        "a table with a row for each word, or for each sentence",
        (".csv",),
        reader=CsvSource,
        unwritable="CSV is only read. Choose conll, or in Python Corpus.to_pandas().to_csv(…)",
        holds_ids=False,
    ),
)
