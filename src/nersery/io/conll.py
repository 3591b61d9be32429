"""CoNLL columns: one word per line, its tag in one of the columns, a blank line after each sentence.

Extra columns keep their order. Comments (``#``) and ``-DOCSTART-`` lines belong to the sentence after them. A document
begins at ``-DOCSTART-`` and at ``# newdoc``. A comment ``# sent_id = X``, ``# id: X`` or ``# id X``, optionally
followed by ``key=value``, gives the id of the sentence; only after ``=`` or ``:`` may it have spaces. Otherwise the id
is ``{file}:{number}``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import NamedTuple

from nersery.core.errors import DataError, Issue, beginning, printable, shown
from nersery.core.sentence import UNKNOWN_COLUMN, Sentence
from nersery.core.sentence_validation import without_control
from nersery.core.tags import OUTSIDE, looks_like_tag
from nersery.io import base
from nersery.io.columns_and_rows.column_names import HEADER_WORDS, TAG_NAMES
from nersery.io.columns_and_rows.columns import (
    AFFIXES,
    DOCUMENT_MARK,
    MARKS,
    SAMPLE_LINES,
    Layout,
    ambiguity_error,
    detect_layout,
    paragraphs,
    resembles_columns,
    split_line,
)
from nersery.io.columns_and_rows.conll_writer import TAB, ConllWriter
from nersery.io.columns_and_rows.document_marks import DocumentNames
from nersery.io.columns_and_rows.word_column import NUMBER
from nersery.io.formats import COLUMNS, COMMENTS, DOCUMENTS, ENTITIES, WORDS, FileHead, Format
from nersery.io.input_files.text_file import BLANKS, BYTE_ORDER_MARK, TextFile, byte_order_mark_issue
from nersery.io.repairs import (
    BLANK_WORDS,
    CONTROL_CHARACTERS,
    EXTRA_ROWS,
    INNER_MARK,
    LANGUAGE_PREFIX,
    OUTER_SPACE,
    RAGGED_LINES,
    REPAIRS,
    WORD_DIGIT,
    decode_repaired,
    repair_hint,
)

_AFFIXED = {LANGUAGE_PREFIX: "words begin with a language", WORD_DIGIT: "words end with a number"}
_EXTRA_FIXES = (repair_hint(EXTRA_ROWS), "delete the lines of the words if the ranges have the right tags")
_LONE_FIX = (
    "if it names the sentence, make it a comment: "
    r"""awk '{sub(/\r$/,"")} NF==1 && !n{$0="# "$0} {n=NF; print}' old > new"""
)
_WORD_REPAIRS: Mapping[str, Callable[[str], str]] = {
    OUTER_SPACE: lambda word: word.strip(" "),
    **{name: partial(pattern.sub, "", count=1) for name, pattern in AFFIXES.items()},
}

_ID = re.compile(r"#[ \t]*(?:sent_id|id)(?:[ \t]*[=:][ \t]*(?P<marked>[^ \t][^\t]*)|[ \t]+(?P<alone>[^ \t=:].*))")
_PART = re.compile(r"[^ \t]+")
_COMMENT = re.compile(r"[ \t]#[ \t]")


class Paragraph(NamedTuple):
    """The lines of a sentence.

    Args:
        line: Number of the first line with a word, from 1.
        rows: Values of each line.
        comments: Comment lines before it.
        repaired: Number of lines that each repair changed.
        skipped: Number of lines directly in front of the first word, without a blank line between them.
        positions: Positions of the lines in the file, from 0 for the first: a repair may leave out lines.
    """

    line: int
    rows: list[list[str]]
    comments: tuple[str, ...]
    repaired: Mapping[str, int]
    skipped: int
    positions: Sequence[int]

    def line_of(self, index: int) -> int:
        """The line number of a row."""
        return self.line + self.positions[index]

    @property
    def mark_issue(self) -> Issue | None:
        """An issue for a byte order mark in front. After a comment or `WORD_MARK`, the mark belongs to the word."""
        return None if self.skipped else byte_order_mark_issue(self.rows[0][0], self.line, repair_hint(INNER_MARK))


class ConllSource(base.Source):
    """Sentences of a file of columns. A first pass detects the layout and the tag scheme.

    Raises:
        DataError: If the file cannot be read, or no column looks like tags.
    """

    def __init__(self, file: TextFile, options: base.ReadOptions) -> None:
        super().__init__(file, options)
        if RAGGED_LINES not in options.repair:
            _refuse_spaces_in_tags(file)
        self.layout = detect_layout(file, options)
        line_repairs = {RAGGED_LINES, EXTRA_ROWS, BLANK_WORDS, CONTROL_CHARACTERS, *_WORD_REPAIRS}
        self._line_repairs = line_repairs.intersection(options.repair)
        self._line_repairs -= AFFIXES.keys() - dict(self.layout.affixes if self.layout else ()).keys()
        self.scheme = options.scheme or base.detect_scheme(self._tags(), options)

    @property
    def description(self) -> str:
        if self.layout is None:
            return "conll, empty"
        columns = f"word {self.layout.word + 1}, tag {self.layout.tag + 1}"
        description = f"conll, {self.scheme}, {self.layout.width} columns: {columns}"
        for repair, word in self.layout.affixes:
            if repair not in self._line_repairs:
                description += f'; {_AFFIXED[repair]}, as in "{printable(word)}": --repair {repair}'
        if not self.layout.rivals:
            return description
        *others, last = sorted(at + 1 for at in (*self.layout.rivals, self.layout.tag))
        rivals = f"columns {', '.join(map(str, others))} and {last} look like tags"
        return f"{description}; {rivals}, {self.layout.tag + 1} is read: --tag-column"

    def sentences(self, findings: base.Findings) -> Iterator[Sentence]:
        if self.layout is None:
            return
        documents = DocumentNames(self.file.stem)
        for number, paragraph in enumerate(self._paragraphs(self.layout), start=1):
            id = id_in(paragraph.comments) or f"{self.file.stem}:{number}"
            document = documents.of(paragraph.comments)
            sentence = self._sentence(paragraph, id, document, self.layout, findings)
            if sentence is not None:
                yield sentence

    def _paragraphs(self, layout: Layout) -> Iterator[Paragraph]:
        waiting, marks = list[str](), 0
        for line, lines in paragraphs(self.file):
            if INNER_MARK in self.options.repair and lines[0].startswith(BYTE_ORDER_MARK):
                line, lines, marks = *_without_mark(line, lines), marks + 1
            skip = layout.count_comments(lines)
            if skip:
                waiting += (text.rstrip("\r\n") for text in lines[:skip])
            if skip < len(lines):
                comments = tuple(text for text in waiting if text not in MARKS)
                rows = list(map(split_line, lines[skip:]))
                rows, repaired, positions = _repaired_rows(rows, layout, self._line_repairs)
                if marks:
                    repaired = {**repaired, INNER_MARK: marks}
                yield Paragraph(line + skip, rows, comments, repaired, skip, positions)
                waiting, marks = [], 0

    def _tags(self) -> Iterator[list[str]]:
        """The tags of the sentences whose lines all have the usual number of columns."""
        if self.layout is None:
            return
        for paragraph in self._paragraphs(self.layout):
            if set(map(len, paragraph.rows)) == {self.layout.width}:
                yield [row[self.layout.tag] for row in paragraph.rows]

    def _sentence(
        self, paragraph: Paragraph, id: str, document: str, layout: Layout, findings: base.Findings
    ) -> Sentence | None:
        clash = findings.record_id(id, paragraph.line)
        issues, invalid = list(filter(None, (clash, paragraph.mark_issue))), list[Issue]()
        if set(map(len, paragraph.rows)) == {layout.width}:
            columns = list(zip(*paragraph.rows, strict=True))
            entities, tag_issues, repaired = decode_repaired(columns[layout.tag], self.scheme, self.options.repair)
            if _names_columns(paragraph.rows[0], layout):
                issues.append(_header(paragraph, layout))
                tag_issues = tuple(issue for issue in tag_issues if issue.index)
            extra_issues = [*_extra_issues(paragraph, layout)]
            issues += extra_issues or (  # an extra line has its own tag, or none within an entity
                base.tag_issue(found_issue, self.scheme, paragraph.line_of(found_issue.index))
                for found_issue in tag_issues
            )
            words, cleaned = findings.clean(columns[layout.word])
            extra = tuple(column for at, column in enumerate(columns) if at not in (layout.word, layout.tag))
            language, comments = self.options.language, paragraph.comments
            if not issues:
                try:
                    sentence = Sentence(
                        words, entities, id, language, columns=extra, comments=comments, document=document
                    )
                    findings.count_repairs(paragraph.repaired, repaired, cleaned)
                    return sentence
                except DataError as error:
                    invalid = base.at_words(base.issues_in(error, paragraph.line), paragraph.line_of)
        issues = [*issues, *_row_issues(paragraph, layout)] or invalid
        issues.sort(key=lambda issue: issue.line or 0)
        findings.record_broken(id, issues, _rejected_sentence(paragraph, layout))
        return None


def id_in(comments: Iterable[str]) -> str:
    """The id in the comments of a sentence, if any. Ids before the last belong to sentences without words.

    >>> id_in(["# sent_id = my file 7 lang=en"]), id_in(["# id 7 lang=en"]), id_in(["# id of a person"])
    ('my file 7', '7', '')
    >>> id_in(["# sent_id = 5 # first"])
    '5'
    """
    ids = [*filter(None, map(_id_of, filter(None, map(_ID.match, comments))))]
    return ids[-1] if ids else ""


def _id_of(match: re.Match[str]) -> str:
    """The id in a comment, without ``key=value`` or another comment after it.

    It is empty if other text follows an id without ``=`` or ``:``.
    """
    text = _COMMENT.split(match["marked"] or match["alone"], maxsplit=1)[0]
    parts = [*_PART.finditer(text)]
    while len(parts) > 1 and parts[-1][0].find("=") > 0:
        parts.pop()
    return text[: parts[-1].end()] if match["marked"] or len(parts) == 1 else ""


def _refuse_spaces_in_tags(file: TextFile) -> None:
    """Raise `DataError` if spaces separate the columns, and only entities have values after the start of a tag."""
    words = (line for line in file.lines() if line.strip(BLANKS) and not line.startswith(("#", DOCUMENT_MARK)))
    lines = [*islice(words, SAMPLE_LINES)]
    rows = [*map(split_line, lines)]
    last = min(map(len, rows), default=0) - 1
    longer = [row for row in rows if len(row) > last + 1]
    if (
        last < 1
        or any(TAB in line or base.carriage_return_issue(line, 0) for line in lines)
        or not all(looks_like_tag(row[last]) for row in rows)
    ):
        return
    if longer and all(row[last] != OUTSIDE for row in longer):
        message = f"a tag seems to have spaces: {shown(' '.join(longer[0][last:]))}, but spaces separate the columns"
        fix = "separate the columns with tabs, or rename the type; from Label Studio, export JSON"
        raise file.error(message, fix)


def _without_mark(line: int, lines: Sequence[str]) -> tuple[int, list[str]]:
    """The line number and lines of a paragraph without its byte order mark, and without a line that is then blank."""
    first, rest = lines[0].removeprefix(BYTE_ORDER_MARK), list(lines[1:])
    return (line, [first, *rest]) if first.strip(BLANKS) else (line + 1, rest)


def _names_columns(row: Sequence[str], layout: Layout) -> bool:
    """Whether a line names its columns instead of holding a word and its tag."""
    tag = row[layout.tag]
    names_tag = tag.casefold() in TAG_NAMES or tag.startswith("NE-")
    return names_tag and any(value.casefold() in HEADER_WORDS for value in row)


def _header(paragraph: Paragraph, layout: Layout) -> Issue:
    row = paragraph.rows[0]
    cells = beginning(", ".join(map(repr, row)), 100)
    message = f"the line looks like the header of a table, expected a word and its tag: {cells}"
    word = next(at for at, name in enumerate(row) if name.casefold() in HEADER_WORDS)
    fix = "delete the line"
    if word == layout.word and layout.tabs:
        fix += ", or read the file as a table: --format csv"
    elif layout.tabs:
        fix += f", and name the columns: --word-column {word + 1} --tag-column {layout.tag + 1}"
    elif word != layout.word:
        fix = "separate the columns with tabs, so that the file is read as a table"
    return Issue(message, line=paragraph.line, kind="header", fixes=(fix,))


def _extra_issues(paragraph: Paragraph, layout: Layout) -> Iterator[Issue]:
    for index in _extras(paragraph.rows, layout):
        row, line = paragraph.rows[index], paragraph.line_of(index)
        word, number = repr(row[layout.word]), row[layout.number or 0]
        if "." in number:
            message = f"{word} with the number {number} is not a word of the text, expected none"
            yield Issue(message, line=line, kind="empty node", fixes=_EXTRA_FIXES[:1])
        else:
            message = f"{word} combines the words {number}, which follow; expected each word once"
            yield Issue(message, line=line, kind="range of words", fixes=_EXTRA_FIXES)


def _extras(rows: Sequence[Sequence[str]], layout: Layout) -> list[int]:
    """The positions of lines of CoNLL-U that add a word to the text.

    These are lines such as ``8.1 reported``, and ``1-2 del`` if the lines of the words 1 and 2, ``de`` and ``el``,
    follow.
    """
    at = layout.number
    if at is None:
        return []
    numbers = [row[at] if at < len(row) else "" for row in rows]
    may_be_inner = not all("." in number for number in numbers)  # otherwise they are numbers of sentence and word
    return [
        index
        for index, (number, after) in enumerate(pairwise([*numbers, ""]))
        if (("." in number and may_be_inner) or ("-" in number and number.partition("-")[0] == after))
        and NUMBER.fullmatch(number)
    ]


def _repaired_rows(
    rows: list[list[str]], layout: Layout, names: Collection[str]
) -> tuple[list[list[str]], Mapping[str, int], Sequence[int]]:
    """The lines of a sentence after repairs, the number that each repair changed, and their positions before it."""
    if not names:
        return rows, {}, range(len(rows))
    extras = _extras(rows, layout) if EXTRA_ROWS in names else []
    words = [(index, row[layout.word]) for index, row in enumerate(rows) if len(row) == layout.width]
    # words of control characters alone, such as a page break
    unseen = [at for at, word in words if CONTROL_CHARACTERS in names and word and not without_control(word)]
    blank = [at for at, word in words if BLANK_WORDS in names and not word.strip(" ")]
    blank, unseen = (blank, unseen) if len(blank) + len(unseen) < len(rows) else ([], [])
    left_out = {*extras, *blank, *unseen}
    mended, counts = [], Counter({EXTRA_ROWS: len(extras), BLANK_WORDS: len(blank), CONTROL_CHARACTERS: len(unseen)})
    positions = [index for index in range(len(rows)) if index not in left_out]
    for row in map(rows.__getitem__, positions):
        fitted = layout.fitted(row) if RAGGED_LINES in names else row
        counts[RAGGED_LINES] += fitted is not row
        for name, repair_tags in _WORD_REPAIRS.items() if len(fitted) == layout.width else ():
            if name in names:
                word, fitted[layout.word] = fitted[layout.word], repair_tags(fitted[layout.word])
                counts[name] += word != fitted[layout.word]
        mended.append(fitted)
    return mended, +counts, positions


def _row_issues(paragraph: Paragraph, layout: Layout) -> Iterator[Issue]:
    """What is wrong with the lines of a sentence, apart from their tags."""
    first, widths = paragraph.rows[0], set(map(len, paragraph.rows))
    if len(first) == layout.width and len(widths) > 1 and _names_columns(first, layout):
        yield _header(paragraph, layout)  # without it, the other lines after it are comments, as in HIPE
        return
    for index, row in enumerate(paragraph.rows):
        line = paragraph.line_of(index)
        word = row[layout.word] if len(row) == layout.width else None
        if issue := base.carriage_return_issue(TAB.join(row), line):
            yield issue
        elif word is None:
            expected = f"expected {layout.width} (word {layout.word + 1}, tag {layout.tag + 1})"
            message = f"the number of columns is {len(row)}, {expected}: {beginning(', '.join(map(repr, row)), 100)}"
            fixes = () if layout.fitted(row) is row else (repair_hint(RAGGED_LINES),)
            if len(row) == 1 and index == 0 and len(paragraph.rows) > 1:
                fixes = (_LONE_FIX,)
            yield Issue(message, line=line, kind="wrong number of columns", fixes=fixes)
        elif not word.strip(" "):
            message, fixes = f"the word is {word!r}, expected at least one character", (repair_hint(BLANK_WORDS),)
            yield Issue(message, line=line, kind="empty word", fixes=fixes)
        elif word != word.strip(" "):
            message = f"the word {word!r} begins or ends with a space, expected none"
            yield Issue(message, line=line, kind="space around word", fixes=(repair_hint(OUTER_SPACE),))


def _rejected_sentence(paragraph: Paragraph, layout: Layout) -> Sentence:
    """A broken sentence for the rejects: words with their tags as a column, or its lines as they are."""
    if set(map(len, paragraph.rows)) == {layout.width}:
        columns = list(zip(*paragraph.rows, strict=True))
        try:
            return Sentence(columns[layout.word], columns=(columns[layout.tag],), comments=paragraph.comments)
        except DataError:
            pass
    lines = (base.storable(" ".join(row)).strip(" ") for row in paragraph.rows)
    return Sentence(
        tuple(line or UNKNOWN_COLUMN for line in lines), comments=tuple(map(base.storable, paragraph.comments))
    )


def _recognises(head: FileHead) -> bool:
    """Whether a file holds columns. Raise `DataError` if only some lines do and nothing else shows the format."""
    if head.names_columns or detect_layout(head.file, head.options, sure=True) is not None:
        return True
    repairs_tags = any(name == RAGGED_LINES or REPAIRS[name].repair_tags for name in head.options.repair)
    expected = repairs_tags or head.options.scheme is not None
    if not resembles_columns(head.file, head.options, strict=not expected):
        return False
    if expected:
        return True
    raise ambiguity_error(head.file)


FORMATS = (
    Format(
        "conll",
        "columns: a word and its tag on each line",
        (".conll", ".iob", ".iob2", ".bio", ".tsv"),
        ConllSource,
        ConllWriter,
        keeps=frozenset({WORDS, ENTITIES, COLUMNS, COMMENTS, DOCUMENTS}),
        marks_documents=True,
        recognises=_recognises,
        rank=3,
    ),
)
