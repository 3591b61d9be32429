from __future__ import annotations

import contextlib
import fcntl
import gc
import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery import Sentence
from nersery.disk import content_hash, differences, files_in, locked
from nersery.errors import NerseryError, SettingsError
from nersery.loop import FileJob, Outcome, Reject, collect, run

ITEMS = range(50)
HEADER = "# header\n"


def step(batch: Sequence[int]) -> list[Outcome]:
    """Writes most numbers, rejects the others for two reasons."""
    return [Reject(f"reason {n % 3}") if n % 5 in (0, 3) else Sentence((f"न{n}",)) for n in batch]


def encode(sentence: Sentence) -> str:
    return f"{sentence.text}\n"


def encode_reject(reject: Reject) -> str:
    return f"{reject.reason}\n"


def job(folder: Path, seed: int = 0, name: str = "out.txt") -> FileJob:
    return FileJob(folder / name, encode, encode_reject, {"seed": seed, "input": {"sha": "é"}}, HEADER)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def undisturbed(tmp_path: Path) -> dict[str, bytes]:
    """The files of a job that nothing has disturbed."""
    folder = tmp_path / "undisturbed"
    folder.mkdir()
    job(folder).run(ITEMS, step)
    return files(folder)


@pytest.fixture
def always_save(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the journal after every batch, however quick."""
    monkeypatch.setattr("nersery.loop.CHECKPOINT_SECONDS", 0.0)


class TestRun:
    @given(st.lists(st.integers(0, 100)), st.integers(1, 9))
    def test_read_is_written_plus_rejected_and_order_is_kept(self, items: list[int], batch_size: int):
        result = collect(run(items, step, batch_size=batch_size))
        expected = step(items)
        assert list(run(items, step, batch_size=batch_size)) == expected
        assert result.tally.read == len(items) == result.tally.written + result.tally.rejected
        assert [s.words for s in result.corpus] == [e.words for e in expected if isinstance(e, Sentence)]
        assert list(result.rejects) == [e for e in expected if isinstance(e, Reject)]

    def test_items_are_a_stream(self):
        items = iter(range(1000))
        next(run(items, step, batch_size=10))
        assert next(items) == 10

    @pytest.mark.parametrize("answer", [[], [Reject("one")] * 3])
    def test_a_step_must_answer_every_item(self, answer: list[Outcome]):
        with pytest.raises(NerseryError, match=f"given 2 items and answered with {len(answer)}"):
            list(run([1, 2], lambda batch: answer))

    def test_batch_size_below_one_is_refused(self):
        with pytest.raises(SettingsError, match="batch_size is 0"):
            list(run([1], step, batch_size=0))

    def test_tally_as_text(self):
        tally = collect(run(range(11), step)).tally
        assert str(tally) == "read 11, wrote 6, rejected 5 (reason 0: 2, reason 2: 2, reason 1: 1)"


class TestFileJob:
    def test_files_and_tally(self, tmp_path: Path):
        tally = job(tmp_path).run(range(6), step)
        assert (tally.read, tally.written, tally.rejected) == (6, 3, 3)
        assert files(tmp_path) == {
            "out.txt": f"{HEADER}न1\nन2\nन4\n".encode(),
            "out.txt.rejects.jsonl": b"reason 0\nreason 0\nreason 2\n",
        }
        assert not job(tmp_path).part.exists()

    def test_no_file_of_rejects_without_rejects(self, tmp_path: Path):
        job(tmp_path).run([1, 2], step)
        assert set(files(tmp_path)) == {"out.txt"}

    def test_no_items_still_make_a_file(self, tmp_path: Path):
        job(tmp_path).run([], step)
        assert files(tmp_path) == {"out.txt": HEADER.encode()}

    def test_batch_size_does_not_matter(self, tmp_path: Path, undisturbed: dict[str, bytes]):
        job(tmp_path).run(ITEMS, step, batch_size=7)
        assert files(tmp_path) == undisturbed

    def test_an_existing_target_is_refused(self, tmp_path: Path):
        job(tmp_path).target.write_text("precious")
        with pytest.raises(SettingsError, match="exists already"):
            job(tmp_path).run(ITEMS, step)
        assert files(tmp_path) == {"out.txt": b"precious"}
        assert not job(tmp_path).part.exists()

    def test_existing_rejects_are_refused(self, tmp_path: Path):
        job(tmp_path).rejects.write_text("precious")
        for items in (ITEMS, [1]):
            with pytest.raises(SettingsError, match=r"out\.txt\.rejects\.jsonl exists already"):
                job(tmp_path).run(items, step)
        assert files(tmp_path) == {"out.txt.rejects.jsonl": b"precious"}
        job(tmp_path).run([1], step, overwrite=True)
        assert set(files(tmp_path)) == {"out.txt"}

    @pytest.mark.parametrize("overwrite", [False, True])
    def test_a_folder_of_somebody_else_is_refused_even_by_force(self, overwrite: bool, tmp_path: Path):
        part = job(tmp_path).part
        part.mkdir()
        (part / "output").write_text("precious")
        with pytest.raises(SettingsError, match="holds files of no unfinished job"):
            job(tmp_path).run(ITEMS, step, overwrite=overwrite)
        assert files(part) == {"output": b"precious"}
        assert files(tmp_path) == {}

    def test_files_of_somebody_else_that_come_later_stay(self, tmp_path: Path):
        part = job(tmp_path).part

        def disturbed(batch: Sequence[int]) -> list[Outcome]:
            (part / "mine.txt").write_text("precious")
            return step(batch)

        job(tmp_path).run(ITEMS, disturbed)
        assert files(part) == {"mine.txt": b"precious"}

    def test_a_folder_as_target_is_refused_even_by_force(self, tmp_path: Path):
        job(tmp_path).target.mkdir()
        with pytest.raises(SettingsError, match="is a folder"):
            job(tmp_path).run(ITEMS, step, overwrite=True)

    def test_a_target_can_be_checked_before_any_work(self, tmp_path: Path):
        job(tmp_path).check_target()
        job(tmp_path).target.write_text("precious")
        job(tmp_path).check_target(overwrite=True)
        with pytest.raises(SettingsError, match="exists already"):
            job(tmp_path).check_target()

    def test_force_replaces_target_and_stale_rejects(self, tmp_path: Path):
        job(tmp_path, seed=1).run(ITEMS, step)
        job(tmp_path).run([1], step, overwrite=True)
        assert files(tmp_path) == {"out.txt": f"{HEADER}न1\n".encode()}

    def test_a_journal_has_no_trouble_with_odd_file_names(self, tmp_path: Path):
        FileJob(tmp_path / "out", encode, encode_reject, {"input": "caf\udce9.conll"}).run([1], step)
        assert (tmp_path / "out").read_text("utf-8") == "न1\n"


class Killed(BaseException):
    """What the kill of a process looks like to the code in it."""


def killer(after: int) -> Callable[[Sentence], str]:
    """An encoder that ends everything at the sentence after so many."""
    left = after

    def encode_until(sentence: Sentence) -> str:
        nonlocal left
        if left == 0:
            raise Killed
        left -= 1
        return encode(sentence)

    return encode_until


def start_and_kill(folder: Path, after: int, seed: int = 0, *, overwrite: bool = False) -> FileJob:
    """Leave a job unfinished."""
    unfinished = job(folder, seed)
    killed = FileJob(unfinished.target, killer(after), encode_reject, unfinished.fingerprint, HEADER)
    with pytest.raises(Killed):
        killed.run(ITEMS, step, batch_size=4, overwrite=overwrite)
    return unfinished


@pytest.mark.usefixtures("always_save")
class TestResume:
    @pytest.mark.parametrize("after", [0, 1, 5, 12, 29])
    def test_the_same_call_ends_with_the_same_bytes(self, after: int, tmp_path: Path, undisturbed: dict[str, bytes]):
        folder = tmp_path / "killed"
        start_and_kill(folder, after)
        assert not job(folder).target.exists()
        tally = job(folder).run(ITEMS, step)
        assert files(folder) == undisturbed
        assert (tally.read, tally.written) == (50, 30)

    def test_any_number_of_kills(self, tmp_path: Path, undisturbed: dict[str, bytes]):
        rng = random.Random(0)
        folder = tmp_path / "killed"
        for _ in range(4):
            start_and_kill(folder, rng.randint(3, 8))
        job(folder).run(ITEMS, step)
        assert files(folder) == undisturbed

    def test_finished_work_is_not_done_again(self, tmp_path: Path):
        start_and_kill(tmp_path, 20)
        seen: list[int] = []

        def watched(batch: Sequence[int]) -> list[Outcome]:
            seen.extend(batch)
            return step(batch)

        job(tmp_path).run(ITEMS, watched)
        assert min(seen) > 24

    def test_bytes_behind_the_journal_are_cut_off(self, tmp_path: Path, undisturbed: dict[str, bytes]):
        folder = tmp_path / "killed"
        part = start_and_kill(folder, 12).part
        for name in ("output", "rejects"):
            with (part / name).open("ab") as stream:
                stream.write(b"half a line" * 1000)
        job(folder).run(ITEMS, step)
        assert files(folder) == undisturbed

    def test_bytes_that_the_journal_misses_are_an_error(self, tmp_path: Path):
        part = start_and_kill(tmp_path, 12).part
        (part / "output").write_bytes(b"")
        with pytest.raises(NerseryError, match="lost finished work"):
            job(tmp_path).run(ITEMS, step)

    @pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"read": 3}', '{"bytes": [1]}'])
    def test_a_broken_journal_is_named_and_given_up_by_force(
        self, content: str, tmp_path: Path, undisturbed: dict[str, bytes]
    ):
        folder = tmp_path / "killed"
        part = start_and_kill(folder, 12).part
        (part / "journal.json").write_text(content)
        with pytest.raises(NerseryError, match=r"journal\.json is broken.*or use --force"):
            job(folder).run(ITEMS, step)
        job(folder).run(ITEMS, step, overwrite=True)
        assert files(folder) == undisturbed

    def test_other_settings_are_refused_and_shown(self, tmp_path: Path, undisturbed: dict[str, bytes]):
        folder = tmp_path / "killed"
        start_and_kill(folder, 12)
        with pytest.raises(SettingsError, match="seed: there 0, asked for 1"):
            job(folder, seed=1).run(ITEMS, step)
        job(folder).run(ITEMS, step)
        assert files(folder) == undisturbed

    def test_force_starts_anew_with_other_settings(self, tmp_path: Path, undisturbed: dict[str, bytes]):
        folder = tmp_path / "killed"
        start_and_kill(folder, 12, seed=1)
        job(folder).run(ITEMS, step, overwrite=True)
        assert files(folder) == undisturbed

    def test_a_kill_right_after_force_does_not_mix_two_jobs(self, tmp_path: Path, undisturbed: dict[str, bytes]):
        folder = tmp_path / "killed"
        start_and_kill(folder, 12, seed=0)
        start_and_kill(folder, 0, seed=1, overwrite=True)
        job(folder).run(ITEMS, step)
        assert files(folder) == undisturbed

    def test_a_job_without_finished_work_stands_in_nobody_s_way(self, tmp_path: Path):
        start_and_kill(tmp_path, 0, seed=1)
        assert job(tmp_path).run(ITEMS, step).read == 50

    def test_nor_does_it_allow_to_overwrite(self, tmp_path: Path):
        job(tmp_path).target.write_text("precious")
        start_and_kill(tmp_path, 0, seed=1, overwrite=True)
        with pytest.raises(SettingsError, match="exists already"):
            job(tmp_path).run(ITEMS, step)
        assert job(tmp_path).target.read_text() == "precious"

    @pytest.mark.parametrize("stop_at", ["replace rejects", "replace output", "unlink journal.json"])
    def test_a_kill_while_files_move(
        self, stop_at: str, tmp_path: Path, undisturbed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
    ):
        folder = tmp_path / "killed"
        original, unlink = os.replace, Path.unlink

        def replace(source: Path, target: Path) -> None:
            if stop_at == f"replace {source.name}":
                raise Killed
            original(source, target)

        def kill(path: Path, **options: bool) -> None:
            if stop_at == f"unlink {path.name}":
                raise Killed
            unlink(path, **options)

        with monkeypatch.context() as patch:
            patch.setattr("os.replace", replace)
            patch.setattr(Path, "unlink", kill)
            with pytest.raises(Killed):
                job(folder).run(ITEMS, step)
        tally = job(folder).run(ITEMS, step)
        assert (tally.read, tally.written) == (50, 30)
        assert files(folder) == undisturbed
        assert not job(folder).part.exists()

    def test_a_kill_while_the_folder_is_cleared_leaves_the_target_safe(self, tmp_path: Path):
        job(tmp_path).run(ITEMS, step)
        before = files(tmp_path)
        job(tmp_path).part.mkdir()
        with pytest.raises(SettingsError, match="exists already"):
            job(tmp_path, seed=1).run([1], step)
        assert files(tmp_path) == before


def slow_step(batch: Sequence[int]) -> list[Outcome]:
    """A step that takes a while, so that a signal finds it at work."""
    time.sleep(0.01)
    return step(batch)


def start(folder: Path, *, limit: int | None = None) -> subprocess.Popen[str]:
    """Run the job in a process of its own, with files of at most ``limit`` bytes."""
    command = [sys.executable, "-P", __file__, str(folder), str(limit or 0)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def in_this_process(folder: Path, limit: int) -> None:
    """What `start` runs."""
    import nersery.loop

    nersery.loop.CHECKPOINT_SECONDS = 0.0
    if limit:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that the write fails, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    job(folder).run(range(2000), slow_step, batch_size=8)


def wait_for_journal(folder: Path, read: int) -> None:
    """Wait until a job has done so many items."""
    path = job(folder).part / "journal.json"
    for _ in range(2000):
        if path.exists() and json.loads(path.read_text())["read"] >= read:
            return
        time.sleep(0.005)
    raise AssertionError("the job did not start")


class TestProcesses:
    @pytest.fixture
    def expected(self, tmp_path: Path) -> dict[str, bytes]:
        folder = tmp_path / "expected"
        job(folder).run(range(2000), step)
        return files(folder)

    @pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
    def test_killed_twice_it_ends_with_the_same_bytes(
        self, sign: signal.Signals, tmp_path: Path, expected: dict[str, bytes]
    ):
        folder = tmp_path / "killed"
        for read in (64, 160):
            process = start(folder)
            wait_for_journal(folder, read)
            process.send_signal(sign)
            process.communicate()
            assert process.returncode != 0
        tally = job(folder).run(range(2000), step)
        assert tally.read == 2000
        assert files(folder) == expected

    def test_two_at_once_are_refused(self, tmp_path: Path, expected: dict[str, bytes]):
        folder = tmp_path / "both"
        process = start(folder)
        try:
            wait_for_journal(folder, 8)
            with pytest.raises(SettingsError, match="another process is writing"):
                job(folder).run(range(2000), step)
        finally:
            process.communicate(timeout=60)
        assert process.returncode == 0
        assert files(folder) == expected

    def test_a_full_disk_is_an_error_after_which_the_job_goes_on(self, tmp_path: Path, expected: dict[str, bytes]):
        folder = tmp_path / "full"
        _, errors = start(folder, limit=4096).communicate(timeout=60)
        assert "OSError" in errors
        assert not job(folder).target.exists()
        assert json.loads((job(folder).part / "journal.json").read_text())["read"] > 0
        job(folder).run(range(2000), step)
        assert files(folder) == expected


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

    def test_files_in_settings(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "words").write_text("x")
        settings = {"table": "words", "empty": "", "model": "none-such", "rate": 0.3, "long": "x" * 9999}
        assert files_in(settings) == {"table": hashlib.sha256(b"x").hexdigest()}

    def test_files_in_settings_within_settings(self, tmp_path: Path):
        (tmp_path / "en.vec").write_text("x")
        settings = {"vectors": {"en": str(tmp_path / "en.vec"), "hi": "none-such", "deep": {"er": str(tmp_path)}}}
        assert files_in(settings) == {
            "vectors.en": hashlib.sha256(b"x").hexdigest(),
            "vectors.deep.er": content_hash(tmp_path),
        }


def test_differences_name_what_only_one_side_has():
    assert differences({"a": None, "b": {"c": 1}}, {"b": {"c": 1, "d": [2]}}) == (
        "  a: there None, asked for nothing\n  b.d: there nothing, asked for [2]"
    )


if __name__ == "__main__":
    in_this_process(Path(sys.argv[1]), int(sys.argv[2]))


@pytest.mark.parametrize("fails", [False, True])
def test_cycles_are_looked_for_seldom_while_a_job_runs_and_as_before_after_it(tmp_path: Path, fails: bool):
    before, during = gc.get_threshold(), list[tuple[int, int, int]]()

    def watched(batch: Sequence[int]) -> list[Outcome]:
        during.append(gc.get_threshold())
        if fails:
            raise ValueError("odd")
        return step(batch)

    with pytest.raises(ValueError, match="odd") if fails else contextlib.nullcontext():
        FileJob(tmp_path / "out", encode, encode_reject, {}).run(ITEMS, watched)
    assert during[0][0] > before[0]
    assert gc.get_threshold() == before
