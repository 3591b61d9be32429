"""Documents of brat: a text and its labels in two files."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from time import process_time

import pytest

from nersery.core.errors import DataError, SettingsError
from nersery.core.warnings import collected_notes
from nersery.io import ReadOptions, format_of, open_corpus, read
from nersery.io.annotation_tools.brat import LEFT_OUT
from nersery.io.input_files.same_file import refuse_same_file

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


def test_refuses_a_text_without_labels_among_annotated_ones(folder: Path) -> None:
    (folder / "b.txt").write_text("plain, here\n", "utf-8")
    for options in ({}, {"format": "brat"}):
        with pytest.raises(DataError, match=r'b\.txt: there is no b\.ann .*: make an empty one if .*format="text"'):
            read(folder, **options)
    assert read(folder / "b.txt")[0].words == ("plain", ",", "here")
    assert [s.entities for s in read(folder, format="text")] == [()] * 3
    (folder / "b.ann").touch()
    assert [s.words for s in read(folder)][2:] == [("plain", ",", "here")]


def test_fingerprint_covers_both_files(folder: Path) -> None:
    before = open_corpus(folder / "a.ann").fingerprint()
    (folder / "a.txt").write_bytes(TEXT.replace("too", "two").encode())
    assert open_corpus(folder / "a.ann").fingerprint() != before


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("T9\tX 0 3;4 8\tAda Love", r"a\.ann:6 \(sentence a:1\): X \[0, 8\) is in 2 parts, expected one"),
        ("T9\tX 34 36\tab", r"a\.ann:6 \(sentence a:3\): X \[34, 36\) covers 'ab', a part of 'Babbage'"),
        ("T9\tX 41 42\tB", r"covers '😀', but should cover 'B'"),
        ("T9\tX 0-3\tAda", r"a\.ann:6 \(sentence a\): .*expected e\.g\. T1"),
        (f"T9\tX 0 {'9' * 5000}\tAda", r"a\.ann:6 \(sentence a\): .*expected e\.g\. T1"),
        ("T9\tX 0 900\tAda", r"does not lie within the 48 characters"),
    ],
)
def test_reports_issues_with_the_line_of_the_label(folder: Path, line: str, expected: str) -> None:
    with (folder / "a.ann").open("a", encoding="utf-8") as stream:
        stream.write(f"{line}\n")
    with pytest.raises(DataError, match=expected):
        read(folder)
    corpus = open_corpus(folder, ReadOptions(repair=("drop-sentence",)))
    assert 0 < len(list(corpus)) + len(corpus.rejects) <= 2
    assert corpus.rejects


def test_does_not_read_event_triggers_as_entities(folder: Path) -> None:
    with (folder / "a.ann").open("a", encoding="utf-8") as stream:
        stream.write("T9\tLive 13 18\tlived\nE1\tLive:T9 Who:T1\n")
    with collected_notes() as notes:
        assert read(folder)[0].labels == ((0, 2, "PER"), (4, 5, "LOC"))
    assert [note.partition(":")[2] for note in notes] == [f" {LEFT_OUT.format(1)}"]
    lines = (folder / "a.ann").read_text("utf-8").splitlines(keepends=True)
    (folder / "a.ann").write_text("".join(line for line in lines if not line.startswith("E")), "utf-8")
    assert read(folder)[0].labels == ((0, 2, "PER"), (2, 3, "Live"), (4, 5, "LOC"))


def test_reports_an_ann_file_of_another_kind(folder: Path) -> None:
    (folder / "a.ann").write_text("notes on the text\n", "utf-8")
    with pytest.raises(DataError, match=r'a\.ann:1 .*expected e\.g\. T1(.|\n)*format="text"'):
        read(folder / "a.txt")
    assert len(read(folder / "a.txt", format="text")) == 2
    (folder / "a.txt").write_text("Ada B-PER\n", "utf-8")
    assert read(folder / "a.txt", word_column=1)[0].labels == ((0, 1, "PER"),)


def test_neither_half_is_overwritten(folder: Path) -> None:
    for name, other in (("a.ann", "a.txt"), ("a.txt", "a.ann")):
        with pytest.raises(SettingsError, match="is an input and would be overwritten"):
            refuse_same_file(folder / other, str(folder / name))


def test_reading_time_grows_linearly_with_the_document(tmp_path: Path) -> None:
    lines = [f"line {number} is of Ada Lovelace 😀" for number in range(2000)]
    (tmp_path / "a.txt").write_text("\n".join(lines), "utf-8")
    ends = accumulate(len(line) + 1 for line in lines)
    labels = (f"T{n}\tPER {end - 15} {end - 3}\tAda Lovelace" for n, end in enumerate(ends))
    (tmp_path / "a.ann").write_text("\n".join(labels), "utf-8")
    began = process_time()
    assert sum(len(s.entities) for s in read(tmp_path / "a.ann")) == 2000
    assert process_time() - began < 3, "quadratic it took a quarter of a minute"


def test_refuses_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (folder / "a.txt").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        with pytest.raises(SettingsError, match="keeps a document in two files"):
            open_corpus("-", ReadOptions(format="brat"))


@pytest.mark.parametrize(("half", "other"), [("a.txt", "a.ann"), ("a.ann", "a.txt")])
def test_reports_a_missing_half(folder: Path, half: str, other: str) -> None:
    (folder / other).unlink()
    with pytest.raises(DataError, match=rf"{half}: {other}, the other file of .*\nFix: copy it there"):
        read(folder / half, format="brat")
    with pytest.raises(DataError, match="there is no such file"):
        read(folder / "b.ann")


def test_a_blank_document_has_no_sentence(folder: Path) -> None:
    (folder / "a.txt").write_text("\n", "utf-8")
    (folder / "a.ann").write_text("", "utf-8")
    assert not read(folder)


def test_does_not_write_ann_files() -> None:
    with pytest.raises(SettingsError, match=r'"\.ann" names no format'):
        format_of("a.ann")


@pytest.mark.parametrize("text", ["", "\n"])
def test_labels_of_a_blank_text_are_an_error(folder: Path, text: str) -> None:
    (folder / "a.txt").write_text(text, "utf-8")
    with pytest.raises(DataError, match=rf"a\.ann:1 .*does not lie within the {len(text)} characters of its text"):
        read(folder)
    (folder / "a.ann").write_text("T1\tLive 0 0\t\nE1\tLive:T1\n", "utf-8")
    assert not read(folder), "a trigger of an event is no label"


@pytest.mark.parametrize("shift", [0, 1])
def test_a_byte_order_mark_may_count_as_a_character(tmp_path: Path, shift: int) -> None:
    (tmp_path / "a.txt").write_text("Ada saw Oslo", "utf-8-sig")
    (tmp_path / "a.ann").write_text(
        f"T1\tPER {shift} {3 + shift}\tAda\nT2\tLOC {8 + shift} {12 + shift}\tOslo\n", "utf-8"
    )
    [sentence] = read(tmp_path / "a.ann")
    assert sentence.labels == ((0, 1, "PER"), (2, 3, "LOC"))


def test_chinese_is_read_by_characters(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("特朗普指出：他在北京工作很多年。\n", "utf-8")
    (tmp_path / "a.ann").write_text("T1\tPER 0 3\t特朗普\n", "utf-8")
    assert read(tmp_path / "a.ann")[0].labels == ((0, 3, "PER"),)


def test_suggests_characters_for_a_label_within_a_chinese_phrase(tmp_path: Path) -> None:
    """Covering the whole word would be wrong, because the word is a phrase."""
    (tmp_path / "a.txt").write_text("特朗普指出：他在北京工作很多年。\n", "utf-8")
    (tmp_path / "a.ann").write_text("T1\tPER 0 3\t特朗普\n", "utf-8")
    with pytest.raises(DataError, match=r'Fix: correct the file, or .*: split="characters"'):
        read(tmp_path / "a.ann", split="signs")


def test_documents_of_one_folder_are_split_alike(tmp_path: Path) -> None:
    """A short document of Lao or Burmese does not show by itself that its words are not separate."""
    for name, text in (("a", "ທະນາຄານແຫ່ງຊາດຕັ້ງຢູ່ໃນນະຄອນຫຼວງວຽງຈັນ"), ("b", "ຢູ່ ວຽງຈັນ ລາວ"), ("c", "a b-c")):
        (tmp_path / f"{name}.txt").write_text(text, "utf-8")
        (tmp_path / f"{name}.ann").touch()
    assert [sentence.words for sentence in read(tmp_path)][1:] == [
        ("ຢູ່", "ວ", "ຽ", "ງ", "ຈັ", "ນ", "ລ", "າ", "ວ"),
        ("a", "b", "-", "c"),
    ]
    assert [len(sentence) for sentence in read(tmp_path, split="signs")] == [1, 3, 4]
