"""Word vectors in the text format of fastText and MUSE.

Such files have gigabytes. Only the lines of wanted words are parsed. Of all other lines, only the word is read.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from unicodedata import normalize
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from nersery.core.errors import DataError, Issue
from nersery.core.text.text_forms import composed
from nersery.io.input_files.text_file import is_utf_8

Vector = NDArray[np.float32]

MAX_LINE_LENGTH = 1 << 22
"""Bytes of a line, more than any vector needs. Other files, or zeros from a broken download, may have longer lines."""
BUFFER = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
FORMAT = "expected a text file whose lines are a word and its numbers, separated by single spaces"
FIX = (
    "unpack a compressed file, use fastText's .vec and not its .bin, and repeat an interrupted download; "
    "a single broken line can be deleted"
)


@dataclass(frozen=True, slots=True)
class VectorFileHead:
    """The beginning of a file.

    Args:
        dimension: Numbers per vector.
        words: The number of words in the header; None without a header.
        start: Offset of the first vector in bytes.
    """

    dimension: int
    words: int | None
    start: int

    @property
    def first_line(self) -> int:
        """The number of the first vector's line."""
        return 1 if self.words is None else 2


@dataclass(frozen=True)
class WordVectors:
    """The vectors of those wanted words that were found.

    Args:
        dimension: Numbers per vector.
        rows: Vectors by `composed` word. Shape of each: (dimension,).
        issues: Other problems of the file, for warnings.
    """

    dimension: int
    rows: Mapping[str, Vector]
    issues: tuple[str, ...] = ()

    def get(self, word: str) -> Vector | None:
        """The vector of a word as it is written, or else of its lower-case form."""
        row = self.rows.get(composed(word))
        return self.rows.get(composed(word.lower())) if row is None else row

    def followed_by(self, others: WordVectors) -> WordVectors:
        """These vectors, followed by the others' vectors of words that have none here."""
        new = {word: row for word, row in others.rows.items() if word not in self.rows}
        return replace(self, rows={**self.rows, **new})

    def matrix(self, words: Sequence[str]) -> NDArray[np.float32]:
        """The vector of each word; zeros for an unknown one. Shape: (words, dimension)."""
        matrix = np.zeros((len(words), self.dimension), np.float32)
        for place, row in enumerate(map(self.get, words)):
            if row is not None:
                matrix[place] = row
        return matrix

    def mean(self, words: Iterable[str]) -> Vector:
        """The mean of the words' vectors, of length 1; zeros when no word is known. Shape: (dimension,)."""
        known = [row for row in map(self.get, words) if row is not None]
        if not known:
            return np.zeros(self.dimension, np.float32)
        mean = np.stack(known).mean(axis=0, dtype=np.float64)
        return (mean / (np.linalg.norm(mean) or 1.0)).astype(np.float32)


def read_head(path: str | Path) -> VectorFileHead:
    """Read the beginning of a file of any size.

    Raises:
        DataError: If it does not begin with a vector, or with ``count dimension`` and a vector.
    """
    with Path(path).open("rb") as stream:
        line = stream.readline(MAX_LINE_LENGTH)
        mark = len(BYTE_ORDER_MARK) if line.startswith(BYTE_ORDER_MARK) else 0
        fields = line[mark:].strip(b" \r\n").split(b" ")
        words, dimension, start = None, len(fields) - 1, mark
        if len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit():
            words, dimension, start = int(fields[0]), int(fields[1]), len(line)
            line = stream.readline(MAX_LINE_LENGTH)
    head = VectorFileHead(dimension, words, start)
    if not line.strip(b" \r\n"):
        raise DataError(Issue(f"the file holds no vector; {FORMAT}", str(path), head.first_line), fix=FIX)
    if b"\t" in line.strip():
        message = f"there is a tab in the first vector; {FORMAT}"
        raise DataError(Issue(message, str(path), head.first_line), fix=r"separate the values by spaces: tr '\t' ' '")
    try:
        if not dimension:
            raise ValueError("has no values")
        _vector(_fields(line)[1], dimension)
    except ValueError as error:
        raise DataError(Issue(f"the first vector {error}; {FORMAT}", str(path), head.first_line), fix=FIX) from None
    return head


class VectorIndex:
    """The offset of each word in a file, to find words without reading the file again.

    Building it takes one pass over the file. It needs 20 bytes per word.

    Raises:
        DataError: If the file has no vectors, or a line is longer than any vector.
    """

    def __init__(self, path: str | Path) -> None:
        self._path, self._head = path, read_head(path)
        hashes, lengths, undecodable = array("L"), array("Q"), 0
        for number, line in _lines(path, self._head):
            key, _ = _fields(line)
            if not key.isascii():
                undecodable += not is_utf_8(key)
            elif len(line) == MAX_LINE_LENGTH:
                message = f"the line is longer than {MAX_LINE_LENGTH} bytes; {FORMAT}"
                raise DataError(Issue(message, str(path), number), fix=FIX)
            hashes.append(crc32(key))  # not the word; `read` skips other words with the same hash
            lengths.append(len(line))
        self._starts = self._head.start + np.cumsum(np.array([0, *lengths], np.int64))
        self._order = np.argsort(np.array(hashes, np.uint32), kind="stable")
        self._hashes = np.array(hashes, np.uint32)[self._order]
        self._issues = tuple(_issues(self._head, (self._head.words or 0) - len(hashes), undecodable))

    def read(self, words: Iterable[str]) -> WordVectors:
        """Read the vectors of some words and of their lower-case forms. Of duplicates, the first counts.

        Args:
            words: Only their vectors take memory.

        Raises:
            DataError: With every broken line of a wanted word.
        """
        sought = [(place, form, word) for form, word in _forms(words).items() for place in self._places(form)]
        rows: dict[str, Vector] = {}
        issues: dict[str, Issue] = {}
        with Path(self._path).open("rb") as stream:
            for place, form, word in sorted(sought):
                stream.seek(self._starts[place])
                key, values = _fields(stream.readline(MAX_LINE_LENGTH))
                if word in rows or word in issues or key != form or _contains_spaces(values, self._head.dimension):
                    continue
                try:
                    rows[word] = _vector(values, self._head.dimension)
                except ValueError as error:
                    issues[word] = _issue(key, error, self._path, self._head.first_line + place)
        if issues:
            raise DataError(issues.values(), fix=FIX)
        return WordVectors(self._head.dimension, rows, self._issues)

    def _places(self, form: bytes) -> list[int]:
        """The lines that may begin with a word, counted from the first vector."""
        hash_of_form = np.uint32(crc32(form))
        start, end = np.searchsorted(self._hashes, hash_of_form), np.searchsorted(self._hashes, hash_of_form, "right")
        return self._order[start:end].tolist()


def read_first(path: str | Path, limit: int, words: Iterable[str] = ()) -> WordVectors:
    """Read the vectors at the beginning of a file, where the frequent words are, and of some words anywhere.

    Of duplicates, the first counts. Words with spaces are skipped; GloVe's largest file has a few.

    Args:
        limit: The number of vectors to keep from the beginning.
        words: Further words to keep, also in lower case.

    Raises:
        DataError: If a line has another dimension than the first or is broken, or the file has no vectors.
    """
    head = read_head(path)
    wanted = _forms(words)
    rows: dict[str, Vector] = {}
    undecodable, repeated, number = 0, 0, head.first_line - 1
    for number, line in _lines(path, head):
        key, values = _fields(line)
        is_whole = values.count(b" ") + 1 == head.dimension
        if not is_whole and (not key or _contains_spaces(values, head.dimension)):
            continue
        if is_whole and len(rows) >= limit and key not in wanted:
            continue
        try:
            row, word = _vector(values, head.dimension), composed(key.decode())
            repeated += word in rows
            rows.setdefault(word, row)
        except UnicodeDecodeError:
            undecodable += 1
        except ValueError as error:
            raise DataError(_issue(key, error, path, number), fix=FIX) from None
    missing = (head.words or 0) - (number + 1 - head.first_line)
    return WordVectors(head.dimension, rows, tuple(_issues(head, missing, undecodable, repeated)))


def _contains_spaces(values: bytes, dimension: int) -> bool:
    """Whether the word contains spaces, and the expected number of values follows."""
    before = values.split(b" ")[:-dimension]
    return bool(before) and before[-1] != b"" and not _is_finite(before[-1])


def _lines(path: str | Path, head: VectorFileHead) -> Iterator[tuple[int, bytes]]:
    with Path(path).open("rb", buffering=BUFFER) as stream:
        stream.seek(head.start)
        yield from enumerate(iter(partial(stream.readline, MAX_LINE_LENGTH), b""), start=head.first_line)


def _forms(words: Iterable[str]) -> dict[bytes, str]:
    """The forms that words may have in a file, also in lower case, NFC and NFD, each with its key in the result."""
    cased = {form for word in words for form in (word, word.lower())}
    normalized = {normalize(form, word) for word in cased if not word.isascii() for form in ("NFC", "NFD")}
    return {word.encode(): composed(word) for word in cased | normalized}


def _fields(line: bytes) -> tuple[bytes, bytes]:
    """The word of a line, and its numbers."""
    word, _, values = line.rstrip(b" \r\n").partition(b" ")
    return word, values


def _vector(values: bytes, dimension: int) -> Vector:
    """The numbers of a word.

    Raises:
        ValueError: With the error, to be appended to the name of the vector.
    """
    fields = values.split(b" ") if values else []
    if len(fields) != dimension:
        raise ValueError(f"has {len(fields)} values, expected {dimension}")
    try:
        numbers = list(map(float, fields)) if b"_" not in values else [math.nan]  # Python accepts 1_000 as a number
    except ValueError:
        numbers = [math.nan]
    with np.errstate(over="ignore"):
        row = np.array(numbers, dtype=np.float32)
    if np.isfinite(row).all():
        return row
    place = next(place for place, field in enumerate(fields) if not _is_finite(field))
    raise ValueError(f"has {_shown(fields[place])} as value {place + 1}, expected a finite number")


def _is_finite(field: bytes) -> bool:
    try:
        with np.errstate(over="ignore"):
            return b"_" not in field and bool(np.isfinite(np.float32(float(field))))
    except ValueError:
        return False


def _shown(field: bytes) -> str:
    text = field[:40].decode("utf-8", "backslashreplace")
    return repr(text + "…" * (len(field) > 40))


def _issue(key: bytes, error: ValueError, path: str | Path, line: int) -> Issue:
    return Issue(f"the vector of {_shown(key)} {error}", str(path), line)


def _issues(head: VectorFileHead, missing: int, undecodable: int, repeated: int = 0) -> Sequence[str]:
    issues = []
    if missing > 0:
        issues.append(
            f"its first line announces {head.words} words, but {missing} are missing: is the file incomplete?"
        )
    if repeated:
        issues.append(f"{repeated} of its words are repeated, perhaps with other vectors: the first vector is used")
    if undecodable:
        issues.append(f"{undecodable} of its words are not UTF-8, so they are never found")
    return issues
