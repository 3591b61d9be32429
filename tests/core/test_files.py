from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import pickle
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nersery.core.errors import DataError, Issue
from nersery.core.files import (
    cache_folder,
    content_hash,
    copy_atomic,
    differences,
    open_new,
    replace_folder,
    replaced_folder,
    write_atomic,
    write_json,
    write_output,
    written_beside,
)

StopAfter = Callable[..., contextlib.AbstractContextManager[None]]


@pytest.fixture
def stop_after(monkeypatch: pytest.MonkeyPatch) -> StopAfter:
    """Within it, all stops after so many files and folders have moved: by an error, or the process is killed."""
    original = os.replace

    @contextlib.contextmanager
    def stopping(moves: int, error: type[BaseException] | None = None) -> Iterator[None]:
        left = moves

        def replace(source: Path, target: Path) -> None:
            nonlocal left
            left -= 1
            if left == -1 and error is not None:
                raise error
            if left == -1:
                os.kill(os.getpid(), signal.SIGKILL)
            original(source, target)

        with monkeypatch.context() as patch:
            patch.setattr("os.replace", replace)
            yield

    return stopping


class TestWriting:
    def test_what_a_kill_has_left_is_replaced(self, tmp_path: Path):
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

    def test_a_file_that_is_not_there_is_not_copied(self, tmp_path: Path):
        copy_atomic(tmp_path / "x", tmp_path / "y")
        assert os.listdir(tmp_path) == []


class TestLinks:
    def test_nothing_is_written_through_one(self, tmp_path: Path):
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
    """The new file takes the place of the old one, whose content a kill so cannot cut."""
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
    def test_what_a_kill_has_left_is_removed_and_what_is_being_written_stays(self, tmp_path: Path):
        left, foreign = tmp_path / f"nersery-{'0' * 16}.tmp", tmp_path / "nersery-notes.tmp"
        left.touch()
        foreign.touch()
        with written_beside(tmp_path / "x") as one, written_beside(tmp_path / "y") as other:
            assert {*tmp_path.iterdir()} == {one, other, foreign}
            assert re.fullmatch(r"nersery-[0-9a-f]{16}\.tmp", one.name)
        assert os.listdir(tmp_path) == [foreign.name]

    def test_everything_that_is_left_is_removed_whatever_else_is_called_alike(self, tmp_path: Path):
        for number in range(8):
            (tmp_path / f"nersery-{number:016}.tmp").touch()
            (tmp_path / f"nersery-a{number:015}.tmp").mkdir()
        with written_beside(tmp_path / "x") as temporary:
            temporary.rename(tmp_path / "x")  # so it is not there to be removed
        assert sorted(os.listdir(tmp_path)) == [*(f"nersery-a{number:015}.tmp" for number in range(8)), "x"]

    @pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
    def test_what_no_process_of_ours_has_left_stays(self, kind: str, tmp_path: Path):
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


class Stopped(BaseException):
    """What Ctrl-C looks like to the code in a process."""


class TestReplacedFolder:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """A folder that is to be replaced."""
        (tmp_path / "x").mkdir()
        (tmp_path / "x/old").touch()
        return tmp_path / "x"

    @pytest.fixture(params=["made", "finished"])
    def replace(self, request: pytest.FixtureRequest, folder: Path) -> Callable[[], None]:
        """Puts a new one in its place, by either way."""

        def made() -> None:
            with replaced_folder(folder) as new:
                (new / "new").touch()

        def finished() -> None:
            new = folder.with_name("y")
            new.mkdir()
            (new / "new").touch()
            replace_folder(new, folder)

        return made if request.param == "made" else finished

    @pytest.mark.parametrize("error", [OSError, Stopped])
    @pytest.mark.parametrize("moves", [0, 1])
    def test_what_goes_wrong_while_folders_move_leaves_the_old_one(
        self, moves: int, error: type[BaseException], folder: Path, replace: Callable[[], None], stop_after: StopAfter
    ):
        with stop_after(moves, error), pytest.raises(error):
            replace()
        assert os.listdir(folder) == ["old"]
        assert not list(folder.parent.glob("x.*"))

    @pytest.mark.parametrize(("moves", "there"), [(0, "old"), (1, "old"), (2, "new")])
    def test_after_a_kill_the_next_call_finds_the_last_whole_one(
        self, moves: int, there: str, folder: Path, replace: Callable[[], None], stop_after: StopAfter
    ):
        if (child := os.fork()) == 0:
            with stop_after(moves):
                replace()
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        with pytest.raises(Stopped), replaced_folder(folder):
            raise Stopped
        assert os.listdir(folder) == [there]
        assert not list(folder.parent.glob("x.*"))

    def test_two_at_once_leave_each_other_alone(self, folder: Path):
        with replaced_folder(folder) as one:
            (one / "one").touch()
            with replaced_folder(folder) as other:
                (other / "other").touch()
            assert os.listdir(folder) == ["other"]
        assert os.listdir(folder) == ["one"]
        assert os.listdir(folder.parent) == ["x"]

    def test_one_behind_a_link_is_replaced_there(self, folder: Path, replace: Callable[[], None]):
        real = folder.with_name("real")
        folder.rename(real)
        folder.symlink_to(real)
        replace()
        assert folder.is_symlink()
        assert os.listdir(real) == ["new"]

    def test_the_first_one_gets_its_folders(self, tmp_path: Path):
        with replaced_folder(tmp_path / "a/b") as new:
            assert new.is_dir()
            (new / "x").touch()
            assert not (tmp_path / "a/b").exists()
        assert os.listdir(tmp_path / "a") == ["b"]
        assert os.listdir(tmp_path / "a/b") == ["x"]

    def test_a_full_disk_names_the_folder(self, folder: Path):
        with pytest.raises(OSError, match="/x'") as caught, replaced_folder(folder):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        assert caught.value.filename == str(folder)

    def test_a_folder_of_the_user_s_that_is_called_alike_stays(self, folder: Path):
        (folder.parent / "x.part-20240101").mkdir()
        (folder.parent / "x.part-20240101/thesis.tex").touch()
        with replaced_folder(folder):
            pass
        assert os.listdir(folder.parent / "x.part-20240101") == ["thesis.tex"]


class TestContent:
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

    def test_of_one_file(self, tmp_path: Path):
        (tmp_path / "0").mkdir()
        (tmp_path / "0" / "a").write_text("x")
        assert content_hash(tmp_path / "0" / "a") == hashlib.sha256(b"x").hexdigest()


def test_differences_name_what_only_one_side_has():
    assert differences({"a": None, "b": {"c": 1}}, {"b": {"c": 1, "d": [2]}}) == (
        "  a: was None, now nothing\n  b.d: was nothing, now [2]"
    )


def test_differences_are_told_by_their_whole_name_and_in_order():
    old = {"b": {"d": {"e": 1, "f": 2}}, "a": 0, "c": {"x": 1}, "same": {"x": [1]}}
    new = {"b": {"d": {"e": 2, "f": 2}}, "a": "0", "c": 1, "same": {"x": [1]}}
    assert differences(old, new).splitlines() == [
        "  a: was 0, now '0'",
        "  b.d.e: was 1, now 2",
        "  c: was {'x': 1}, now 1",
    ]
    assert differences(new, new) == ""


def test_an_error_of_another_process_reads_as_it_did_there():
    error = DataError([Issue("one", "a.conll", 3), Issue("two\nlines")], fix="mend it")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.issues, again.fix) == (str(error), error.issues, "mend it")


def test_a_relative_cache_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for named, expected in (("relative", "home/.cache"), ("", "home/.cache"), (str(tmp_path / "cache"), "cache")):
        monkeypatch.setenv("XDG_CACHE_HOME", named)
        assert cache_folder() == tmp_path / expected / "nersery"


def test_a_long_value_is_cut_where_settings_differ() -> None:
    line = differences({"systems": list(range(100))}, {})
    assert line.startswith("  systems: was [0, 1, 2,")
    assert line.endswith(" …, now nothing")
    assert len(line) < 160
