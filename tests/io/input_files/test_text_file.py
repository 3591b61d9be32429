"""Errors for files that cannot be read as text."""

from __future__ import annotations

import errno
import io
import os
import pickle
import zlib
from pathlib import Path

import pytest

from nersery.core.errors import DataError
from nersery.core.wording import command_line
from nersery.io import read
from nersery.io.input_files import text_file as module
from nersery.io.input_files.text_file import TextFile


def issues(path: Path, encoding: str = "utf-8") -> tuple[list[tuple[str, str | None, int | None]], str]:
    with pytest.raises(DataError) as caught:
        list(TextFile(path, encoding).lines())
    return [(one.message, one.file, one.line) for one in caught.value.issues], caught.value.fix


def naming(encoding: str) -> str:
    iconv = {"latin-1": "iso8859-1"}.get(encoding, encoding.replace("-le", "le").replace("-be", "be"))
    fix = f"name the encoding that the file was written in, e.g. --encoding {encoding}"
    return f"{fix}, or convert the file: iconv -f {iconv} -t utf-8 OLD > NEW"


def test_a_folder_and_a_link_to_itself(tmp_path: Path) -> None:
    assert issues(tmp_path) == ([("this is a folder, expected a file", str(tmp_path), None)], "name a file in it")
    (tmp_path / "x").symlink_to("x")
    assert issues(tmp_path / "x") == (
        [("cannot be read: Too many levels of symbolic links", str(tmp_path / "x"), None)],
        "Remove the link, and repeat the command",
    )


def test_reports_a_missing_file_and_suggests_a_similar_name(tmp_path: Path) -> None:
    (tmp_path / "train.conll").touch()
    (tmp_path / "trian.conllu").touch()
    path = tmp_path / "trian.conll"
    assert issues(path) == ([("there is no such file", str(path), None)], "did you mean trian.conllu?")
    assert issues(tmp_path / "x")[1] == "check the name and the folder"
    assert issues(Path("Ada lives here"))[1].endswith("; to use text in memory, give Corpus.from_texts([text])")
    assert issues(tmp_path / "x/y")[1] == "check the name and the folder"
    (tmp_path / "odd.txt").touch()
    (tmp_path / "news.txt.part").touch()
    for unlike in ("nope.txt", "news.txt"):  # only the extension is equal, and a .part file is never suggested
        assert issues(tmp_path / unlike)[1] == "check the name and the folder"


@pytest.mark.parametrize(
    ("name", "message", "fix"),
    [
        ("https://example.org/a.conll", "this is an address, expected a file", "download it, and name that file"),
        ("s3://bucket/a.conll", "this is an address, expected a file", "download it, and name that file"),
        ("file:///tmp/a.conll", "this is an address, expected a file", "leave out file://"),
        ("C:/a.conll", "there is no such file", "check the name and the folder"),
        (
            "~/a.conll",
            "there is no such file",
            "~ does not stand for a home folder here: write that folder's whole name",
        ),
    ],
)
def test_refuses_addresses_and_a_tilde_as_names(
    name: str, message: str, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as caught:
        read(name)
    assert ([(one.message, one.file) for one in caught.value.issues], caught.value.fix) == ([(message, name)], fix)
    Path(name).parent.mkdir(parents=True)
    Path(name).write_text("Ada\tB-PER\n")
    assert len(read(name)) == 1, "a folder may have any name"


@pytest.mark.parametrize("is_folder", [True, False])
def test_reports_a_path_without_permission(
    is_folder: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # simulated, because root may enter any folder
    def refuse(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file" if is_folder else "is_fifo", refuse)
    path = tmp_path if is_folder else tmp_path / "x.conll"
    with pytest.raises(DataError, match=f"{path}: cannot be read: Permission denied\nFix: allow to read it, or name"):
        read(path)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_bytes_of_another_encoding_are_named_with_their_lines(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a\rb\nc\xe9\nd\n\xff\n")
    found, fix = issues(path, encoding)
    assert found == [
        (f"the byte 0xe9 is not {encoding}", str(path), 2),
        (f"the byte 0xff is not {encoding}", str(path), 4),
    ]
    assert fix == naming("latin-1")


def test_suggests_cp1252_for_bytes_that_latin_1_reads_as_controls(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes("Zoë O’Brien".encode("cp1252"))
    assert issues(path) == ([("the byte 0x92 is not utf-8", str(path), 1)], naming("cp1252"))
    path.write_bytes(b"\x81")
    for encoding in ("utf-8", "cp1252"):
        assert issues(path, encoding)[1] == naming("latin-1"), "cp1252 has no such byte"


def test_reports_text_that_only_another_encoding_can_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("b\u00e9", "utf-8")
    assert issues(path, "ascii")[0] == [("the byte 0xc3 is not ascii", str(path), 1)]
    path.write_bytes(b"PK\x03\x04\xff")
    assert issues(path) == ([("this is compressed (zip)", str(path), None)], "unpack it first")
    path.write_text("Ada\n")
    assert issues(path, "utf-16")[1].endswith("--encoding utf-8")


@pytest.mark.parametrize(
    ("content", "message", "fix"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\n", "this is PDF", "extract its text"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "this is a picture", "recognize its text"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "this is a picture", "recognize its text"),
        (b"SQLite format 3\0\x10\0\xff", "this is an SQLite database", "export the table"),
        (pickle.dumps([("Ada", "B-PER")]), "this is a pickle of Python objects", "save them as JSONL"),
        (b"7z\xbc\xaf'\x1c\0\x04", "this is compressed (7z)", "unpack it first"),
        (b"Rar!\x1a\x07\x01\0\xff", "this is compressed (rar)", "unpack it first"),
        (
            zlib.compress(b"DocBin"),
            "this is compressed (zlib), perhaps spaCy's DocBin",
            "read it as such: --format spacy",
        ),
        (b"GIF89a\x01\0\x80", "this is a picture", "recognize its text"),
        (
            b"PK\x03\x04\xff" + b"\0" * 25 + b"[Content_Types].xml",
            "this is a Word, Excel or other Office document",
            "save it as plain text, a table as CSV",
        ),
        (b"PK\x03\x04\xff" + b"\0" * 25 + b"keyword/train.conll", "this is compressed (zip)", "unpack it first"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            "this is a Word, Excel or other Office document",
            "save it as plain text",
        ),
    ],
)
def test_documents_of_other_programs_are_named(tmp_path: Path, content: bytes, message: str, fix: str) -> None:
    (tmp_path / "x").write_bytes(content)
    found, advice = issues(tmp_path / "x")
    assert (len(found), found[0][0].startswith(message), advice.startswith(fix)) == (1, True, True), (found, advice)


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.parquet", "a.spacy"])
def test_refuses_a_git_lfs_pointer(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n")
    with pytest.raises(DataError, match=r"pointer of Git LFS.*\nFix: download it: git lfs pull"):
        read(tmp_path / name)


@pytest.mark.parametrize("text", ["Ada lives here\nZoë lives in Köln\n", "वह कल दिल्ली गई थी और आज लौटी ।\n" * 9])
@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        *[("utf-16-le", "utf-8"), ("utf-16-be", "utf-16"), ("utf-16-be", "gbk")],
        *[("utf-32-le", "utf-8"), ("utf-32-be", "utf-8"), ("utf-32-le", "utf-16")],
    ],
)
def test_reports_utf_16_and_utf_32_without_a_byte_order_mark(
    tmp_path: Path, text: str, written: str, read_as: str
) -> None:
    path = tmp_path / "x.txt"
    path.write_text(text, written)
    assert issues(path, read_as) == ([(f"this seems to be {written}", str(path), None)], naming(written))
    assert "".join(TextFile(path, written).lines()) == text


@pytest.mark.parametrize("read_as", ["utf-8", "latin-1", "gb18030"])
@pytest.mark.parametrize("written", ["utf-16-le", "utf-16-be"])
def test_recognises_chinese_utf_16_by_its_line_ends(tmp_path: Path, written: str, read_as: str) -> None:
    """Only they have nulls. With few of them, the error for another encoding still suggests the right one."""
    path, line = tmp_path / "a.txt", "我们在北京大学学习自然语言处理的方法"
    path.write_bytes(f"{line * 50}\n".encode(written) * 4)
    assert issues(path, read_as)[0][0][0] == f"this seems to be {written}"
    path.write_bytes(f"{line}\n".encode(written))
    if read_as == "utf-8":
        assert f"--encoding {written}" in issues(path, read_as)[1]


def test_does_not_take_nulls_in_a_damaged_file_for_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for encoding in ("utf-8", "latin-1"):
        path.write_bytes("Zoë saw him there, and he had not seen her then\n\0".encode(encoding) * 9)
        assert len([*TextFile(path, encoding).lines()]) == 10


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_detects_the_encoding_by_the_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    """One option applies to all files of a command, such as both sides of parallel text."""
    path = tmp_path / "x"
    path.write_text("Zoë\n北京\n", encoding)
    for named in ("utf-8", "utf-16", "cp1252"):
        assert [*TextFile(path, named).lines()] == ["Zoë\n", "北京\n"]
    path.write_bytes(path.read_bytes() + b"\xff")
    assert issues(path, "cp1252")[1].startswith(("write these lines in utf-8", "copy the file again"))


def test_reports_a_link_to_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to("y")
    assert issues(tmp_path / "x") == (
        [("this is a link to y, which is missing", str(tmp_path / "x"), None)],
        "correct the link",
    )


def test_reports_a_file_that_is_cut_off_within_a_character(tmp_path: Path) -> None:
    path = tmp_path / "x"
    cut = [("the file ends within a character", str(path), 3)]
    path.write_bytes("Zoë\n\nKö".encode()[:-1])
    assert issues(path) == (cut, "copy the file again")
    path.write_bytes("Ada\n\ncafé".encode("latin-1"))
    assert issues(path)[0] == cut
    assert issues(path)[1].startswith("copy the file again if it is cut off, or name the encoding")
    path.write_bytes("Zoë".encode("utf-16")[:-1])
    assert issues(path, "utf-16")[1] == "copy the file again"


def test_only_so_many_lines_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\xe9\n\xe9\n")
    monkeypatch.setattr("nersery.io.input_files.text_file.MAX_LINES", 1)
    assert issues(path)[0] == [("the byte 0xe9 is not utf-8", str(path), 1)]
    path.write_bytes(b"a\n\xe9\n")
    assert issues(path)[0] == [("the bytes are not utf-8", str(path), None)]


def test_only_so_many_lines_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\xe9\n" * 3 + b"\x92\n")
    monkeypatch.setattr("nersery.io.input_files.text_file.MAX_BAD_LINES", 1)
    assert issues(path) == (
        [("the byte 0xe9 is not utf-8", str(path), 1), ("3 more lines have such bytes", str(path), None)],
        naming("cp1252"),
    )


def test_strips_one_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"):
        path.write_bytes(
            "\ufeffa\n\ufeffb\n".encode(encoding.removesuffix("-sig") if encoding != "utf-16" else "utf-16-le")
        )
        file = TextFile(path, encoding)
        assert (list(file.lines()), file.read()) == (["a\n", "\ufeffb\n"], "a\n\ufeffb\n")
        assert (file.name, file.stem) == (str(path), "x")


def test_a_file_from_standard_input_can_be_read_by_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as this process has the file, because it removes the copy."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\n")))
    file = TextFile("-")
    again = pickle.loads(pickle.dumps(file))
    assert (again.name, again.stem, list(again.lines())) == ("<stdin>", "stdin", ["a\n", "b\n"])
    assert vars(again) == {name: value for name, value in vars(file).items() if name != "_folder"}
    del again
    assert list(file.lines()) == ["a\n", "b\n"]


def test_reports_a_full_disk_when_copying_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\n")))
    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*nersery-.*spool'"):
        TextFile("-")


def test_a_name_need_not_be_text() -> None:
    """With ? for each byte, the files of a folder would have the same ids."""
    assert TextFile(os.fsdecode(b"a\xffb.txt")).stem == r"a\xffb"


def test_ids_are_the_same_in_each_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsencode", lambda name: name.encode("ascii", "surrogateescape"))
    assert TextFile("ü.txt".encode().decode("ascii", "surrogateescape")).stem == "ü"


def test_limits_the_skipped_end_of_a_truncated_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nersery.io.input_files.text_file.MAX_LINE_LENGTH", 6)
    path = tmp_path / "x"
    path.write_text("a\nabcdefghi\nabcdefghi\n", "utf-8")
    assert list(TextFile(path).beginnings(3)) == ["a\n", "abcd", "abcd"]  # six characters more each
    path.write_text("a\nabcdefghi\nabcdefghij\n", "utf-8")
    with pytest.raises(DataError, match="the line has more than 6 characters") as caught:
        list(TextFile(path).beginnings(3))
    assert [one.line for one in caught.value.issues] == [3]


def test_truncates_long_lines_and_reports_overlong_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_text("ab\nabcdef\nabc", "utf-8")
    assert list(TextFile(path).beginnings(3)) == ["ab\n", "abcd", "abc"]
    monkeypatch.setattr("nersery.io.input_files.text_file.MAX_LINE_LENGTH", 7)
    assert list(TextFile(path).lines()) == ["ab\n", "abcdef\n", "abc"]
    monkeypatch.setattr("nersery.io.input_files.text_file.MAX_LINE_LENGTH", 6)
    assert issues(path) == (
        [("the line has more than 6 characters", str(path), 2)],
        "check that this is a file of text; put each sentence on a line of its own",
    )
    monkeypatch.setattr("nersery.io.input_files.text_file.MAX_IN_MEMORY", 13)
    assert TextFile(path).read() == "ab\nabcdef\nabc"
    monkeypatch.setattr("nersery.io.input_files.text_file.MAX_IN_MEMORY", 12)
    with pytest.raises(DataError, match=f"{path}: the text has more than 12 characters, .*\\nFix: split it into"):
        TextFile(path).read()


def test_changes_an_endless_sentence_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TOGETHER", 2)
    asked: list[str] = []
    lines = (asked.append("a") or "a" for _ in range(9))  # type: ignore[func-returns-value]
    assert next(module.with_changed_words(str.isalpha, list, lines)) == "a"
    assert len(asked) == 2


def test_commands_say_that_an_encoding_holds_for_all_files(tmp_path: Path) -> None:
    """Otherwise the advice for raw text garbles the labelled sentences beside it, which are in UTF-8."""
    (tmp_path / "x.txt").write_bytes("Zoë\n".encode("cp1252") * 9)
    with command_line():
        assert ", e.g. --encoding latin-1 (for all files), or convert the file: " in issues(tmp_path / "x.txt")[1]


@pytest.mark.parametrize(
    ("text", "encoding", "is_noted"),
    [
        ("Zoë\nJosé".encode(), "cp1252", True),
        ("Zoë\nJosé\n".encode() + "é".encode("cp1252") * 3, "latin-1", True),
        ("Zoë\nJosé\n".encode(), "utf-8", False),
        (b"Zoe\n", "cp1252", False),
        ("Zoë\nJosé\n".encode("cp1252"), "cp1252", False),
        ("Zoë\n北京\n".encode("utf-16"), "utf-16", False),
    ],
)
def test_utf_8_that_is_read_as_something_else_is_noted(
    text: bytes, encoding: str, is_noted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(text)
    assert len(read(path, encoding=encoding))
    note = capsys.readouterr().err
    assert ("x.txt has lines in UTF-8" in note) is is_noted
    iconv = {"latin-1": "iso8859-1"}.get(encoding, encoding)
    assert (f"convert those (iconv -f {iconv} -t utf-8 OLD > NEW), and leave out `encoding`" in note) is is_noted


@pytest.mark.parametrize(
    ("written", "fix"), [("utf-8", "leave out --encoding: this file is UTF-8"), ("cp1252", "--encoding cp1252 if")]
)
@pytest.mark.parametrize("in_folder", [False, True])
def test_does_not_suggest_deleting_letters_that_latin_1_misreads(
    written: str, fix: str, in_folder: bool, tmp_path: Path
) -> None:
    """The same holds for UTF-8: of two files that --encoding applies to, one may be in it."""
    path = tmp_path / "x.txt"
    path.write_bytes("“Zoë” saw José\n".encode(written))
    path = tmp_path if in_folder else path
    with pytest.raises(DataError, match="control character") as caught:
        read(path, encoding="latin-1")
    assert caught.value.fix.split(": ", 1)[1].startswith(fix)


def test_a_long_text_that_begins_like_an_array_is_not_read_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_IN_MEMORY", 20)
    for beginning in ("[Music]", "[{Music}]"):
        (tmp_path / "x.txt").write_text(f"{beginning} Ada saw Oslo .\n" * 3)
        assert len(read(tmp_path / "x.txt")) == 3


def test_suggests_correcting_a_file_of_two_encodings(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes("Zoë\nJosé\n".encode() + "O’Brien".encode("cp1252"))
    found, fix = issues(path)
    assert [line for *_, line in found] == [3]
    assert fix == "write these lines in utf-8 like the others; --encoding cp1252 would garble the others"
