"""Names of files, the errors of full disks, and what may be removed or replaced."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nersery.core.errors import SettingsError
from nersery.core.system.files import (
    cache_folder,
    files_of,
    is_missing,
    naming_the_file,
    os_errors,
    remove_folder,
    unfinished_path,
)
from nersery.core.system.folders import check_replaceable, real_folder, replace_folder, replaced_folder

StopAfter = Callable[..., contextlib.AbstractContextManager[None]]


@pytest.fixture
def stop_after(monkeypatch: pytest.MonkeyPatch) -> StopAfter:
    """A context that stops after so many moves of files and folders, by an error or by a kill."""
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


class TestNames:
    def test_files_of_brat_documents(self, tmp_path: Path):
        text, labels = tmp_path / "a.txt", tmp_path / "a.ann"
        text.write_text("Oslo")
        assert files_of(text) == [text]
        assert files_of(labels) == [text, labels]
        labels.write_text("T1\tLOC 0 4\tOslo\n")
        assert files_of(text) == [text, labels]
        for other in ("a", "a.conll"):
            assert files_of(tmp_path / other) == [tmp_path / other]

    def test_name_of_unfinished_output(self):
        assert unfinished_path(Path("a/b.conll")) == Path("a/b.conll.part")

    def test_cache_folder(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("HOME", "/home/ada")
        monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
        assert cache_folder() == Path("/cache/nersery")
        for unset in (lambda: monkeypatch.setenv("XDG_CACHE_HOME", ""), lambda: monkeypatch.delenv("XDG_CACHE_HOME")):
            unset()
            assert cache_folder() == Path("/home/ada/.cache/nersery")

    @pytest.mark.skipif(os.name == "nt", reason="Windows asks no table of users")
    def test_refuses_a_cache_without_a_home_folder(self, monkeypatch: pytest.MonkeyPatch):
        for name in ("HOME", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("os.getuid", lambda: 2**31 - 7)
        with pytest.raises(SettingsError, match=r"no home folder.*XDG_CACHE_HOME"):
            cache_folder()

    def test_real_folder_resolves_links_and_relative_names(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        (tmp_path / "real/deep").mkdir(parents=True)
        (tmp_path / "link").symlink_to("real")
        assert real_folder(tmp_path / "link") == tmp_path / "real"
        assert real_folder(Path("somewhere/x")) == Path("somewhere/x")
        monkeypatch.chdir(tmp_path / "real/deep")
        assert real_folder(Path()) == tmp_path / "real/deep"
        assert real_folder(Path("..")) == tmp_path / "real"


class TestFullDisk:
    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ESTALE])
    def test_the_file_is_named(self, number: int):
        with pytest.raises(OSError, match="x/y") as caught, naming_the_file(Path("x/y")):
            raise OSError(number, os.strerror(number))
        assert (caught.value.errno, caught.value.filename) == (number, "x/y")

    def test_keeps_other_errors_and_file_names(self):
        for error in (OSError(errno.ECONNRESET, "broken"), OSError(errno.ENOSPC, "full", "other"), ValueError("odd")):
            with pytest.raises(type(error)) as caught, naming_the_file(Path("x")):
                raise error
            assert caught.value is error
            assert getattr(error, "filename", None) == ("other" if "full" in str(error) else None)

    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.ENOENT])
    def test_converts_library_errors_to_os_errors(self, number: int):
        error = Exception(f"Error while serializing: I/O error: {os.strerror(number)} (os error {number})")
        with pytest.raises(OSError, match="x/weights") as caught, os_errors(Path("x/weights")):
            raise error
        assert (caught.value.errno, caught.value.strerror) == (number, os.strerror(number))
        assert (caught.value.filename, caught.value.__cause__) == ("x/weights", error)

    def test_keeps_errors_that_are_not_from_the_system(self):
        for error in (Exception("header too large"), OSError(errno.EIO, "broken (os error 28)")):
            with pytest.raises(type(error)) as caught, os_errors(Path("x")):
                raise error
            assert caught.value is error


class TestRemoval:
    def test_keeps_the_part_of_missing_output_but_not_of_finished_output(self, tmp_path: Path):
        (tmp_path / "x.part").mkdir()
        assert is_missing(tmp_path / "x")
        assert os.listdir(tmp_path) == ["x.part"], "it may be resumed"
        (tmp_path / "x").touch()
        for _ in range(2):
            assert not is_missing(tmp_path / "x")
        assert os.listdir(tmp_path) == ["x"]

    def test_removes_a_folder_after_an_earlier_removal_was_killed(self, tmp_path: Path):
        for name in ("x/a/b", "x.part/c"):
            (tmp_path / name).mkdir(parents=True)
        remove_folder(tmp_path / "x")
        assert os.listdir(tmp_path) == []
        remove_folder(tmp_path / "x")

    def test_a_partly_removed_folder_never_has_its_name(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        (tmp_path / "x").mkdir()
        monkeypatch.setattr("shutil.rmtree", lambda path, ignore_errors=False: seen.append(path))
        seen: list[Path] = []
        remove_folder(tmp_path / "x")
        assert (os.listdir(tmp_path), seen[-1]) == (["x.part"], tmp_path / "x.part")


class TestReplaceable:
    def check(self, folder: Path, *, force: bool = True) -> None:
        check_replaceable(folder, "mark.json", "dataset", ["mark.json", "*.jsonl"], force=force)

    def test_accepts_a_new_folder_and_with_force_one_of_ours(self, tmp_path: Path):
        self.check(tmp_path / "x", force=False)
        folder = tmp_path / "x"
        folder.mkdir()
        self.check(folder)
        for name in ("mark.json", "train.jsonl"):
            (folder / name).touch()
        self.check(folder)
        with pytest.raises(SettingsError, match=r"x exists already\. Choose another folder, or overwrite"):
            self.check(folder, force=False)

    def test_refuses_a_file(self, tmp_path: Path):
        (tmp_path / "x").touch()
        with pytest.raises(SettingsError, match="x is a file, expected the folder to write the dataset to"):
            self.check(tmp_path / "x")

    def test_refuses_other_folders_even_with_force(self, tmp_path: Path):
        (tmp_path / "train.jsonl").touch()
        with pytest.raises(SettingsError, match="holds no dataset, so even force=True does not overwrite it"):
            self.check(tmp_path)

    def test_refuses_a_folder_with_files_of_others(self, tmp_path: Path):
        for name in ("mark.json", "thesis.tex", *"fedcba"):
            (tmp_path / name).touch()
        with pytest.raises(SettingsError, match="holds a, b, c, d, e, which is not part of the dataset and would be"):
            self.check(tmp_path)

    @pytest.mark.parametrize("name", [".", "..", "../link"])
    def test_refuses_the_current_folder_and_its_parents(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        (tmp_path / "here").mkdir()
        (tmp_path / "link").symlink_to(".")
        monkeypatch.chdir(tmp_path / "here")
        with pytest.raises(SettingsError, match="is the current folder, which the dataset would replace"):
            self.check(Path(name))


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
        """Replaces it with a new folder, in either way."""

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
    def test_keeps_the_old_folder_if_a_move_fails(
        self, moves: int, error: type[BaseException], folder: Path, replace: Callable[[], None], stop_after: StopAfter
    ):
        with stop_after(moves, error), pytest.raises(error):
            replace()
        assert os.listdir(folder) == ["old"]
        assert not list(folder.parent.glob("x.*"))

    @pytest.mark.parametrize(("moves", "there"), [(0, "old"), (1, "old"), (2, "new")])
    def test_restores_the_last_complete_folder_after_a_kill(
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

    def test_two_at_once_do_not_interfere(self, folder: Path):
        with replaced_folder(folder) as one:
            (one / "one").touch()
            with replaced_folder(folder) as other:
                (other / "other").touch()
            assert os.listdir(folder) == ["other"]
        assert os.listdir(folder) == ["one"]
        assert os.listdir(folder.parent) == ["x"]

    def test_replaces_the_target_of_a_link(self, folder: Path, replace: Callable[[], None]):
        real = folder.with_name("real")
        folder.rename(real)
        folder.symlink_to(real)
        replace()
        assert folder.is_symlink()
        assert os.listdir(real) == ["new"]

    def test_creates_missing_parents_of_a_new_folder(self, tmp_path: Path):
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

    def test_keeps_a_user_folder_with_a_similar_name(self, folder: Path):
        (folder.parent / "x.part-20240101").mkdir()
        (folder.parent / "x.part-20240101/thesis.tex").touch()
        with replaced_folder(folder):
            pass
        assert os.listdir(folder.parent / "x.part-20240101") == ["thesis.tex"]

    def test_a_parent_that_may_be_written_to_but_not_read(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        def refusing(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
            def listed(path: Any) -> Any:
                if path == folder.parent:
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
                return original(path)

            return listed

        for name in ("listdir", "scandir"):
            monkeypatch.setattr(os, name, refusing(getattr(os, name)))
        with replaced_folder(folder) as new:
            (new / "new").touch()
        assert os.listdir(folder) == ["new"]
