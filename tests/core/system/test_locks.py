from __future__ import annotations

import errno
import fcntl
import os
import threading
from pathlib import Path
from typing import IO

import pytest

from nersery.core.errors import SettingsError
from nersery.core.system.locks import lock_when_free, locked


class TestLock:
    def test_locks_again_if_the_file_was_removed_while_opening(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """Another process may remove it, and a third make a new one, between our opening and locking it."""
        flock, file = fcntl.flock, tmp_path / "lock"

        def flock_late(stream: IO[str], how: int) -> None:
            if not getattr(flock_late, "called", False):
                flock_late.called = True  # type: ignore[attr-defined]
                file.unlink()
                file.touch()
            flock(stream, how)

        monkeypatch.setattr(fcntl, "flock", flock_late)
        with locked(tmp_path), file.open("w") as other, pytest.raises(BlockingIOError):
            flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_removes_its_lock_but_not_that_of_the_next(self, tmp_path: Path):
        file = tmp_path / "lock"
        with locked(tmp_path):
            assert file.exists()
        assert not file.exists()
        with locked(tmp_path):
            file.unlink()
            file.write_text("the next one's")
        assert file.read_text() == "the next one's"

    def test_a_lock_that_cannot_be_removed_does_not_hide_the_cause(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(errno.EACCES, "Permission denied", "lock")

        monkeypatch.setattr(Path, "unlink", refuse)
        with pytest.raises(PermissionError, match="output"), locked(tmp_path):
            raise PermissionError(errno.EACCES, "Permission denied", "output")

    @pytest.mark.parametrize("kind", ["link", "file", "folder", "pipe"])
    def test_refuses_and_keeps_what_is_not_a_lock(self, tmp_path: Path, kind: str):
        file, precious = tmp_path / "lock", tmp_path / "precious"
        precious.write_text("thesis")
        make = {
            "link": lambda: file.symlink_to(precious),
            "file": lambda: file.write_text("thesis"),
            "folder": file.mkdir,
            "pipe": lambda: os.mkfifo(file),
        }
        make[kind]()
        with pytest.raises(SettingsError, match="lock has the name of nersery's lock"), locked(tmp_path):
            pass
        assert file.exists()
        assert precious.read_text() == "thesis"
        assert kind != "file" or file.read_text() == "thesis"

    @pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
    def test_a_file_system_without_locks_is_noted(
        self, tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        def flock(stream: IO[str], how: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(fcntl, "flock", flock)
        with locked(tmp_path):
            (tmp_path / "work").touch()
        assert "has no locks" in capsys.readouterr().err
        assert os.listdir(tmp_path) == ["work"]

    def test_refuses_a_folder_locked_by_another_process(self, tmp_path: Path):
        with locked(tmp_path):
            with pytest.raises(SettingsError, match=f"another process is writing {tmp_path}"), locked(tmp_path):
                pytest.fail("it was locked")
            assert os.listdir(tmp_path) == ["lock"]

    def test_raises_any_other_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        def flock(stream: IO[str], how: int) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(fcntl, "flock", flock)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)) as caught, locked(tmp_path):
            pytest.fail("it was locked")
        assert caught.value.filename == str(tmp_path / "lock")

    def test_a_turn_makes_its_folder_again_if_another_one_removes_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """The end of another turn may remove the folder between any two of our calls."""
        folder, is_dir, lstat = tmp_path / "folder", Path.is_dir, Path.lstat
        folder.mkdir()
        moments = {"is_dir", "lstat"}

        def removed_at(moment: str, path: Path) -> None:
            if moment in moments:
                moments.remove(moment)
                path.rmdir()

        def late_is_dir(path: Path) -> bool:
            removed_at("is_dir", path)
            return is_dir(path)

        def late_lstat(path: Path) -> os.stat_result:
            removed_at("lstat", path.parent)
            return lstat(path)

        monkeypatch.setattr(Path, "is_dir", late_is_dir)
        monkeypatch.setattr(Path, "lstat", late_lstat)
        with lock_when_free(folder):
            assert os.listdir(folder) == ["turn"]
        assert not moments
        assert not folder.exists()

    def test_a_turn_refuses_a_file_in_place_of_its_folder(self, tmp_path: Path):
        (tmp_path / "folder").touch()
        with pytest.raises(FileExistsError), lock_when_free(tmp_path / "folder"):
            pytest.fail("it was a file")

    def test_turns_are_taken_one_after_the_other(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
        folder, done = tmp_path / "a/b", list[str]()

        def wait() -> None:
            with lock_when_free(folder):
                done.append("second")

        with lock_when_free(folder):
            assert os.listdir(folder) == ["turn"]
            with locked(folder):  # which has another name
                other = threading.Thread(target=wait)
                other.start()
            other.join(0.05)
            done.append("first")
        other.join(10)
        assert done == ["first", "second"]
        assert f"another process is working in {folder}; waiting for it" in capsys.readouterr().err
        assert os.listdir(tmp_path / "a") == []
