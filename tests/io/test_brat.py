"""Documents of brat: a text and its labels in two files."""

from __future__ import annotations

from pathlib import Path

import pytest

from nersery.cli.options import content_of
from nersery.errors import DataError, SettingsError
from nersery.io import ReadOptions, format_of, open_corpus, read, writer

TEXT = "Ada Lovelace lived in London.\r\n\r\nBabbage 😀 too\r\n"
LABELS = (
    "T1\tPER 0 12\tAda Lovelace\nT2\tLOC 22 28\tLondon\nT3\tPER 33 40\tBabbage\n"
    "R1\tIn Arg1:T1 Arg2:T2\n#1\tNote T1\tx\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_bytes(TEXT.encode())
    (folder / "a.ann").write_text(LABELS, "utf-8")
    return folder


@pytest.mark.parametrize("name", ["a.txt", "a.ann", ""])
def test_a_document_is_read_by_either_name_or_with_its_folder(folder: Path, name: str) -> None:
    (folder / "annotation.conf").write_text("[entities]\n", "utf-8")
    found = read(folder / name)
    assert [(s.id, s.words, s.labels) for s in found] == [
        ("a:1", ("Ada", "Lovelace", "lived", "in", "London", "."), ((0, 2, "PER"), (4, 5, "LOC"))),
        ("a:3", ("Babbage", "😀", "too"), ((0, 1, "PER"),)),
    ]


def test_a_text_without_labels_beside_it_is_text(folder: Path) -> None:
    (folder / "b.txt").write_text("plain, here\n", "utf-8")
    assert [s.id for s in read(folder)] == ["a:1", "a:3", "b:1"]
    assert read(folder / "b.txt")[0].words == ("plain,", "here")
    assert [s.entities for s in read(folder, format="text")] == [()] * 3


def test_both_files_are_its_content(folder: Path) -> None:
    before = content_of(open_corpus(folder / "a.ann"))
    (folder / "a.txt").write_bytes(TEXT.replace("too", "two").encode())
    assert content_of(open_corpus(folder / "a.ann")) != before


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("T9\tX 0 3;4 8\tAda Love", r"a\.ann:6 \(sentence a:1\): X \[0, 8\) is in 2 parts, expected one"),
        ("T9\tX 34 36\tab", r"a\.ann:6 \(sentence a:3\): X \[34, 36\) covers 'ab', a part of 'Babbage'"),
        ("T9\tX 41 42\tB", r"covers '😀', and should cover 'B'"),
        ("T9\tX 0-3\tAda", r"a\.ann:6 \(sentence a\): .*expected e\.g\. T1"),
        ("T9\tX 0 900\tAda", r"does not lie within the 48 characters"),
    ],
)
def test_faults_are_told_by_the_line_of_the_label(folder: Path, line: str, expected: str) -> None:
    with (folder / "a.ann").open("a", encoding="utf-8") as stream:
        stream.write(f"{line}\n")
    with pytest.raises(DataError, match=expected):
        read(folder)
    corpus = open_corpus(folder, ReadOptions(repair=("drop-sentence",)))
    assert len(list(corpus)) < 2
    assert len(corpus.rejects) == 1


def test_a_missing_half_is_told(folder: Path) -> None:
    (folder / "a.txt").unlink()
    with pytest.raises(DataError, match=r"a\.txt: there is no such file"):
        read(folder / "a.ann")


def test_a_blank_document_has_no_sentence(folder: Path) -> None:
    (folder / "a.txt").write_text("\n", "utf-8")
    (folder / "a.ann").write_text("", "utf-8")
    assert not read(folder)


def test_it_is_not_written() -> None:
    with pytest.raises(SettingsError, match=r'"\.ann" names no format'):
        format_of("a.ann")
    with pytest.raises(SettingsError, match="read and not written"):
        writer("brat")
