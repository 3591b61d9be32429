from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pytest

from nersery.core.errors import DataError
from nersery.models.embeddings import word_vectors
from nersery.models.embeddings.word_vectors import VectorFileHead, VectorIndex, WordVectors, read_first, read_head

FILE = (
    b"3 2\nParis 1 0.5\n\xe0\xa4\xa6\xe0\xa4\xbf\xe0\xa4\xb2\xe0\xa5\x8d\xe0\xa4\xb2\xe0\xa5\x80 -2e-1 3 \noslo 0 4\n"
)
BIG = """
import resource, sys, tracemalloc
import numpy
from nersery.models.embeddings.word_vectors import VectorIndex
tracemalloc.start()
words = [f"word{number}" for number in range(0, 20_000, 200)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = VectorIndex(sys.argv[1]).read(words)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(found.rows), tracemalloc.get_traced_memory()[1], after - before)
"""


def write(folder: Path, content: bytes) -> Path:
    path = folder / "words.vec"
    path.write_bytes(content)
    return path


def read_vectors(path: Path, words: Iterable[str]) -> WordVectors:
    return VectorIndex(path).read(words)


def rows(path: Path, *words: str) -> dict[str, list[float]]:
    return {word: row.tolist() for word, row in read_vectors(path, words).rows.items()}


def test_reads_only_the_requested_words(tmp_path: Path) -> None:
    path = write(tmp_path, FILE)
    assert read_head(path) == VectorFileHead(2, 3, 4)
    assert rows(path, "Paris", "दिल्ली", "Rom") == {"Paris": [1, 0.5], "दिल्ली": [np.float32(-0.2), 3]}
    assert read_vectors(path, ["Paris"]).rows["Paris"].dtype == np.float32


@pytest.mark.parametrize(
    "content",
    [
        FILE.partition(b"\n")[2],
        b"\xef\xbb\xbf" + FILE,
        b"\xef\xbb\xbf" + FILE.partition(b"\n")[2],
        FILE.replace(b"\n", b"\r\n"),
        FILE.rstrip(b"\n"),
        FILE + b"\n\n",
    ],
    ids=["no header", "mark", "mark, no header", "carriage returns", "no last line break", "blank lines"],
)
def test_accepts_variants_of_the_file_format(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path, content)
    assert rows(path, "Paris", "oslo") == {"Paris": [1, 0.5], "oslo": [0, 4]}
    assert read_vectors(path, ["Paris"]).issues == ()


def test_looks_up_words_as_they_are_then_in_lower_case(tmp_path: Path) -> None:
    path = write(tmp_path, "Bonn 1 0\nbonn 0 1\nπάος 1 1\n".encode())
    found = read_vectors(path, ["Bonn", "BONN", "ΠΆΟΣ", "Rom"])
    assert [None if row is None else row.tolist() for row in map(found.get, ["Bonn", "BONN", "ΠΆΟΣ", "Rom"])] == [
        [1, 0],
        [0, 1],
        [1, 1],
        None,
    ]


@pytest.mark.parametrize("there", ["NFC", "NFD"])
@pytest.mark.parametrize("asked", ["NFC", "NFD"])
def test_finds_words_in_another_unicode_form(tmp_path: Path, there: str, asked: str) -> None:
    path = write(tmp_path, f"{normalize(there, 'café')} 1 2\nx 3 4\n".encode())
    word = normalize(asked, "Café")
    for found in (read_vectors(path, [word]), read_first(path, 0, [word]), read_first(path, 9)):
        assert found.get(word) is not None, (there, asked)
        assert found.get(word).tolist() == [1, 2]


@pytest.mark.parametrize("check", [None, lambda key: len(key) % 2])
def test_the_first_line_of_a_word_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: Any) -> None:
    """Also if many words have the same checksum."""
    if check:
        monkeypatch.setattr(word_vectors, "crc32", check)
    twice = f"caf{normalize('NFD', 'é')} 5 6\ncafé 7 8\nx 1 2\nx 3 4\nweiß 9 9".encode()
    for content in (FILE + twice, (FILE.partition(b"\n")[2] + twice).replace(b"\n", b"\r\n")):
        index = VectorIndex(write(tmp_path, content))
        for words, expected in (
            (["Paris", "OSLO", "none"], {"Paris": [1, 0.5], "oslo": [0, 4]}),
            (["Café", "x"], {"café": [5, 6], "x": [1, 2]}),
            (["weiß"], {"weiß": [9, 9]}),
            ([], {}),
        ):
            found = index.read(words)
            assert {word: row.tolist() for word, row in found.rows.items()} == expected
            assert found.dimension == 2


def test_an_index_reports_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    index = VectorIndex(write(tmp_path, b"9 2\na 1 2\nb 1\nb 2 3\n\xff 1 2\nc\n"))
    assert len(index.read(["a"]).issues) == 2
    with pytest.raises(DataError, match="values, expected 2") as error:
        index.read(["c", "a", "b"])
    assert [issue.line for issue in error.value.issues] == [3, 6]
    with pytest.raises(DataError, match=r"words\.vec:2: the line is longer than"):
        VectorIndex(write(tmp_path, b"a 1 2\n" + b"x" * (word_vectors.MAX_LINE_LENGTH + 1)))


def test_the_mean_of_known_words_has_length_one(tmp_path: Path) -> None:
    found = read_vectors(write(tmp_path, b"a 3 0\nb 0 4\nc -3 0\n"), "abcx")
    assert found.mean(["a", "b", "x"]).tolist() == [np.float32(0.6), np.float32(0.8)]
    assert found.mean(["x"]).tolist() == [0, 0]
    assert found.mean(["a", "c"]).tolist() == [0, 0]
    assert found.mean(["x"]).dtype == np.float32


def test_only_spaces_separate_fields(tmp_path: Path) -> None:
    path = write(tmp_path, "New\u00a0York 1 2\na\u2028b 3 4\nc\x0bd 5 6\ne\x85f 7 8\n".encode())
    assert rows(path, "New\u00a0York", "a\u2028b", "c\x0bd", "e\x85f", "New") == {
        "New\u00a0York": [1, 2],
        "a\u2028b": [3, 4],
        "c\x0bd": [5, 6],
        "e\x85f": [7, 8],
    }


def test_reports_repeated_words_and_tabs(tmp_path: Path) -> None:
    found = read_first(write(tmp_path, b"a 1 2\na 3 4\nb 1 1\n"), 9)
    assert found.rows["a"].tolist() == [1, 2]
    assert found.issues == ("1 of its words are repeated, perhaps with other vectors: the first vector is used",)
    with pytest.raises(DataError, match=r"words\.vec:1: there is a tab in the first vector") as error:
        read_head(write(tmp_path, b"a\t1\t2\n"))
    assert "tr '\\t' ' '" in str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"b 1", "has 1 values, expected 2"),
        (b"b 1 2 3", "has 3 values, expected 2"),
        (b"b  1 2", "has 3 values, expected 2"),
        (b"b\r", "has 0 values, expected 2"),
        (b"b", "has 0 values, expected 2"),
        (b"b ", "has 0 values, expected 2"),
        (b"b 1 x", "has 'x' as value 2, expected a finite number"),
        (b"b 1_0 2", "has '1_0' as value 1"),
        (b"b 1 nan", "has 'nan' as value 2"),
        (b"b -inf 2", "has '-inf' as value 1"),
        (b"b 1 1e39", "has '1e39' as value 2"),
        (b"b 1 \xff\xfe", r"has '\\xff\\xfe' as value 2"),
        (b"b 1 \xd9\xa1", "as value 2, expected a finite number"),
        (b"b 1 " + b"9" * 3000, "…' as value 2"),
    ],
)
def test_reports_a_malformed_line_of_a_requested_word(tmp_path: Path, line: bytes, message: str) -> None:
    path = write(tmp_path, b"4 2\na 1 2\n" + line + b"\nc 3 4\nb 7 7\n")
    with pytest.raises(DataError) as error:
        read_vectors(path, ["b", "c", "none"])
    (issue,) = error.value.issues
    assert (issue.file, issue.line) == (str(path), 3)
    assert message in issue.message
    assert "'b'" in issue.message
    assert len(str(error.value)) < 600
    assert error.value.fix


@pytest.mark.parametrize(
    ("lines", "words", "expected"),
    [
        (b"a 1 2\nb 1 1\na 3 4\na broken\na\nz 0 0\n", ["a", "none"], {"a": [1, 2]}),
        (b"the 1 2\nNew York 3 4\nnew 5 6\n", ["New"], {"new": [5, 6]}),
        (b"a 1 2\nb 1\nc nan x\nd\n e\nf 3 4\n", ["a", "f"], {"a": [1, 2], "f": [3, 4]}),
    ],
    ids=["repeated", "with spaces", "broken"],
)
def test_lines_of_other_words_do_not_matter(
    lines: bytes, words: list[str], expected: dict[str, list[int]], tmp_path: Path
) -> None:
    assert rows(write(tmp_path, lines), *words) == expected


def test_reports_all_malformed_lines_of_requested_words(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        read_vectors(write(tmp_path, b"a 1 2\nb 1\nc 1 2\nd x y\n"), "abcd")
    assert [issue.line for issue in error.value.issues] == [2, 4]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", 1),
        (b"\n", 1),
        (b"3 2\n", 2),
        (b"3 2\n\nParis 1 2\n", 2),
        (b"3 2\nParis 1 2 3\n", 2),
        (b"3 0\nParis\n", 2),
        (b"Paris\n", 1),
        (b"Paris\t1\t2\n", 1),
        (b"the file of vectors\n", 1),
        (b"\x1f\x8b\x08\x00 \x12\xff\n\x00", 1),
        (b"3 2\nParis \x00\x01\x02\x03\n\x04\x05", 2),
        (b"\0" * (word_vectors.MAX_LINE_LENGTH + 9), 1),
    ],
)
def test_refuses_files_without_vectors_by_their_head(tmp_path: Path, content: bytes, line: int) -> None:
    path = write(tmp_path, content)
    for read in (read_head, lambda path: read_vectors(path, ["none"])):
        with pytest.raises(DataError, match="expected") as error:
            read(path)
        assert (error.value.issues[0].file, error.value.issues[0].line) == (str(path), line)
        assert len(str(error.value)) < 600


def test_refuses_a_file_that_a_download_filled_with_zeros(tmp_path: Path) -> None:
    path = write(tmp_path, b"a 1 2\nb 3 4\n" + b"\0" * (3 * word_vectors.MAX_LINE_LENGTH))
    with pytest.raises(DataError, match=r"words\.vec:3: the line is longer than"):
        read_vectors(path, ["c"])


def test_reports_a_file_that_ends_too_early(tmp_path: Path) -> None:
    path = write(tmp_path, b"9 2\na 1 2\nb 3 4\n")
    (issue,) = read_vectors(path, ["a", "c"]).issues
    assert "announces 9 words, but 7 are missing" in issue


def test_reports_words_that_are_not_utf_8(tmp_path: Path) -> None:
    path = write(tmp_path, "a 1 2\ngroß 3 4\nweiß 3 4\nb 5 6\n".encode("latin-1"))
    found = read_vectors(path, ["b", "groß"])
    assert set(found.rows) == {"b"}
    assert found.issues == ("2 of its words are not UTF-8, so they are never found",)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "big.vec"
    values = b" 0.1234" * 300 + b"\n"
    with path.open("wb") as stream:
        for start in range(0, 20_000, 1000):
            stream.write(b"".join(b"word%d%s" % (number, values) for number in range(start, start + 1000)))
    size = path.stat().st_size
    assert size > 40e6
    answer = subprocess.run([sys.executable, "-c", BIG, str(path)], capture_output=True, text=True, check=True)
    found, traced, grown_kilobytes = map(int, answer.stdout.split())
    assert found == 100
    assert traced < 4e6
    assert grown_kilobytes * 1024 < 12e6
