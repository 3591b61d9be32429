"""Opening and writing files: formats, encodings, and everything that can be wrong with a file itself."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nersery.core.errors import DataError, SettingsError
from nersery.core.sentence import Entity, Sentence
from nersery.io import ReadOptions, format_of, open_corpus, open_text, read, write, writer

CONLL = "Ada\tB-PER\nwrote\tO\n"
SENTENCE = Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),), "1")
RAW = Sentence(("Ada", "wrote"))


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.conll", CONLL, "conll"),
        ("a.IOB2", CONLL, "conll"),
        ("a.tsv", CONLL, "conll"),
        ("a.jsonl", '{"words": ["a"]}', "jsonl"),
        ("a.txt", "Ada wrote the first program .\nNobody did before .\n", "text"),
        ("a.txt", "one\ntwo\n", "text"),
        ("a.txt", "", "text"),
        ("a.txt", CONLL, "conll"),
        ("a.txt", "Ada B-PER\nwrote O\n\nthe -X\nend O\n" * 9, "conll"),
        ("a.txt", '{"words": ["a"]}\n', "jsonl"),
        ("a.train", CONLL, "conll"),
        ("a.train", '{"words": ["a"]}\n', "jsonl"),
        ("train", "Ada wrote\n", "text"),
        ("train", "a b c\n" * 20 + "a O\n" * 20, "text"),
    ],
)
def test_the_format_is_recognised(tmp_path: Path, name: str, text: str, format: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    assert open_corpus(path).description.partition(",")[0] == format


MIXED = "Ada B-PER\nwrote O\nx\ny\n\nIn O\nOslo B-LOC\n"
BARE = "Ada PER\nLovelace PER\nwrote O\nin O\nOslo LOC\n. O\n"


def test_asks_for_the_format_of_text_with_some_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(MIXED, "utf-8")
    for open_ in (open_corpus, open_text):
        with pytest.raises(
            DataError, match=r'a\.txt: some lines are a word and its tag.*\n.*format="conll" .*format="text"'
        ):
            open_(path)
    assert len(read(path, format="text")) == 6
    with pytest.raises(DataError, match=r":3 .*number of columns is 1, expected 2"):
        read(path, format="conll")


@pytest.mark.parametrize(
    ("text", "options", "found"),
    [
        (BARE, {"repair": ("bare-type",), "scheme": "IOB2"}, [(0, 2, "PER"), (4, 5, "LOC")]),
        (BARE, {"repair": ("bare-type",)}, [(0, 2, "PER"), (4, 5, "LOC")]),
        (MIXED.replace("x\ny", "saw\tO"), {"repair": ("ragged-lines",)}, [(0, 1, "PER")]),
        (MIXED.replace("x\ny", "x _ O\ny _ O"), {"repair": ("ragged-lines",)}, [(0, 1, "PER")]),
    ],
)
def test_options_about_tags_mean_columns(
    tmp_path: Path, text: str, options: dict[str, Any], found: list[tuple[int, int, str]]
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text, "utf-8")
    assert list(read(path, **options)[0].labels) == found


@pytest.mark.parametrize("options", [{}, {"scheme": "IOB2"}, {"repair": ("bare-type", "drop-sentence")}])
@pytest.mark.parametrize(
    "text",
    [
        "Ada took the U-Bahn to work .\nShe wrote an E-Mail .\nBo did not .\n",
        "Type O\nType A\nType B-\nNone\n",
        "O menino come maçã\nEla canta bem hoje\nO gato dorme muito\nNós vamos para o Rio\nE-Mail é bom\nSim\nNão\n",
        "- Yes .\n- No .\n- O captain !\nSilence\n",
        "I-95 is closed\nTake I-94 instead\nB-52 O\nGo\n",
        "",
        "\n\n",
    ],
)
def test_prose_is_text_whatever_the_options(tmp_path: Path, text: str, options: dict[str, Any]) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text, "utf-8")
    assert open_corpus(path, ReadOptions(**options)).description.startswith("text")


def test_a_file_of_some_other_format_is_not_taken_for_text(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{\n  "words": ["a"]\n}\n')
    for open_ in (open_corpus, open_text):
        with pytest.raises(DataError, match=r"JSON on several lines.*\n.*: format="):
            open_(path)
    assert len(read(path, format="text")) == 3


def test_suggests_pandas_for_a_spreadsheet(tmp_path: Path) -> None:
    path = tmp_path / "reviews.XLSX"
    path.write_bytes(b"PK\x03\x04\xff\x00")
    for opened in (open_corpus, open_text):
        with pytest.raises(DataError, match=r"this is a table") as caught:
            opened(path)
        assert f'Corpus.from_pandas(pandas.read_excel("{path}", keep_default_na=False))' in caught.value.fix


def test_a_csv_file_may_hold_columns_or_raw_text(tmp_path: Path) -> None:
    (tmp_path / "columns.csv").write_text(CONLL)
    assert read(tmp_path / "columns.csv")[0].labels == ((0, 1, "PER"),)
    (tmp_path / "reviews.csv").write_text("id,review\n0,Ada wrote\n")
    for opened in (open_corpus, open_text):
        with pytest.raises(DataError, match="save only that column, one sentence per line"):
            opened(tmp_path / "reviews.csv")


def test_a_file_of_an_unknown_format_may_be_opened_as_text(tmp_path: Path) -> None:
    path = tmp_path / "corpus.de"
    path.write_text("Ada schrieb .\nBo kam .\n", "utf-8")
    with pytest.raises(DataError, match=r'extension "\.de"'):
        open_corpus(path)
    source = open_text(path)
    assert source.description.startswith("text")
    assert [sentence.words for sentence in source] == [("Ada", "schrieb", "."), ("Bo", "kam", ".")]
    path.write_text(CONLL)
    assert open_text(path).description.startswith("conll")
    with pytest.raises(DataError, match="there is no such file"):
        open_text(tmp_path / "none.de")
    path.write_text("Ada schrieb .\n", "utf-8")
    with pytest.raises(DataError):
        list(open_text(path, ReadOptions(format="conll")))


def test_a_named_column_means_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x y B-PER\n")
    assert open_corpus(path, ReadOptions(word_column=2)).description.endswith("word 2, tag 3")


def test_reads_each_line_of_text_as_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffa\u00a0b  c\r\n\n \u3000\nd\u2028e \u200b f\n".encode())
    assert [(s.id, s.words, s.language) for s in read(path, language="en")] == [
        ("a:1", ("a", "b", "c"), "en"),
        ("a:4", ("d", "e", "\u200b", "f"), "en"),
    ]
    assert [writer("text").encode(s) for s in read(path)] == ["a b c\n", "d e \u200b f\n"]


def test_reports_or_rejects_text_that_cannot_be_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\rtwo\n+2AA-\nthree\n")
    options = ReadOptions(format="text", encoding="utf-7")
    with pytest.raises(DataError) as caught:
        list(open_corpus(path, options))
    issues = caught.value.issues
    assert [(issue.line, issue.message[:28]) for issue in issues] == [
        (1, "there is a carriage return i"),
        (2, "a word holds the lone surrog"),
    ]
    assert "tr '\\r' '\\n'" in caught.value.fix
    source = open_corpus(path, replace(options, repair=("drop-sentence",)))
    assert [sentence.words for sentence in source] == [("three",)]
    assert [reject.sentence and reject.sentence.words for reject in source.rejects] == [("one", "two"), ("?",)]


@pytest.mark.parametrize("name", ["a.conll", "a.txt", "a.jsonl"])
def test_reports_lines_with_invalid_bytes_and_suggests_an_encoding(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes("a O\n\nJosé B-PER\n\nb O\n\né O\n".encode("latin-1"))
    with pytest.raises(DataError) as caught:
        read(path, format="conll")
    assert [(issue.line, issue.message) for issue in caught.value.issues] == [
        (3, "the byte 0xe9 is not utf-8"),
        (7, "the byte 0xe9 is not utf-8"),
    ]
    assert "--encoding latin-1" in caught.value.fix
    assert read(path, format="conll", encoding="latin-1")[1].words == ("José",)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_reports_compressed_files(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "a.conll").write_bytes(pack(CONLL.encode() * 99))
    with pytest.raises(DataError, match="this is compressed") as caught:
        read(tmp_path / "a.conll")
    assert caught.value.fix == "unpack it first"
    with pytest.raises(DataError, match="this is compressed"):
        read(tmp_path / "a.conll", encoding="latin-1")
    (tmp_path / "a.conll").write_bytes("PKW O\nfährt O\nNürnberg B-LOC\n".encode("latin-1"))
    with pytest.raises(DataError, match='encoding="latin-1"'):
        read(tmp_path / "a.conll")


def test_reads_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    for name in ("utf-16", "utf-32"):
        path.write_bytes(CONLL.replace("Ada", "आदा").encode(name))
        for encoding in ("utf-8", name):
            assert read(path, encoding=encoding)[0].words == ("आदा", "wrote")
    path.write_bytes(f"\ufeff{CONLL}".encode("utf-16-le"))
    assert [read(path, encoding=name)[0].words for name in ("utf-16", "utf-16-le")] == [("Ada", "wrote")] * 2
    path.write_bytes(b"\xff\xfea")
    with pytest.raises(DataError, match=r"ends within a character\nFix: copy the file again$"):
        read(path, encoding="utf-16")


def test_reports_missing_files(tmp_path: Path) -> None:
    (tmp_path / "train.conll").write_text(CONLL)
    with pytest.raises(DataError, match=r"trian.conll: there is no such file\nFix: did you mean train\.conll"):
        read(tmp_path / "trian.conll")
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "nowhere" / "train.conll")
    for format in ("conll", "jsonl", "text"):
        with pytest.raises(DataError, match="no such file"):
            open_corpus(tmp_path / "none", ReadOptions(format=format))


def test_standard_input_is_read_as_often_as_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONLL.encode())))
    source = open_corpus("-")
    assert source.description == "conll, IOB2, 2 columns: word 1, tag 2"
    assert [s.id for s in source] == [s.id for s in source] == ["stdin:1"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a I-X\n\nb B-X\n")))
    with pytest.raises(DataError, match=r"<stdin>:1 \(sentence stdin:1\)"):
        read("-")


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_reports_arrow_instead_of_a_wrong_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "data-00000-of-00001.arrow"
    path.write_bytes(b"\xff\xff\xff\xff\x10\x01\x00\x00")
    with pytest.raises(DataError, match=r"this is Arrow\nFix: .*from_file\('.*\.arrow'\)\.to_parquet") as caught:
        read(path, encoding=encoding)
    assert "encoding" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_read_as_often_as_needed(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    thread = threading.Thread(target=path.write_text, args=(CONLL,))
    thread.start()
    source = open_corpus(path)
    thread.join()
    assert list(source) == list(source) != []


def test_wrong_options_are_all_reported_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        ReadOptions(
            format="conl", encoding="utf8x", repair=("underscor",), word_column=0, scheme="IOB3", language="\udce9"
        )
    assert [line.split(";")[0] for line in str(caught.value).split("\n")] == [
        'there is no repair "underscor"',
        'there is no input format "conl"',
        r"language is '\udce9', expected a BCP 47 tag such as en or hi",
        'there is no encoding "utf8x"',
        "word_column is 0, expected 1 or more: the first column is 1",
        'there is no tag scheme "IOB3"',
    ]
    with pytest.raises(SettingsError, match="both 2"):
        ReadOptions(word_column=2, tag_column=2)


@pytest.mark.parametrize("language", ["hindi", "English", "h", "en-", "en_US"])
def test_a_language_is_a_tag_and_not_a_name(language: str) -> None:
    with pytest.raises(SettingsError, match=r"language is '.*', expected a BCP 47 tag such as en or hi"):
        ReadOptions(language=language)
    assert [ReadOptions(language=tag).language for tag in ("swa", "zh-Hant")] == ["swa", "zh-Hant"]


def test_a_single_repair_may_be_given_as_a_string() -> None:
    assert ReadOptions(repair="underscore").repair == ("underscore",)  # type: ignore[arg-type]


def test_formats_by_extension() -> None:
    assert [format_of(f"x/a{end}") for end in (".conll", ".tsv", ".jsonl", ".TXT")] == [
        "conll",
        "conll",
        "jsonl",
        "text",
    ]
    with pytest.raises(
        SettingsError,
        match=r'".json" names no format, expected one of (?!.*\.(csv|parquet))\.conll.* For another format',
    ):
        format_of("a.json")
    with pytest.raises(SettingsError, match='no output format "doccano"; did you mean "spans"'):
        writer("doccano")
    with pytest.raises(SettingsError, match='no output format "xml"'):
        writer("xml")
    with pytest.raises(SettingsError, match="expected a tab or a space"):
        writer("conll", separator=",")


def test_writing_replaces_a_file_completely_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    assert write([SENTENCE], path) == 1

    def breaks() -> Iterator[Sentence]:
        yield SENTENCE
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(breaks(), path)
    with pytest.raises(DataError):
        write([SENTENCE, Sentence(("x",), columns=(("y",),))], path)
    assert path.read_text() == CONLL + "\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.conll"]
    write([SENTENCE], path, scheme="BIOES", separator=" ")
    assert path.read_text() == "Ada S-PER\nwrote O\n\n"


@pytest.mark.parametrize("name", ["a.jsonl", "a.conll", "a.txt"])
def test_refuses_to_write_duplicate_ids(tmp_path: Path, name: str) -> None:
    twice, path = [Sentence(("Ada",), id="x"), Sentence(("Bo",), id="x")], tmp_path / name
    if name != "a.jsonl":  # its files have no ids
        assert write(twice, path) == len(read(path)) == 2
        return
    with pytest.raises(DataError, match="sentence x: another sentence has the same id"):
        write(twice, path)
    assert not path.exists()
    assert write([Sentence(("Ada",)), Sentence(("Bo",))], path) == len(read(path)) == 2


def test_no_other_file_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = ("a.txt.tmp", "nersery-taken.tmp", "nersery-not-hex-sixteen!.tmp")
    for name in others:
        (tmp_path / name).write_text("precious")
    write([RAW], tmp_path / "a.txt")
    assert (tmp_path / "a.txt.tmp").read_text() == "precious"
    monkeypatch.setattr(secrets, "token_hex", lambda _: "taken")
    with pytest.raises(FileExistsError):
        write([RAW], tmp_path / "a.txt")
    assert [(tmp_path / name).read_text() for name in others] == ["precious"] * 3


def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    assert write([RAW], tmp_path / "new" / "folder" / "a.txt") == 1
    assert (tmp_path / "new" / "folder" / "a.txt").read_text() == f"{SENTENCE.text}\n"


def test_a_full_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left on device"):
        write([RAW], tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []


def test_unknown_options_of_reading_get_a_suggestion(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text("Ada B-PER\n")
    with pytest.raises(SettingsError) as caught:
        read(tmp_path / "a.conll", sheme="IOB2", colour="red")
    first, second = str(caught.value).splitlines()
    assert first.startswith('there is no option "sheme"; did you mean "scheme"? Known: format, ')
    assert second.startswith('there is no option "colour"; ')


def test_suggests_cp1252_for_control_characters_in_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_bytes("O’Brien B-PER\nwrote O\n".encode("cp1252"))
    with pytest.raises(DataError, match=r'e\.g\. encoding="cp1252", or convert'):
        read(path)
    with pytest.raises(DataError, match=r': encoding="cp1252" .*; repair="control-characters"'):
        read(path, encoding="latin-1")
    assert read(path, encoding="cp1252")[0].words == ("O’Brien", "wrote")
    for content, encoding in ((b"a\x81 O\n", "latin-1"), (b"a\x07 O\n", "latin-1"), (b"a\xc2\x92 O\n", "utf-8")):
        path.write_bytes(content)
        with pytest.raises(DataError, match='repair="control-characters"') as caught:
            read(path, encoding=encoding)
        assert "cp1252" not in caught.value.fix


@pytest.mark.parametrize(
    ("name", "text", "wrong", "right"),
    [
        ("a.conll", CONLL, "jsonl", "conll"),
        ("a.conll", CONLL, "gliner", "conll"),
        ("a.jsonl", '{"words": ["a"], "tags": ["O"]}\n', "conll", "jsonl"),
        ("a.jsonl", '{"text": "Ada wrote", "label": [[0, 3, "PER"]]}\n', "jsonl", "spans"),
    ],
)
def test_a_wrong_format_gets_the_right_one_suggested(
    tmp_path: Path, name: str, text: str, wrong: str, right: str
) -> None:
    (tmp_path / name).write_text(text)
    for path in (tmp_path / name, tmp_path):
        with pytest.raises(DataError) as error:
            list(open_corpus(path, ReadOptions(format=wrong)))
        assert str(error.value).endswith(f"\nFix: the file seems to be {right}: leave out `format`")


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a.conll", "Ada\tB-PER\nwrote\tI-X\n", "conll"),
        ("a.conll", "Ada\tB-PER\nwrote\tI-X\n", "jsonl"),  # which conll cannot read either
        ("a.txt", "Ada wrote\nmuch\n", "jsonl"),
        ("a.csv", "word,tag\nAda,B-PER\nmet,O\n", "jsonl"),
    ],
)
def test_does_not_suggest_a_format_that_may_be_wrong(tmp_path: Path, name: str, text: str, format: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as error:
        list(open_corpus(tmp_path / name, ReadOptions(format=format)))
    assert "leave out" not in str(error.value)
