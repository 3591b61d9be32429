"""Detects the layout of a file of columns: their number, and the positions of word and tag."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby

from nersery.core.errors import DataError, shown
from nersery.core.sentence import UNKNOWN_COLUMN
from nersery.core.tags import OUTSIDE, looks_like_tag
from nersery.core.warnings import warn
from nersery.io.base import ReadOptions, carriage_return_issue
from nersery.io.columns_and_rows.untagged_columns import no_tags, outside_value, types_without_prefixes
from nersery.io.columns_and_rows.word_column import NEARLY_ALL, column_with_letters, word_and_number
from nersery.io.input_files.text_file import BLANKS, TextFile
from nersery.io.repairs import LANGUAGE_PREFIX, RAGGED_LINES, REPAIRS, WORD_DIGIT

SAMPLE_LINES = 1000
MAX_ROWS = 1_000_000
FULL_STOPS = tuple(".。।۔።។။")
"""The full stops of Latin, Chinese and Japanese, Indian scripts, Urdu, Amharic, Khmer and Burmese."""
MAX_WORDS = 500
"""The maximum number of words of a sentence. If the first one of a file is longer, blank lines seem to be missing."""
DOCUMENT_MARK = "-DOCSTART-"
WORD_MARK = "# nersery: the next line is a word"
"""Written before a sentence that would otherwise begin like a document mark or a byte order mark."""
TAG_MARK = "# nersery: the last column is the tag"
"""Written before a sentence whose columns suggest reading the tags from another column, see `last_looks_inner`."""
MARKS = (WORD_MARK, TAG_MARK)
_NAMES_ID = re.compile(r"#[ \t]*(?:sent_id|id)[ \t]*[=:]")
AFFIXES: Mapping[str, re.Pattern[str]] = {
    LANGUAGE_PREFIX: re.compile(r"^[a-z]{2,3}(?:-[a-z]+)*:"),  # WikiANN
    WORD_DIGIT: re.compile(r"(?<=^.)\d{1,2}$"),  # Weibo: the position of each character in its word
}
"""What some data sets add to every word, by the repair that removes it."""
_OF_CONLLU = re.compile(r"#[ \t]*(?:sent_id|text)[ \t]*=")
CONLLU_WIDTH = 10
"""The number of columns in CoNLL-U. Tabs separate them."""


def split_line(line: str) -> list[str]:
    """The values of a line, split at tabs if it has any, else at runs of spaces, but at no other white space.

    >>> split_line("New York\\tB-LOC\\r\\n"), split_line("Oslo  B-LOC")
    (['New York', 'B-LOC'], ['Oslo', 'B-LOC'])
    """
    line = line.rstrip("\r\n")
    return line.split("\t") if "\t" in line else list(filter(None, line.split(" ")))


def paragraphs(file: TextFile) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines between blank lines, with the number of the first. Raise `DataError` for one of too many lines."""
    current: list[str] = []
    number = 0
    for number, line in enumerate(file.lines(), start=1):
        if len(current) > MAX_ROWS:
            message = f"a sentence has more than {MAX_ROWS:,} lines"
            raise file.error(message, "put a blank line after each sentence", number - len(current))
        if line.strip(BLANKS):
            current.append(line)
        elif current:
            yield number - len(current), current
            current = []
    if current:
        yield number - len(current) + 1, current


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a file; positions count from 0.

    Args:
        width: Number of columns.
        word: Position of the word.
        tag: Position of the tag.
        tabs: Whether tabs separate the columns; otherwise spaces do.
        ragged: Whether lines of another width are words, too.
        rivals: Other columns that look like tags.
        number: Position of the number of a word in its sentence, if there is one.
        affixes: Names in `AFFIXES` of the affixes that all words have, each with a word as an example.
    """

    width: int
    word: int
    tag: int
    tabs: bool
    ragged: bool = False
    rivals: tuple[int, ...] = ()
    number: int | None = None
    affixes: tuple[tuple[str, str], ...] = ()

    def fitted(self, values: list[str]) -> list[str]:
        """The word and the tag of a line of another width. The tag's position counts from the end, or else the start.

        >>> Layout(2, 0, 1, True).fitted(["Oslo", "_", "_", "B-LOC"])
        ['Oslo', 'B-LOC']
        >>> Layout(2, 0, 1, True).fitted(["Oslo", "B-LOC", ""])  # a tab at the end
        ['Oslo', 'B-LOC']
        >>> Layout(2, 0, 1, True).fitted(["Oslo", "B-LOC", "-", "Ada"])  # only entities have an annotator
        ['Oslo', 'B-LOC']
        """
        if len(values) > self.width and not any(values[self.width :]):
            return values[: self.width]
        from_end = self.width - self.tag
        if len(values) == self.width or len(values) <= max(self.word + 1, from_end):
            return values
        last, *first = values[-from_end], *values[self.tag : self.tag + 1]
        tag = next((tag for tag in (last, *first) if looks_like_tag(tag)), last)
        if not looks_like_tag(tag, broken=True):
            return values
        row = [UNKNOWN_COLUMN] * self.width
        row[self.word], row[self.tag] = values[self.word], tag
        return row

    def is_comment(self, line: str) -> bool:
        """Whether a line at the start of a sentence is a comment or a document mark.

        A line that can be a word with its tag is neither, because tweets begin with words such as ``#MH17``. The same
        applies to a line with a carriage return inside, so that the text after it is reported.
        """
        if carriage_return_issue(line, 0):
            return False
        values = split_line(line)
        if line[0] == "#":
            return not self._is_word(line, values)
        regular = len(values) == self.width
        entity = regular and values[self.tag] != OUTSIDE and looks_like_tag(values[self.tag])
        return values[0] == DOCUMENT_MARK and not entity

    def _is_word(self, line: str, values: Sequence[str]) -> bool:
        """Whether a line that begins with ``#`` holds a word. A tag in the line shows this.

        Between tabs, a tag in a wrong column shows it, too, so that the line is reported. Between spaces, the id of a
        sentence may look like a tag.
        """
        tabs = "\t" in line
        if tabs == self.tabs and len(values) == self.width and looks_like_tag(values[self.tag], broken=True):
            return tabs or not _NAMES_ID.match(line)
        return tabs and self.tabs and not _NAMES_ID.match(line) and any(map(looks_like_tag, values[1:]))

    def count_comments(self, lines: Sequence[str]) -> int:
        """The number of lines of a paragraph before its first word."""
        for position, line in enumerate(lines):
            if line[0] not in "#-" or not self.is_comment(line):
                return position
            if self.ragged and position + 1 < len(lines) and self._is_like(line, lines[position + 1]):
                return position
            if line.rstrip("\r\n") == WORD_MARK:
                return position + 1
        return len(lines)

    def _is_like(self, line: str, following: str) -> bool:
        """Whether a line of another width can be a word because the next one is of that width too."""
        values = split_line(line)
        same = len(values) == len(split_line(following)) and ("\t" in line) == ("\t" in following)
        return same and following[0] != "#" and not _NAMES_ID.match(line) and self.fitted(values) is not values


def detect_layout(file: TextFile, options: ReadOptions, *, sure: bool = False) -> Layout | None:
    """The layout of a file, from its first lines.

    The tag is the last column in which nearly all values look like tags, unless that is an inner level of nested
    entities (see `_outer`). The word is the first other column that neither numbers the words nor names a document.

    Args:
        options: Columns named by the user are not detected.
        sure: Require clear evidence, and return None without it.

    Returns:
        None for a file without words.

    Raises:
        DataError: If no column looks like tags, or a named column does not exist.
    """
    sample = _Sample(file)
    if not sample.rows:
        return None
    check_named_columns(file, options, sample.width)
    tags = _tag_positions(sample.columns, options, _SURE_EVIDENCE if sure else _ALL_EVIDENCE)
    if sure and (not tags or sample.share < NEARLY_ALL):
        return None
    if not tags:
        _refuse_words(file, sample)
        return None
    tag = _tag_position(sample, tags)
    if options.tag_column is not None and not sure:
        _refuse_other_column(file, sample.columns, options)
    named = None if options.word_column is None else options.word_column - 1
    word, number = word_and_number(sample.runs, [tag, *tags], named, is_conllu=sample.is_conllu)
    if sample.sentence_count == 1 and len(sample.rows) > MAX_WORDS and not sure:
        first = f"{file.name}: the first {len(sample.rows):,} words are one sentence, because there is no blank line"
        stop = max(FULL_STOPS, key=sample.columns[word].count)  # the first if there is none
        warn(f'{first}. If full stops end sentences: awk \'{{print}} ${word + 1}=="{stop}"{{print ""}}\' old > new')
    tabs = 2 * sum("\t" in line for line in sample.lines) > len(sample.rows)
    rivals = tuple(at for at in tags if at not in (tag, word))
    words = sample.columns[word]
    other = None if sure else column_with_letters(sample.columns, word, [tag, *rivals])
    if other is not None:
        example = f"column {word + 1} has no letters, e.g. {shown(words[0], 40)}, but its values are read as words"
        warn(f"{file.name}: {example}. If column {other + 1} has the words, add --word-column {other + 1}")
    affixes = tuple((name, words[0]) for name, pattern in AFFIXES.items() if all(map(pattern.search, words)))
    return Layout(sample.width, word, tag, tabs, RAGGED_LINES in options.repair, rivals, number, affixes)


def resembles_columns(file: TextFile, options: ReadOptions, *, strict: bool) -> bool:
    """Whether at least half of a file's first lines are columns, one of them with tags such as ``O``.

    Args:
        strict: Require the tag of an entity in the same column, or types alone, see `outside_value`. Text has neither.
    """
    sample = _Sample(file)
    if sample.share < 0.5:
        return False
    columns = [sample.columns[at] for at in _tag_positions(sample.columns, options, _ALL_EVIDENCE)]
    if outside_value(sample.usual_columns):  # types alone, as in "Oslo LOC"
        return True
    return any(OUTSIDE in column and (not strict or any(map(looks_like_tag, _tagged(column)))) for column in columns)


def ambiguity_error(file: TextFile) -> DataError:
    """The error for a file that `resembles_columns` but may be something else."""
    message = "some lines are a word and its tag, others are not: this may be text or broken columns"
    fix = "name the format: --format conll shows the wrong lines, --format text reads each line as a sentence"
    return types_without_prefixes(file, _Sample(file).usual_columns) or file.error(message, fix)


def check_named_columns(file: TextFile, options: ReadOptions, width: int) -> None:
    """Raise `DataError` if a file does not have the columns that the user names."""
    for role, column in (("word", options.word_column), ("tag", options.tag_column)):
        if column is not None and column > width:
            message = f"there is no {role} column {column}: its lines have {width} columns"
            raise file.error(message, f"name one of them by --{role}-column, or leave it out to detect it")
    if options.tag_column is not None and width == 1:
        fix = "separate word and tag with a tab or a space, or name the format by --format text"
        raise file.error("its lines have one column, expected a word and a tag", fix)


def _refuse_other_column(file: TextFile, columns: Sequence[Sequence[str]], options: ReadOptions) -> None:
    """Raise `DataError` if the column that the user names for tags has nearly none, but another one has tags."""
    named = (options.tag_column or 0) - 1
    mends = any(REPAIRS[name].repair_tags for name in options.repair)
    if mends or _looks_like_tags(columns[named], 1 - NEARLY_ALL, broken=True):
        return
    others = _tag_positions(columns, replace(options, tag_column=None), _SURE_EVIDENCE)
    if others:
        message = f"column {named + 1} has no tags, e.g. {shown(columns[named][0], 40)}, but column {others[0] + 1} has"
        raise file.error(message, f"name the column of the tags: --tag-column {others[0] + 1}")


def _refuse_words(file: TextFile, sample: _Sample) -> None:
    """Raise `DataError` if the lines of a file without tags cannot all be comments."""
    if issue := next(filter(None, (carriage_return_issue(line, 0) for line in sample.lines)), None):
        message = "there are carriage returns inside its lines, expected line feeds at their ends"
        raise file.error(message, issue.fixes[0])
    if not all(_may_be_comment(row[0]) for row in sample.rows):
        raise no_tags(file, sample.columns, is_conllu=len(sample.columns) == CONLLU_WIDTH)


def _may_be_comment(line: str) -> bool:
    return line[:1] == "#" or line.startswith(DOCUMENT_MARK)


class _Sample:
    """The first lines of a file, without comments, and the columns of lines with the usual number of columns.

    Args:
        file: If it has no sentences, the sample consists of lines that may be comments.
    """

    def __init__(self, file: TextFile) -> None:
        self.last_is_tag = self.is_conllu = False
        sentences = self._sentences(file.lines())
        self.lines = list(chain.from_iterable(sentences))
        split = [list(map(split_line, sentence)) for sentence in sentences]
        self.rows = list(chain.from_iterable(split))
        self.width, count = Counter(map(len, self.rows)).most_common(1)[0] if self.rows else (0, 0)
        self.share = count / max(len(self.rows), 1)
        """The share of lines with the usual number of columns, from 0 to 1."""
        self.sentence_count = len(sentences)
        self.runs = [
            [*run] for rows in split for usual, run in groupby(rows, lambda row: len(row) == self.width) if usual
        ]
        """Runs of lines of a sentence with that number. A line between two runs may have the number of a word."""
        self.columns = list(zip(*chain.from_iterable(self.runs), strict=True))
        self.is_conllu |= self.width == CONLLU_WIDTH and "\t" in self.lines[0]

    @property
    def usual_columns(self) -> list[tuple[str, ...]]:
        """The columns, if nearly all lines have the usual number of them; otherwise none."""
        return self.columns if self.share >= NEARLY_ALL else []

    def _sentences(self, lines: Iterable[str]) -> list[list[str]]:
        sentences, doubtful = [list[str]()], list[str]()
        line_count, marked = 0, False
        for line in lines:
            if not line.strip(BLANKS):
                sentences.append([])
            elif not sentences[-1] and not marked and _may_be_comment(line):
                mark = line.rstrip(BLANKS)
                marked, self.last_is_tag = mark == WORD_MARK, self.last_is_tag or mark == TAG_MARK
                self.is_conllu |= _OF_CONLLU.match(line) is not None
                doubtful += [line] * (len(doubtful) < SAMPLE_LINES)
            else:
                sentences[-1].append(line)
                line_count, marked = line_count + 1, False
                if line_count == SAMPLE_LINES:
                    break
        words = [line for line in doubtful if any(map(looks_like_tag, split_line(line)[1:]))]
        return [sentence for sentence in sentences if sentence] or [[line] for line in words or doubtful]


_SURE_EVIDENCE = ((NEARLY_ALL, False), (NEARLY_ALL, True))
_ALL_EVIDENCE = (*_SURE_EVIDENCE, (0.5, True))


def _tag_positions(
    columns: Sequence[Sequence[str]], options: ReadOptions, evidence: Sequence[tuple[float, bool]]
) -> list[int]:
    """The positions of possible tags, last first, by the first evidence in any column: a share of (broken) tags."""
    if options.tag_column is not None:
        return [options.tag_column - 1]
    candidates = [at for at in reversed(range(len(columns))) if at + 1 != options.word_column]
    if len(columns) < 2:
        return []
    for share, broken in evidence:
        positions = [at for at in candidates if _looks_like_tags(columns[at], share, broken)]
        if positions:
            return positions
    return []


def _tag_position(sample: _Sample, tags: Sequence[int]) -> int:
    """The position of the column to read, among those that look like tags."""
    last = sample.columns[tags[0]]
    is_sparse = len(_tagged(last)) <= (1 - NEARLY_ALL) * len(last)  # nearly always O
    is_last = sample.last_is_tag or sample.width == 2 or not is_sparse
    return tags[0] if is_last else _outer(sample.columns, tags)


def _looks_like_tags(column: Sequence[str], share: float, broken: bool) -> bool:
    values = [value.strip(" ") for value in column] if broken else column
    tag_count = sum(looks_like_tag(value, broken=broken) or (broken and not value) for value in values)
    return tag_count >= share * len(column) and any(map(looks_like_tag, values))


def last_looks_inner(columns: Sequence[Sequence[str]]) -> bool:
    """Whether the columns of a sentence suggest that the last one, which is its tags, is an inner level."""
    tags = [at for at in reversed(range(len(columns))) if _looks_like_tags(columns[at], NEARLY_ALL, broken=False)]
    return _outer(columns, tags) != tags[0]


def _outer(columns: Sequence[Sequence[str]], tags: Sequence[int]) -> int:
    """The last of the columns that look like tags, or the outer level of nested entities.

    A sparse last column is an inner level if another column with all its types tags more than twice as many words, but
    at most half of all, which distinguishes entities from chunks. If several do, take the one that tags most.
    """
    inner = _tagged(columns[tags[0]])
    types = {tag[2:] for tag in inner}
    outer = {
        at: len(tagged)
        for at in tags[1:]
        if 2 * len(inner) < len(tagged := _tagged(columns[at])) <= len(columns[at]) / 2
        and types <= {tag[2:] for tag in tagged}
    }
    return max(outer, key=outer.__getitem__, default=tags[0])


def _tagged(column: Sequence[str]) -> list[str]:
    return [tag for tag in column if tag != OUTSIDE]
