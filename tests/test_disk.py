from __future__ import annotations

import fcntl
import hashlib
import pickle
from pathlib import Path
from typing import IO

import pytest

from nersery.disk import content_hash, differences, locked
from nersery.errors import DataError, Problem


class TestLock:
    def test_a_lock_that_was_removed_while_it_was_opened_keeps_nobody_out(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
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

    def test_it_leaves_nothing_but_the_lock_of_the_next(self, tmp_path: Path):
        file = tmp_path / "lock"
        with locked(tmp_path):
            assert file.exists()
        assert not file.exists()
        with locked(tmp_path):
            file.unlink()
            file.write_text("the next one's")
        assert file.read_text() == "the next one's"


class TestContent:
    def test_names_and_content_of_a_folder_matter(self, tmp_path: Path):
        digests = set()
        for name, content in (("a", "x"), ("b", "x"), ("a", "y"), ("c/a", "x")):
            folder = tmp_path / f"{len(digests)}"
            (folder / name).parent.mkdir(parents=True)
            (folder / name).write_text(content)
            digests.add(content_hash(folder))
        assert len(digests) == 4
        assert content_hash(tmp_path / "0" / "a") == hashlib.sha256(b"x").hexdigest()


def test_differences_name_what_only_one_side_has():
    assert differences({"a": None, "b": {"c": 1}}, {"b": {"c": 1, "d": [2]}}) == (
        "  a: there None, asked for nothing\n  b.d: there nothing, asked for [2]"
    )


def test_an_error_of_another_process_reads_as_it_did_there():
    error = DataError([Problem("one", "a.conll", 3), Problem("two\nlines")], fix="mend it")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.problems, again.fix) == (str(error), error.problems, "mend it")
