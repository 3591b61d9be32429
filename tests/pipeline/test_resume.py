from __future__ import annotations

import errno
import json
import os
import pickle
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nersery import Sentence
from nersery.core.errors import NerseryError, SettingsError
from nersery.core.outcome import Outcome
from nersery.core.system.locks import locked
from nersery.pipeline.job import FileJob
from nersery.pipeline.stage_job import corpus_job
from tests.killing import KilledError
from tests.pipeline.jobs import ITEMS, encode, files, job, step


def killer(after: int) -> Callable[[Sentence], str]:
    """An encoder that raises KilledError after so many sentences."""
    left = after

    def encode_until(sentence: Sentence) -> str:
        nonlocal left
        if left == 0:
            raise KilledError
        left -= 1
        return encode(sentence)

    return encode_until


def start_and_kill(folder: Path, after: int, seed: int = 0, *, overwrite: bool = False) -> FileJob:
    """Leave a job unfinished."""
    unfinished = job(folder, seed)
    killed = FileJob(unfinished.target, killer(after), unfinished.fingerprint)
    with pytest.raises(KilledError):
        killed.run(ITEMS, step, batch_size=4, overwrite=overwrite)
    return unfinished


@pytest.mark.usefixtures("saves_each_batch")
class TestResume:
    @pytest.mark.parametrize("after", [0, 1, 5, 12, 29])
    def test_resumes_with_the_same_bytes(self, after: int, tmp_path: Path, undisturbed: dict[str, bytes]):
        folder = tmp_path / "killed"
        start_and_kill(folder, after)
        assert not job(folder).target.exists()
        tally = job(folder).run(ITEMS, step)
        assert files(folder) == undisturbed
        assert (tally.read, tally.written) == (50, 30)

    def test_resumes_after_several_kills(self, tmp_path: Path, undisturbed: dict[str, bytes]):
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

    def test_cuts_off_bytes_that_the_journal_does_not_count(self, tmp_path: Path, undisturbed: dict[str, bytes]):
        folder = tmp_path / "killed"
        part = start_and_kill(folder, 12).unfinished_folder
        for name in ("output", "rejects"):
            with (part / name).open("ab") as stream:
                stream.write(b"half a line" * 1000)
        job(folder).run(ITEMS, step)
        assert files(folder) == undisturbed

    @pytest.mark.parametrize("name", ["output", "rejects"])
    @pytest.mark.parametrize("old", [True, False])
    def test_removal_of_finished_work_is_an_error(
        self, name: str, old: bool, tmp_path: Path, undisturbed: dict[str, bytes]
    ):
        folder = tmp_path / "robbed"
        folder.mkdir()
        if old:
            job(folder).target.write_text("old")

        def robbed(batch: Sequence[int]) -> list[Outcome]:
            (job(folder).unfinished_folder / name).unlink(missing_ok=True)
            return step(batch)

        with pytest.raises(NerseryError, match=f"{name} was removed, so .* cannot be written. Repeat the command"):
            job(folder).run(ITEMS, robbed, overwrite=old)
        assert files(folder) == ({"out.txt": b"old"} if old else {})
        job(folder).run(ITEMS, step, overwrite=old)
        assert files(folder) == undisturbed

    @pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"read": 3}', '{"bytes": [1]}'])
    def test_names_a_broken_journal_and_force_discards_it(
        self, content: str, tmp_path: Path, undisturbed: dict[str, bytes]
    ):
        folder = tmp_path / "killed"
        part = start_and_kill(folder, 12).unfinished_folder
        (part / "journal.json").write_text(content)
        with pytest.raises(NerseryError, match=r"journal\.json is broken.*or use force=True") as caught:
            job(folder).run(ITEMS, step)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value), "a job may be in another process"
        job(folder).run(ITEMS, step, overwrite=True)
        assert files(folder) == undisturbed

    def test_other_settings_are_refused_and_shown(self, tmp_path: Path, undisturbed: dict[str, bytes]):
        folder = tmp_path / "killed"
        start_and_kill(folder, 12)
        with pytest.raises(SettingsError) as caught:
            job(folder, seed=1).run(ITEMS, step)
        assert str(caught.value) == (
            f"{job(folder).unfinished_folder} holds an unfinished job with other settings:\n  seed: was 0, now 1\n"
            "Repeat the command with those settings to resume, choose another output, or start over (force=True)"
        )
        job(folder).run(ITEMS, step)
        assert files(folder) == undisturbed

    def test_force_starts_over_with_other_settings(self, tmp_path: Path, undisturbed: dict[str, bytes]):
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

    def test_a_job_without_finished_work_blocks_no_other(self, tmp_path: Path):
        start_and_kill(tmp_path, 0, seed=1)
        assert job(tmp_path).run(ITEMS, step).read == 50

    def test_an_unfinished_forced_job_does_not_allow_overwriting(self, tmp_path: Path):
        job(tmp_path).target.write_text("precious")
        start_and_kill(tmp_path, 0, seed=1, overwrite=True)
        with pytest.raises(SettingsError, match="exists already"):
            job(tmp_path).run(ITEMS, step)
        assert job(tmp_path).target.read_text() == "precious"

    @pytest.mark.parametrize("name", ["out.txt", "out.txt.rejects.jsonl"])
    @pytest.mark.parametrize("after", [0, 12])
    def test_does_not_overwrite_files_that_appeared_since(
        self, name: str, after: int, tmp_path: Path, undisturbed: dict[str, bytes]
    ):
        folder = tmp_path / "killed"
        start_and_kill(folder, after)

        def disturbed(batch: Sequence[int]) -> list[Outcome]:
            (folder / name).write_text("precious")
            return step(batch)

        for to_step in (disturbed, step):  # during the job, and before it
            with pytest.raises(SettingsError, match=f"{name} exists already"):
                job(folder).run(ITEMS, to_step)
            assert files(folder) == {name: b"precious"}
        start_and_kill(folder, 0, seed=1, overwrite=True)  # permission for that call does not extend to the next one
        with pytest.raises(SettingsError, match=f"{name} exists already"):
            job(folder, seed=1).run(ITEMS, step)
        job(folder).run(ITEMS, step, overwrite=True)
        assert files(folder) == undisturbed

    def test_a_forced_job_resumes_with_force(self, tmp_path: Path, undisturbed: dict[str, bytes]):
        folder = tmp_path / "killed"
        folder.mkdir()
        job(folder).target.write_text("old")
        start_and_kill(folder, 12, overwrite=True)
        done = json.loads((job(folder).unfinished_folder / "journal.json").read_text())["read"]
        seen: list[int] = []
        job(folder).run(ITEMS, lambda batch: (seen.extend(batch), step(batch))[1], overwrite=True)
        assert min(seen) == done > 0
        assert files(folder) == undisturbed

    @pytest.mark.parametrize("stop_at", ["replace rejects", "replace output", "unlink journal.json"])
    def test_resumes_after_a_kill_while_files_are_moved(
        self, stop_at: str, tmp_path: Path, undisturbed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
    ):
        folder = tmp_path / "killed"
        original, unlink = os.replace, Path.unlink

        def replace(source: Path, target: Path) -> None:
            if stop_at == f"replace {source.name}":
                raise KilledError
            original(source, target)

        def kill(path: Path, **options: bool) -> None:
            if stop_at == f"unlink {path.name}":
                raise KilledError
            unlink(path, **options)

        with monkeypatch.context() as patch:
            patch.setattr("os.replace", replace)
            patch.setattr(Path, "unlink", kill)
            with pytest.raises(KilledError):
                job(folder).run(ITEMS, step)
        tally = job(folder).run(ITEMS, step)
        assert (tally.read, tally.written) == (50, 30)
        assert files(folder) == undisturbed
        assert not job(folder).unfinished_folder.exists()

    def test_a_lock_that_cannot_be_removed_is_no_failure(
        self, tmp_path: Path, undisturbed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
    ):
        unlink = Path.unlink

        def fail(path: Path, **options: bool) -> None:
            if path.name == "lock":
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
            unlink(path, **options)

        monkeypatch.setattr(Path, "unlink", fail)
        assert job(tmp_path).run(ITEMS, step).read == 50
        assert files(tmp_path) == undisturbed

    @pytest.mark.parametrize("left", [(), ("lock",), ("journal.json.tmp",)])
    def test_target_is_safe_after_a_kill_while_the_part_folder_is_removed(self, left: Sequence[str], tmp_path: Path):
        job(tmp_path).run(ITEMS, step)
        before, unfinished = files(tmp_path), job(tmp_path).unfinished_folder
        unfinished.mkdir()
        for name in left:
            (unfinished / name).touch()
        with pytest.raises(SettingsError, match="exists already"):
            job(tmp_path, seed=1).run([1], step)
        assert files(tmp_path) == before
        assert not unfinished.exists()

    def test_the_part_folder_of_a_process_that_overwrites_the_target_stays(self, tmp_path: Path):
        job(tmp_path).run(ITEMS, step)
        unfinished = job(tmp_path).unfinished_folder
        unfinished.mkdir()
        with locked(unfinished):
            with pytest.raises(SettingsError, match=r"another process is writing .*out\.txt\.part"):
                job(tmp_path).run(ITEMS, step)
            assert (unfinished / "lock").exists()


@pytest.mark.usefixtures("saves_each_batch")
@pytest.mark.parametrize("kept", [2, 3, 4])
def test_rejects_columns_that_differ_from_those_before_the_kill(tmp_path: Path, kept: int) -> None:
    """Taking them for the usual number would reject all others, and write a file that cannot be read."""
    tagged, bare = Sentence(("a",), columns=(("x",),)), Sentence(("b",))
    rows = [tagged, tagged, bare, bare, tagged, bare]

    def write(folder: Path, until: int) -> dict[str, bytes]:
        def identity(batch: Sequence[Sentence]) -> list[Outcome]:
            nonlocal until
            until -= len(batch)
            if until < 0:
                raise KilledError
            return [*batch]

        corpus_job(folder / "out.conll", {}).run(rows, identity, batch_size=1)
        return files(folder)

    whole = write(tmp_path / "whole", len(rows))
    assert whole["out.conll"] == b"a\tx\tO\n\n" * 3
    with pytest.raises(KilledError):
        write(tmp_path / "killed", kept)
    assert write(tmp_path / "killed", len(rows)) == whole
