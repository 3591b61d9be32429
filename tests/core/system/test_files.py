from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from nersery.core.errors import DataError, Issue
from nersery.core.system.files import (
    cache_folder,
    content_hash,
    copy_atomic,
    open_new,
    os_message,
    write_atomic,
    write_json,
    write_output,
    written_beside,
)


class TestWriting:
    def test_replaces_a_file_left_by_a_kill(self, tmp_path: Path):
        for name in ("x", "y"):
            (tmp_path / "x").write_text("left over")
            with open_new(tmp_path / name) as stream:
                stream.write(b"new")
            assert (tmp_path / name).read_bytes() == b"new"

    def test_json_is_for_people_and_programs(self, tmp_path: Path):
        path = tmp_path / "a/b/x.json"
        for content in ({"city": "दिल्ली", "sizes": [1]}, {"city": "Oslo"}):
            write_json(path, content)
            assert json.loads(path.read_text("utf-8")) == content
        write_json(path, {"city": "दिल्ली"})
        assert path.read_text("utf-8") == '{\n "city": "दिल्ली"\n}\n'

    def test_json_is_on_disk_before_it_replaces_a_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """A loss of power must not leave the record of a job empty."""
        done: list[str] = []
        fsync, replace = os.fsync, os.replace

        def logged_fsync(descriptor: int) -> None:
            fsync(descriptor)
            done.append(f"{os.fstat(descriptor).st_size} bytes on disk")

        def logged_replace(source: Path, target: Path) -> None:
            done.append("replaced")
            replace(source, target)

        monkeypatch.setattr(os, "fsync", logged_fsync)
        monkeypatch.setattr(os, "replace", logged_replace)
        write_json(tmp_path / "x.json", [])
        assert done == ["3 bytes on disk", "replaced"]

    def test_a_file_that_is_not_there_is_not_copied(self, tmp_path: Path):
        copy_atomic(tmp_path / "x", tmp_path / "y")
        assert os.listdir(tmp_path) == []


class TestLinks:
    def test_writes_do_not_follow_a_link(self, tmp_path: Path):
        precious = tmp_path / "precious"
        for write in (
            lambda path: write_atomic(path, "new"),
            lambda path: write_output(path, "new"),
            lambda path: copy_atomic(tmp_path / "source", path),
        ):
            (tmp_path / "x.tmp").unlink(missing_ok=True)
            precious.write_text("thesis")
            (tmp_path / "source").write_text("new")
            (tmp_path / "x.tmp").symlink_to(precious)
            write(tmp_path / "x")
            assert (tmp_path / "x").read_text() == "new"
            assert precious.read_text() == "thesis"
            assert not (tmp_path / "x").is_symlink()


@pytest.mark.parametrize(
    "write", [write_atomic, write_output, lambda path, text: copy_atomic(source_of(path, text), path)]
)
def test_a_reader_of_the_old_file_reads_it_to_its_end(write: Callable[[Path, str], None], tmp_path: Path):
    """The new file replaces the old one, so that a kill cannot truncate it."""
    path = tmp_path / "folder/x"
    path.parent.mkdir()
    path.write_text("old")
    with path.open() as reader:
        write(path, "new")
        assert reader.read() == "old"
    assert path.read_text() == "new"
    assert os.listdir(path.parent) == ["x"]


def source_of(path: Path, text: str) -> Path:
    """A file elsewhere with this text."""
    source = path.parent.parent / "source"
    source.write_text(text)
    return source


class TestWrittenBeside:
    def test_removes_only_temporary_files_left_by_a_kill(self, tmp_path: Path):
        left, foreign = tmp_path / f"nersery-{'0' * 16}.tmp", tmp_path / "nersery-notes.tmp"
        left.touch()
        foreign.touch()
        with written_beside(tmp_path / "x") as one, written_beside(tmp_path / "y") as other:
            assert {*tmp_path.iterdir()} == {one, other, foreign}
            assert re.fullmatch(r"nersery-[0-9a-f]{16}\.tmp", one.name)
        assert os.listdir(tmp_path) == [foreign.name]

    @pytest.mark.parametrize("kind", ["file", "folder"])
    def test_removes_what_a_killed_process_had_packed(self, kind: str, tmp_path: Path):
        left, foreign = tmp_path / f"nersery-{'0' * 16}.packed", tmp_path / f"nersery-{'1' * 16}.packed"
        left.with_suffix(".tmp").touch()
        for path in (left, foreign):  # only the first belongs to a temporary file
            path.touch() if kind == "file" else (path / "data").mkdir(parents=True)
        with written_beside(tmp_path / "x"):
            assert not left.exists()
        assert os.listdir(tmp_path) == [foreign.name]

    def test_removes_all_left_files_despite_folders_with_similar_names(self, tmp_path: Path):
        for number in range(8):
            (tmp_path / f"nersery-{number:016}.tmp").touch()
            (tmp_path / f"nersery-a{number:015}.tmp").mkdir()
        with written_beside(tmp_path / "x") as temporary:
            temporary.rename(tmp_path / "x")  # so it is not there to be removed
        assert sorted(os.listdir(tmp_path)) == [*(f"nersery-a{number:015}.tmp" for number in range(8)), "x"]

    @pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
    def test_keeps_what_no_nersery_process_has_left(self, kind: str, tmp_path: Path):
        """Opening a pipe would wait for its other end."""
        (tmp_path / "thesis").write_text("years of work")
        foreign = tmp_path / f"nersery-{'0' * 16}.tmp"
        {"pipe": os.mkfifo, "link": lambda path: path.symlink_to(tmp_path / "thesis"), "folder": os.mkdir}[kind](
            foreign
        )
        with written_beside(tmp_path / "x") as temporary:
            temporary.write_text("done")
        assert os.path.lexists(foreign)
        assert (tmp_path / "thesis").read_text() == "years of work"


class TestContentHash:
    def test_names_and_content_of_a_folder_matter(self, tmp_path: Path):
        digests = set()
        for name, content in (("a", "x"), ("b", "x"), ("a", "y"), ("c/a", "x")):
            folder = tmp_path / f"{len(digests)}"
            (folder / name).parent.mkdir(parents=True)
            (folder / name).write_text(content)
            digests.add(content_hash(folder))
        assert len(digests) == 4
        once, twice = (hashlib.sha256(text).hexdigest() for text in (b"x", b"y"))
        for name, text in (("f/b", "x"), ("f/a/c", "y")):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        assert content_hash(tmp_path / "f") == hashlib.sha256(f"a/c\0{twice}\nb\0{once}\n".encode()).hexdigest()

    def test_a_name_need_not_be_text(self, tmp_path: Path):
        (tmp_path / os.fsdecode(b"a\xff")).write_text("x")
        content = hashlib.sha256(b"x").hexdigest().encode()
        assert content_hash(tmp_path) == hashlib.sha256(b"a\xff\0" + content + b"\n").hexdigest()

    def test_text_and_labels_of_brat_count_together(self, tmp_path: Path):
        (tmp_path / "a.txt").write_text("x")
        alone = content_hash(tmp_path / "a.txt")
        (tmp_path / "a.ann").write_text("y")
        both = " ".join(hashlib.sha256(text).hexdigest() for text in (b"x", b"y"))
        assert alone == hashlib.sha256(b"x").hexdigest()
        for name in ("a.txt", "a.ann"):
            assert content_hash(tmp_path / name) == hashlib.sha256(both.encode()).hexdigest()
        assert content_hash(str(tmp_path / "a.txt")) != alone

    def test_hash_of_a_single_file(self, tmp_path: Path):
        (tmp_path / "0").mkdir()
        (tmp_path / "0" / "a").write_text("x")
        assert content_hash(tmp_path / "0" / "a") == hashlib.sha256(b"x").hexdigest()


def test_an_error_survives_pickling():
    error = DataError([Issue("one", "a.conll", 3), Issue("two\nlines")], fix="mend it")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.issues, again.fix) == (str(error), error.issues, "mend it")


def test_a_name_that_is_too_long_says_what_to_do(tmp_path: Path):
    with pytest.raises(OSError, match="x" * 300) as caught:
        (tmp_path / ("x" * 300)).write_text("")
    assert os_message(caught.value).endswith(": File name too long. Choose a shorter name")


def test_a_folder_that_was_removed_says_what_to_do(tmp_path: Path):
    with pytest.raises(OSError, match="gone") as caught:
        (tmp_path / "gone" / "x").write_text("")
    assert os_message(caught.value).endswith(
        "x: No such file or directory. If it or its folder was removed, repeat the command"
    )


def test_a_folder_in_place_of_a_file_is_named_without_the_temporary_file(tmp_path: Path):
    (tmp_path / "x").mkdir()
    with pytest.raises(OSError, match="Is a directory") as caught:
        write_atomic(tmp_path / "x", "")
    assert os_message(caught.value).endswith(
        f"{tmp_path / 'x'}: Is a directory. A folder has the name of an expected file. Move it, and repeat the command"
    )


def test_a_link_that_leads_back_to_itself_says_what_to_do(tmp_path: Path):
    (tmp_path / "x").symlink_to("x")
    with pytest.raises(OSError, match="symbolic links") as caught:
        (tmp_path / "x").read_bytes()
    assert os_message(caught.value).endswith("Remove the link, and repeat the command")


def test_a_broken_disk_says_what_to_do():
    error = OSError(errno.ESTALE, "Stale file handle", "x.jsonl")
    fix = "Check the disk and its connection, and repeat the command: a long job resumes"
    assert os_message(error) == f"cannot read or write x.jsonl: Stale file handle. {fix}"


def test_too_many_open_files_say_what_to_do():
    too_many = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    expected = "cannot read or write: Too many open files. Allow more (ulimit -n), and repeat the command"
    assert os_message(too_many) == expected


def test_a_relative_cache_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for named, expected in (("relative", "home/.cache"), ("", "home/.cache"), (str(tmp_path / "cache"), "cache")):
        monkeypatch.setenv("XDG_CACHE_HOME", named)
        assert cache_folder() == tmp_path / expected / "nersery"
