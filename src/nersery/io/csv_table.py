"""CSV: a row for each word, or for each sentence with lists of words and tags in its cells.

A header names the columns, as in ``Sentence #,Word,POS,Tag``. If it is separated by tabs, it shows that the file is
such a table. Without a header, the tags are in the column that looks like tags, and the words are in the first other
column. A first row whose tag occurs again below it is not a header. An empty row ends a sentence. If no column names
the sentences, a row without a word also ends one. If a column names the documents, a new document also ends a sentence,
and sentences may be numbered within documents.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby, islice, pairwise
from typing import Any, Literal, NamedTuple

from nersery.core.errors import DataError, Issue, beginning, shown
from nersery.core.sentence import UNKNOWN_COLUMN
from nersery.core.tags import UNKNOWN_TAG, looks_like_tag
from nersery.io.base import RETURN_HINT, ReadOptions, at_words
from nersery.io.columns_and_rows.column_names import HEADER_WORDS, TAG_NAMES, TEXTS
from nersery.io.columns_and_rows.columns import DOCUMENT_MARK, SAMPLE_LINES, check_named_columns
from nersery.io.columns_and_rows.conll_writer import TAB
from nersery.io.columns_and_rows.objects import JsonObject
from nersery.io.columns_and_rows.table_cells import cell_holds_several, holds_tags, tags_of, whole_text, word_cutter
from nersery.io.columns_and_rows.word_column import NEARLY_ALL
from nersery.io.formats import FileHead, Format
from nersery.io.input_files.foreign import refuse_foreign
from nersery.io.input_files.text_file import BYTE_ORDER_MARK, TextFile
from nersery.io.jsonl import JsonlSource
from nersery.io.repairs import BLANK_WORDS, repair_hint

_NUMBER = r"[ _.-]*(?:#|idx?|index|no|nr|num|number)\.?"
_SENTENCE = re.compile(rf"sentence(?:{_NUMBER})?|sent{_NUMBER}")
_DOCUMENT = re.compile(rf"(?:doc|document|file)(?:{_NUMBER}|[ _]?name)?")
"""The names of columns for sentences, and for the documents in which sentences are numbered."""
LANGUAGE = "language"
"""The name of the column with the language of a sentence."""
_BREAKS_HINT = (
    """convert the line ends: python3 -c 'import sys; print(*sys.stdin.read().splitlines(), sep="\\n")' """
    "< old.csv > new.csv"
)
_SEPARATOR = re.compile(r"sep=(.)\s*", re.IGNORECASE)
"""A first line that Excel writes for itself."""
_ENCLOSED = re.compile(r'"(?:[^"]|"")*"')
"""A cell in quotation marks."""
_TAG_NUMBER = re.compile(r"-?\d+")
MAX_WORDS = 200
"""The maximum number of words in one sentence at the start of a table. More show that nothing ends it."""
_TEXTS_FIX = (
    'for texts with entities, write JSONL with their first character and the one after the last: {"text": "Ada left.", '
    '"label": [[0, 3, "PER"]]}. For raw text, save only that column, one sentence per line'
)
_TableRow = Sequence[str]


class _Table(NamedTuple):
    """How a table is laid out; positions count from 0.

    Args:
        names: Names of its columns, in lower case; empty without a header.
        word: Position of the word, or of the words of a sentence.
        tag: Position of the tag or tags.
        document: Position of the name of the document of a word or sentence; None if there is none.
        sentence: Position of the name of the sentence; None if there is none.
        by_sentence: Whether each row is a sentence.
    """

    names: _TableRow
    word: int
    tag: int
    document: int | None
    sentence: int | None
    by_sentence: bool

    @property
    def id_columns(self) -> list[int]:
        return [at for at in (self.document, self.sentence) if at is not None]

    @property
    def left_out(self) -> list[str]:
        """The names of columns that a sentence cannot hold, because they have one cell for it, not one per word."""
        known = (self.word, self.tag, *self.id_columns)
        others = [name for at, name in enumerate(self.names) if at not in known and name not in ("", LANGUAGE)]
        return others if self.by_sentence else []

    def named(self, row: _TableRow) -> JsonObject:
        """What a row says about its sentence, apart from words and tags."""
        value: JsonObject = {} if self.document is None else {"document": _cell(row, self.document)}
        if self.sentence is not None and _cell(row, self.sentence):
            value["id"] = ":".join(filter(None, (_cell(row, at) for at in self.id_columns)))
        if LANGUAGE in self.names:
            value[LANGUAGE] = _cell(row, self.names.index(LANGUAGE))
        return {name: text for name, text in value.items() if text}

    def cells(self, rows: Sequence[_TableRow]) -> Iterator[tuple[str, str]]:
        """The cells of words and tags in rows from the start of the table."""
        return ((_cell(row, self.word), _cell(row, self.tag)) for row in rows[bool(self.names) :])

    def ends(self, row: _TableRow) -> bool:
        return not (_cell(row, self.word) if self.sentence is None else "".join(row)).strip()


class _Sentence(JsonObject):
    """A sentence as an object of JSONL.

    Args:
        lines: Lines of its words.
        blank: Number of blank words that were left out.
    """

    def __init__(self, value: JsonObject, lines: Sequence[int], blank: int) -> None:
        super().__init__(value)
        self.lines, self.blank = lines, blank


class CsvSource(JsonlSource):
    """Sentences of a table, read and checked like JSONL.

    Raises:
        DataError: If the file cannot be read, or it is not clear which columns have the words and the tags, or where
            sentences end.
    """

    def __init__(self, file: TextFile, options: ReadOptions) -> None:
        refuse_foreign(FileHead(file, options), sure=True)
        self.file = file
        first = next(self._lines(), "")
        separator = _SEPARATOR.fullmatch(first)
        self._delimiter = separator[1] if separator else max(",;\t|", key=first.count)
        self._skipped = 1 if separator else 0
        self._quoting: Literal[0, 3] = (
            csv.QUOTE_NONE if self._delimiter == TAB and not _encloses(file) else csv.QUOTE_MINIMAL
        )
        rows = [row for _, row in islice(self._rows(), SAMPLE_LINES)]
        if len(rows) == 1 and len(first.splitlines()) > 1:  # otherwise the whole file would be a header
            raise file.error("its lines end with line breaks other than line feeds, such as U+2028", _BREAKS_HINT)
        self._table = (
            _layout(rows, options, file, self._delimiter) if rows else _Table([], 0, 0, None, None, by_sentence=False)
        )
        sample = [*self._table.cells(rows)]
        self._words_of = word_cutter(sample)
        tags = [tag for _, cell in sample for tag in tags_of(cell)]
        self._has_numbers = bool(tags) and all(map(_TAG_NUMBER.fullmatch, tags))
        super().__init__(file, options)

    @property
    def description(self) -> str:
        if self._empty:
            return "csv, empty"
        table = self._table
        places = {"word": table.word, "tag": table.tag, "sentence": table.sentence, "document": table.document}
        columns = ", ".join(f"{name} {at + 1}" for name, at in places.items() if at is not None)
        left_out = f", left out: {', '.join(table.left_out)}" if table.left_out else ""
        return f"csv, {self.scheme}, a row for each {'sentence' if table.by_sentence else 'word'}: {columns}{left_out}"

    def _lines(self) -> Iterator[str]:
        """The lines of the file, which may begin with two byte order marks."""
        lines = self.file.lines()
        yield from (line.removeprefix(BYTE_ORDER_MARK) for line in islice(lines, 1))
        yield from lines

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """The rows with the lines on which they begin."""
        lines, line = islice(self._lines(), self._skipped, None), self._skipped + 1
        reader = csv.reader(lines, delimiter=self._delimiter, quoting=self._quoting, strict=True)
        try:
            for row in reader:
                yield line, row
                line = self._skipped + reader.line_num + 1
        except csv.Error as error:
            if "new-line character" in str(error):
                message = "its lines end with carriage returns, expected line feeds"
                raise self.file.error(message, RETURN_HINT) from None
            message = f"not CSV: {error}; a quotation mark in this row may have no end"
            raise self.file.error(message, "export the table again, or correct it", line) from None

    def values(self) -> Iterator[tuple[int, JsonObject]]:
        """The sentences as objects of JSONL, with their first lines in the file."""
        table, id_columns = self._table, self._table.id_columns
        current, name = list[tuple[int, _TableRow]](), [""] * len(id_columns)
        for line, row in islice(self._rows(), bool(table.names), None):
            if table.by_sentence:
                words, tags = self._words_of(_cell(row, table.word)), tags_of(_cell(row, table.tag))
                yield line, table.named(row) | {"tokens": words, "ner_tags": tags}
                continue
            named, is_end = [_cell(row, at) or old for at, old in zip(id_columns, name, strict=True)], table.ends(row)
            if current and (is_end or named != name):
                yield current[0][0], self._sentence(current, name)
                current = []
            if not is_end:
                name = named
                current.append((line, row))
        if current:
            yield current[0][0], self._sentence(current, name)

    def placed(self, issues: Sequence[Issue], given: Any) -> Sequence[Issue]:
        if self._has_numbers:
            by_pandas = (self._by_pandas(),)
            issues = [replace(issue, fixes=by_pandas) if issue.kind == UNKNOWN_TAG else issue for issue in issues]
        if not isinstance(given, _Sentence):
            return issues
        blank = {line for line, word in zip(given.lines, given["tokens"], strict=True) if not word.strip(" ")}
        hint = (repair_hint(BLANK_WORDS),)
        placed = at_words(issues, given.lines.__getitem__)
        return [replace(issue, fixes=hint) if issue.line in blank else issue for issue in placed]

    def _by_pandas(self) -> str:
        """Advice on how to replace the numbers of tags by names."""
        names, word, tag, document, sentence, by_sentence = self._table
        if not names or not (by_sentence or sentence is not None) or document is not None:
            return "write the names of the tags, such as B-PER, in place of their numbers"
        _, header = next(self._rows())
        places = {"words": word, "tags": tag, "sentence": sentence}
        columns = {name: header[at] for name, at in places.items() if at is not None}
        how: JsonObject = {"sep": self._delimiter, "quoting": self._quoting, "encoding": self.file.encoding}
        reading = {name: value for name, value in how.items() if value not in (",", csv.QUOTE_MINIMAL, "utf-8-sig")}
        as_text = {columns[name]: "str" for name in ("words", "sentence") if name in columns}
        reading |= {"usecols": [*columns.values()], "keep_default_na": False, "dtype": as_text}
        frame = f"pandas.read_csv({self.file.name!r}, {_as_arguments(reading)})"
        corpus = f'nersery.Corpus.from_pandas({frame}, {_as_arguments(columns)}, names=["O", "B-PER", …])'
        return f'name the tags in Python: nersery.write({corpus}, "train.jsonl")'

    def repaired_in(self, given: Any) -> Mapping[str, int]:
        return {BLANK_WORDS: given.blank} if isinstance(given, _Sentence) and given.blank else {}

    def _sentence(self, numbered: Sequence[tuple[int, _TableRow]], name: Sequence[str]) -> _Sentence:
        """A sentence with the other columns that have a name, or with all of them if there is no header."""
        names, word, tag, document, sentence, _ = self._table
        worded = [(line, row) for line, row in numbered if _cell(row, word).strip(" ")]
        kept = worded if worded and BLANK_WORDS in self.options.repair else numbered
        rows = [row for _, row in kept]
        width = max(map(len, rows))
        known = (word, tag, document, sentence)
        others = [at for at in range(width) if at not in known and (not names or names[at : at + 1] != [""])]
        value: JsonObject = {} if sentence is None else {"id": ":".join(filter(None, name))}
        value |= {} if document is None else {"document": name[0]}
        value |= {"tokens": [_cell(row, word) for row in rows], "ner_tags": [_cell(row, tag) for row in rows]}
        languages = {_cell(row, names.index(LANGUAGE)) for row in rows} if LANGUAGE in names else set()
        value |= {LANGUAGE: languages.pop()} if len(languages) == 1 and all(languages) else {}
        columns = [["_".join(_cell(row, at).split()) or UNKNOWN_COLUMN for row in rows] for at in others]
        value |= {"columns": columns} if columns else {}
        return _Sentence(value, [line for line, _ in kept], len(numbered) - len(kept))


def _as_arguments(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _encloses(file: TextFile) -> bool:
    """Whether quotation marks enclose cells between tabs. The header shows this, or cells that need them.

    A mark that encloses nothing, or encloses a cell that does not need it, belongs to a word.
    """
    lines = (line.rstrip("\r\n").split(TAB) for line in file.lines())
    header = next(lines, [])
    if header and all(map(_ENCLOSED.fullmatch, header)):
        return True
    marked = [cell for cells in lines for cell in cells if cell.startswith('"')]
    return bool(marked) and all(_ENCLOSED.fullmatch(cell) and '"' in cell[1:-1] for cell in marked)


def _cell(row: _TableRow, at: int) -> str:
    return row[at] if at < len(row) else ""


def _layout(rows: Sequence[_TableRow], options: ReadOptions, file: TextFile, delimiter: str) -> _Table:
    check_named_columns(file, options, max(map(len, rows)))
    first = [name.strip().casefold() for name in rows[0]]
    has_header = not TAG_NAMES.isdisjoint(first)
    tag = _only(options.tag_column, first, TAG_NAMES, _like_tags(rows[has_header:]))
    if tag is None:
        _refuse_texts(rows, file)
        raise _unclear("tag", first, rows, file, delimiter)
    top, below = _cell(rows[0], tag), {_cell(row, tag) for row in rows[1:]}
    names = [] if top in below or any(map(looks_like_tag, tags_of(top))) else first
    sample = [row for row in rows[bool(names) :] if "".join(row).strip()]
    by_sentence = any(cell_holds_several(_cell(row, tag)) for row in sample)
    word_names = HEADER_WORDS if HEADER_WORDS.intersection(names) or not by_sentence else {"sentence"}
    unnamed = [at for at in range(len(first)) if at != tag][:1] if not names else []
    word = _only(options.word_column, names, word_names, unnamed)
    if word is None:
        raise _unclear("word", names, rows, file, delimiter)
    if not by_sentence:
        _refuse_texts([[_cell(row, word)] for row in sample], file)
    others = {at: name for at, name in enumerate(names) if at not in (word, tag)}
    texts = {"sentence"} if by_sentence else set()  # beside lists of words
    id_columns = [at for at, name in others.items() if _SENTENCE.fullmatch(name) and name not in texts]
    ids = [at for at, name in others.items() if name == "id"]
    documents = [at for at, name in others.items() if _DOCUMENT.fullmatch(name)]
    by_order = partial(_names_sentences, rows[bool(names) :])
    id_columns += filter(partial(_are_distinct, sample, *documents[:1]) if by_sentence else by_order, ids)
    document, sentence = (next(iter(positions), None) for positions in (documents, id_columns))
    table = _Table(names, word, tag, document, sentence, by_sentence)
    if not (by_sentence or id_columns) and _never_ends(table, rows[bool(names) :]):
        columns = ", ".join(names) or "without a header"
        message = f"no sentence ends among its first {len(sample):,} words: {beginning(columns, 100)}"
        fix = 'name the column of sentences "sentence_id", or put an empty row after each sentence'
        raise file.error(message, fix)
    return table


def _never_ends(table: _Table, rows: Sequence[_TableRow]) -> bool:
    """Whether a document has more than `MAX_WORDS` words in a row, and nothing ends a sentence."""
    document = [None if table.document is None else _cell(row, table.document) for row in rows]
    longest = max((len([*same]) for _, same in groupby(document)), default=0)
    return longest > MAX_WORDS and not any(map(table.ends, rows))


def _only(named: int | None, names: _TableRow, known: frozenset[str] | set[str], others: Sequence[int]) -> int | None:
    """The named column, the only one with a known name, or the only one of ``others``, if any.

    Of several with a known name, the only one that is also one of ``others``.
    """
    if named is not None:
        return named - 1
    positions = [at for at, name in enumerate(names) if name in known] or others
    if len(positions) > 1:
        positions = [at for at in positions if at in others]
    return positions[0] if len(positions) == 1 else None


def _unclear(role: str, names: _TableRow, rows: Sequence[_TableRow], file: TextFile, delimiter: str) -> DataError:
    """The error of a table in which several columns, or none, may have a role.

    Only a header can also name the column of sentences, so the fix is a header if nothing else ends a sentence.
    """
    header = delimiter.join(("sentence", "word", "tag")).replace(TAB, "<TAB>")  # with a comma, Excel's ; is no table
    by = f"by --word-column and --tag-column, or by a header such as {header}"
    knows_sentences = any(_SENTENCE.fullmatch(name) or _DOCUMENT.fullmatch(name) or name == "id" for name in names)
    is_in_words = not any(cell_holds_several(cell) for row in rows for cell in row)
    if len(rows) > MAX_WORDS and all(map("".join, rows)) and is_in_words and not knows_sentences:
        by = f"by a header such as {header}: here, only a column named sentence ends a sentence"
    columns = ", ".join(names) or "without a header"
    fix = f"name the columns {by}. For raw text, save only that column, one sentence per line"
    return file.error(f"it is not clear which column has the {role}s: {beginning(columns, 100)}", fix)


def _refuse_texts(rows: Sequence[_TableRow], file: TextFile) -> None:
    if text := whole_text(rows):
        expected = "expected a word and its tag, or a tag for each word"
        raise file.error(f"its rows have whole texts, such as {shown(text)}, {expected}", _TEXTS_FIX)


def _like_tags(rows: Sequence[_TableRow]) -> list[int]:
    """The columns in which nearly all cells are tags, or lists of them."""
    columns = [*zip(*(row for row in rows if len(row) == len(rows[0]) and "".join(row).strip()), strict=True)]
    tag_counts = [sum(map(holds_tags, column)) for column in columns]
    return [at for at, count in enumerate(tag_counts) if count >= NEARLY_ALL * len(columns[at])]


def _names_sentences(rows: Sequence[_TableRow], at: int) -> bool:
    """Whether a column names sentences: words share a name, or only the first has one. Numbers of words differ."""
    neighbours = (pair for pair in pairwise(rows) if all(map("".join, pair)))  # no blank row between them
    return any(_cell(row, at) in ("", _cell(before, at)) for before, row in neighbours)


def _are_distinct(rows: Sequence[_TableRow], *columns: int) -> bool:
    """Whether the names in the last column are distinct, per document if another column names it. Some may be empty."""
    named = [tuple(_cell(row, at) for at in columns) for row in rows if _cell(row, columns[-1])]
    return len({*named}) == len(named)


def _recognises(head: FileHead) -> bool:
    """Whether a file is a table with tabs and a header. If the word comes first, as in CoNLL, cells must hold lists."""
    if any(line.startswith(("#", DOCUMENT_MARK)) for line in head.lines):
        return False
    header, *rows = [line.rstrip("\r\n").split(TAB) for line in head.lines] or [[""]]
    names = [name.strip().casefold() for name in header]
    if {*HEADER_WORDS, *TEXTS}.isdisjoint(names):
        return False
    cells = [_cell(row, at) for row in rows for at, name in enumerate(names) if name in TAG_NAMES]
    return any(map(cell_holds_several if names[0] in HEADER_WORDS else holds_tags, cells))


FORMATS = (
    Format(
        "csv",
        "a table with a row for each word, or for each sentence",
        (".csv",),
        reader=CsvSource,
        recognises=_recognises,
        rank=2,
        unwritable="CSV is only read. Choose conll, or in Python Corpus.to_pandas().to_csv(…)",
    ),
)
