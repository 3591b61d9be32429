"""Finds out how a file of columns is laid out: how many there are, where word and tag stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nersery.core.errors import DataError, Issue
from nersery.core.sentence import UNKNOWN_COLUMN
from nersery.core.tags import OUTSIDE, looks_like_tag
from nersery.io.base import RETURN_HINT, ReadOptions, lone_return
from nersery.io.repairs import RAGGED_LINES
from nersery.io.text_file import BLANKS, TextFile

SAMPLE_LINES = 1000
MOST_ROWS = 1_000_000
NEARLY_ALL = 0.9
DOCUMENT_MARK = "-DOCSTART-"
WORD_MARK = "# nersery: the next line is a word"
"""Written in front of a sentence that would else begin like a document mark or a byte order mark."""
_NAMES_ID = re.compile(r"#[ \t]*(?:sent_id|id)[ \t]*[=:]")


def split_line(line: str) -> list[str]:
    """The values of a line: parted by tabs if it has any, else by runs of spaces; no other white space parts.

    >>> split_line("New York\\tB-LOC\\r\\n"), split_line("Oslo  B-LOC")
    (['New York', 'B-LOC'], ['Oslo', 'B-LOC'])
    """
    line = line.rstrip("\r\n")
    return line.split("\t") if "\t" in line else list(filter(None, line.split(" ")))


def paragraphs(file: TextFile) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines between blank lines, and the number of the first; a `DataError` for one that no sentence can be."""
    current: list[str] = []
    number = 0
    for number, line in enumerate(file.lines(), start=1):
        if len(current) > MOST_ROWS:
            message = f"a sentence has more than {MOST_ROWS:,} lines"
            raise DataError(
                Issue(message, file.name, number - len(current)), fix="put a blank line after each sentence"
            )
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
        tabs: Columns are separated by tabs, else by spaces.
        ragged: Lines of another width are words too.
        rivals: Other columns that look like tags.
    """

    width: int
    word: int
    tag: int
    tabs: bool
    ragged: bool = False
    rivals: tuple[int, ...] = ()

    def fitted(self, values: list[str]) -> list[str]:
        """The word and the tag of a line of another width; the tag's position counts from the end.

        >>> Layout(2, 0, 1, True).fitted(["Oslo", "_", "_", "B-LOC"])
        ['Oslo', 'B-LOC']
        """
        from_end = self.width - self.tag
        if len(values) == self.width or len(values) <= max(self.word + 1, from_end):
            return values
        word, tag = values[self.word], values[-from_end]
        if not looks_like_tag(tag, broken=True):
            return values
        row = [UNKNOWN_COLUMN] * self.width
        row[self.word], row[self.tag] = word, tag
        return row

    def is_comment(self, line: str) -> bool:
        """Whether a line at the start of a sentence is a comment or a document mark.

        A line that can be a word with its tag is none, because tweets begin with words such as ``#MH17``. Neither is a
        line with a carriage return inside, so that the text after it is reported.
        """
        if lone_return(line, 0):
            return False
        values = split_line(line)
        if line[0] == "#":
            return not self._is_word(line, values)
        regular = len(values) == self.width
        entity = regular and values[self.tag] != OUTSIDE and looks_like_tag(values[self.tag])
        return values[0] == DOCUMENT_MARK and not entity

    def _is_word(self, line: str, values: Sequence[str]) -> bool:
        """Whether a line that begins with ``#`` holds a word, which a tag shows.

        Between tabs, a tag in a wrong column shows it too, so that the line is reported. Between spaces, the id of a
        sentence may look like a tag.
        """
        tabs = "\t" in line
        if tabs == self.tabs and len(values) == self.width and looks_like_tag(values[self.tag], broken=True):
            return tabs or not _NAMES_ID.match(line)
        return tabs and self.tabs and not _NAMES_ID.match(line) and any(map(looks_like_tag, values[1:]))

    def count_comments(self, lines: Sequence[str]) -> int:
        """How many lines of a paragraph stand before its first word."""
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
    entities (see `_outer`). The word is the first other column that does not count the words.

    Args:
        options: Columns named by the user are not detected.
        sure: Require clear signs, and return None without them.

    Returns:
        None for a file without words.

    Raises:
        DataError: If no column looks like tags, or a named column does not exist.
    """
    sentences = _sample(file.lines())
    rows = [split_line(line) for sentence in sentences for line in sentence]
    if not rows:
        return None
    width, count = Counter(map(len, rows)).most_common(1)[0]
    for role, column in (("word", options.word_column), ("tag", options.tag_column)):
        if column is not None and column > width:
            raise DataError(
                Issue(f"there is no {role} column {column}: its lines have {width} columns", file.name),
                fix=f"name one of them by --{role}-column, or leave it out to detect it",
            )
    columns = list(zip(*(row for row in rows if len(row) == width), strict=True))
    tags = _tag_positions(columns, options, _SURE_SIGNS if sure else _ALL_SIGNS)
    if not tags or (sure and count < NEARLY_ALL * len(rows)):
        lines = (line for sentence in sentences for line in sentence)
        if not sure and any(lone_return(line, 0) for line in lines):
            raise DataError(
                Issue("its lines end with carriage returns, expected line feeds", file.name), fix=RETURN_HINT
            )
        if sure or all(_may_be_comment(row[0]) for row in rows):
            return None
        raise _no_tags(file, columns)
    tag = _outer(columns, tags)
    word = _word_position(sentences, width, tag, options)
    tabs = 2 * sum("\t" in line for sentence in sentences for line in sentence) > len(rows)
    rivals = tuple(at for at in tags if at not in (tag, word))
    return Layout(width, word, tag, tabs, RAGGED_LINES in options.repair, rivals)


def _may_be_comment(line: str) -> bool:
    return line[:1] == "#" or line.startswith(DOCUMENT_MARK)


def _sample(lines: Iterable[str]) -> list[list[str]]:
    """The first sentences of a file without their comments, or if there are none, what may be comments."""
    sentences: list[list[str]] = [[]]
    doubtful: list[str] = []
    taken, marked = 0, False
    for line in lines:
        if not line.strip(BLANKS):
            sentences.append([])
        elif not sentences[-1] and not marked and _may_be_comment(line):
            marked = line.rstrip(BLANKS) == WORD_MARK
            doubtful += [line] * (len(doubtful) < SAMPLE_LINES)
        else:
            sentences[-1].append(line)
            taken, marked = taken + 1, False
            if taken == SAMPLE_LINES:
                break
    return [sentence for sentence in sentences if sentence] or [[line] for line in doubtful]


_SURE_SIGNS = ((NEARLY_ALL, False), (NEARLY_ALL, True))
_ALL_SIGNS = (*_SURE_SIGNS, (0.5, True))


def _tag_positions(
    columns: Sequence[Sequence[str]], options: ReadOptions, signs: Sequence[tuple[float, bool]]
) -> list[int]:
    """Where tags may stand, the last first, by the first sign that a column gives: a share of tags, perhaps broken."""
    if options.tag_column is not None:
        return [options.tag_column - 1]
    candidates = [at for at in reversed(range(len(columns))) if at + 1 != options.word_column]
    if len(columns) < 2:
        return []
    for share, broken in signs:
        found = [at for at in candidates if _looks_like_tags(columns[at], share, broken)]
        if found:
            return found
    return []


def _looks_like_tags(column: Sequence[str], share: float, broken: bool) -> bool:
    like = sum(looks_like_tag(value, broken=broken) for value in column)
    return like >= share * len(column) and any(map(looks_like_tag, column))


def _outer(columns: Sequence[Sequence[str]], tags: Sequence[int]) -> int:
    """Of the columns that look like tags, the last one, or the outer level of nested entities.

    The last column is an inner level if it is nearly always ``O``, and another column with all its types tags more than
    twice as many words, but at most half of all, which distinguishes entities from chunks.
    """
    inner = _tagged(columns[tags[0]])
    if len(inner) > (1 - NEARLY_ALL) * len(columns[tags[0]]):
        return tags[0]
    types = {tag[2:] for tag in inner}
    for at in tags[1:]:
        tagged = _tagged(columns[at])
        if 2 * len(inner) < len(tagged) <= len(columns[at]) / 2 and types <= {tag[2:] for tag in tagged}:
            return at
    return tags[0]


def _tagged(column: Sequence[str]) -> list[str]:
    return [tag for tag in column if tag != OUTSIDE]


def _word_position(sentences: Sequence[Sequence[str]], width: int, tag: int, options: ReadOptions) -> int:
    if options.word_column is not None:
        return options.word_column - 1
    first, *others = (at for at in range(width) if at != tag)
    return others[0] if others and _counts_words(sentences, first, width) else first


def _counts_words(sentences: Sequence[Sequence[str]], column: int, width: int) -> bool:
    """Whether a column says 1, 2, 3 … in nearly every sentence, and in at least one of several words."""
    counted = [[row[column] for row in map(split_line, sentence) if len(row) == width] for sentence in sentences]
    running = [values == [str(number) for number in range(1, len(values) + 1)] for values in counted]
    return sum(running) >= NEARLY_ALL * len(counted) and any(
        is_running and len(values) > 1 for is_running, values in zip(running, counted, strict=True)
    )


def _no_tags(file: TextFile, columns: Sequence[Sequence[str]]) -> DataError:
    values = ", ".join(repr(column[0]) for column in columns)
    return DataError(
        Issue(f"no column looks like tags (O, B-PER, I-PER …); the first line has: {values:.100}", file.name),
        fix="name the column by --tag-column, with --repair bare-type if it holds types without letters (PER, O), "
        "letter-behind for PER-B, or small-letter for b-per; or name the format by --format text or jsonl",
    )
