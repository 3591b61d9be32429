"""What a job reports and leaves: progress, packed files, blank lines, and no files after a total failure."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pytest

from nersery import Corpus, Sentence, io
from nersery.core.errors import DataError, Issue, JobFailedError, NerseryError, SettingsError
from nersery.core.outcome import Outcome, Reject
from nersery.core.progress import Progress
from nersery.io.jsonl import rejects_of
from nersery.io.reading import opened
from nersery.pipeline.error_policy import ErrorPolicy
from nersery.pipeline.job import FileJob, outcomes_of, run
from nersery.pipeline.shards import batches
from tests.killing import KilledError
from tests.pipeline.jobs import ITEMS, encode, files, job, step
from tests.pipeline.test_resume import start_and_kill


class Steps(Progress):
    """Records the progress of a job."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, bool]] = []

    def advance(self, count: int = 1, *, resumed: bool = False) -> None:
        self.seen.append((count, resumed))


def pack(output: Path, packed: Path) -> None:
    packed.mkdir()
    (packed / "whole").write_bytes(output.read_bytes().upper())


def test_progress_includes_the_rejects_of_the_reader() -> None:
    progress = Steps()
    items = [1, Reject("broken"), 2, 3, Reject("broken")]
    outcomes = list(run(items, step, batch_size=2, progress=progress))
    assert progress.seen == [(2, False), (2, False), (1, False)]
    assert [outcome for outcome in outcomes if outcome in items] == [items[1], items[4]]
    assert outcomes == [*step([1]), items[1], *step([2, 3]), items[4]]


def test_a_step_is_not_called_for_a_batch_of_only_rejects() -> None:
    batches: list[list[int]] = []

    def to_step(batch: Sequence[int]) -> list[Outcome]:
        batches.append([*batch])
        return step(batch)

    assert len(list(run([Reject("x"), Reject("y"), 1], to_step, batch_size=2))) == 3
    assert batches == [[1]]


def test_reject_of_a_failed_item_has_the_given_sentence() -> None:
    def fail(batch: Sequence[int]) -> list[Outcome]:
        raise ValueError("odd") if 1 in batch else AssertionError

    found = run([1, Reject("x")], fail, sentence_of=lambda item: Sentence((f"item {item}",)))
    outcome = next(found)
    assert isinstance(outcome, Reject)
    assert outcome.sentence == Sentence(("item 1",))
    assert next(found) == Reject("x")
    with pytest.raises(ValueError, match="odd"):
        next(found)


def test_batch_size_must_be_at_least_one() -> None:
    assert len(list(outcomes_of(ITEMS, ErrorPolicy(step), batch_size=1))) == 50
    for size in (0, -1):
        with pytest.raises(SettingsError, match=f"batch_size is {size}, expected 1 or more"):
            list(outcomes_of(ITEMS, ErrorPolicy(step), batch_size=size))


def test_batches_may_be_larger_than_any_list() -> None:
    assert len(list(outcomes_of(ITEMS, ErrorPolicy(step), batch_size=10**20))) == 50
    assert [*batches(ITEMS, 10**20, 10**20)] == [[*ITEMS]]


def test_refuses_iterators_that_can_be_read_only_once() -> None:
    for items in (iter([1]), (item for item in [1]), map(str, [1])):
        with pytest.raises(SettingsError, match=f"a {type(items).__name__} can be read only once"):
            opened(items)
    for again in ([Sentence(("a",))], Corpus([Sentence(("a",))])):
        opened(again)


@pytest.mark.parametrize(
    ("target", "rejects"),
    [("a/b.conll", "a/b.conll.rejects.jsonl"), ("/", "/.rejects.jsonl"), ("b", "b.rejects.jsonl")],
)
def test_path_of_the_rejects(target: str, rejects: str) -> None:
    assert rejects_of(Path(target)) == Path(rejects)


def test_rejects_of_the_current_folder_are_next_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").mkdir()
    monkeypatch.chdir(tmp_path / "x")
    assert rejects_of(Path()) == tmp_path / "x.rejects.jsonl"


@pytest.mark.usefixtures("saves_each_batch")
class TestProgress:
    def test_progress_of_a_new_and_of_a_resumed_job(self, tmp_path: Path) -> None:
        progress = Steps()
        job(tmp_path).run(range(10), step, batch_size=4, progress=progress)
        assert progress.seen == [(4, False), (4, False), (2, False)]
        start_and_kill(tmp_path / "killed", 12)
        done = json.loads((job(tmp_path / "killed").unfinished_folder / "journal.json").read_text())["read"]
        progress = Steps()
        job(tmp_path / "killed").run(ITEMS, step, batch_size=50, progress=progress)
        assert progress.seen == [(done, True), (50 - done, False)]
        assert done == 20

    def test_no_progress_if_only_files_remain_to_be_moved(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def replace(source: Path, target: Path) -> None:
            if source.name == "output":
                raise KilledError
            os.rename(source, target)

        with monkeypatch.context() as patch:
            patch.setattr("os.replace", replace)
            with pytest.raises(KilledError):
                job(tmp_path).run(ITEMS, step)
        progress = Steps()
        assert job(tmp_path).run([], step, progress=progress).read == 50
        assert progress.seen == []


@pytest.mark.usefixtures("saves_each_batch")
class TestJournal:
    def test_journal_content_after_a_kill(self, tmp_path: Path) -> None:
        """Output and rejects are on disk before the journal counts them."""
        start_and_kill(tmp_path, 12)
        journal = json.loads((job(tmp_path).unfinished_folder / "journal.json").read_text("utf-8"))
        output, rejects = ((job(tmp_path).unfinished_folder / name).read_bytes() for name in ("output", "rejects"))
        done = [encode(made) if isinstance(made, Sentence) else io.reject_line(made) for made in step(range(20))]
        kept = [line for line in done if line.startswith("न")]
        refused = [line for line in done if not line.startswith("न")]
        assert output.decode().startswith("".join(kept))
        assert rejects.decode().startswith("".join(refused))
        assert journal == {
            "fingerprint": {"seed": 0, "input": {"sha": "é"}},
            "read": 20,
            "written": len(kept),
            "rejected": len(refused),
            "reasons": {"reason 0": 4, "reason 1": 2, "reason 2": 2},
            "bytes": [len(("".join(kept)).encode()), len("".join(refused).encode())],
            "finished": False,
            "columns": None,
        }

    def test_a_total_failure_leaves_no_files(self, tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
        def fail(batch: Sequence[int]) -> list[Outcome]:
            raise ValueError(f"odd {batch[0]}")

        folder = tmp_path / "failed"
        with pytest.raises(ValueError, match="odd 0"):
            job(folder).run(ITEMS, fail, batch_size=4)
        assert not job(folder).unfinished_folder.exists()
        assert not job(folder).target.exists()
        job(folder).run(ITEMS, step)
        assert files(folder) == undisturbed

    def test_an_error_keeps_the_saved_work(self, tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
        def items() -> Iterator[int]:
            yield 1
            raise DataError(Issue("broken"))

        with pytest.raises(DataError):
            job(tmp_path / "new").run(items(), step)
        assert not job(tmp_path / "new").unfinished_folder.exists()
        start_and_kill(tmp_path, 12)
        with pytest.raises(DataError):
            job(tmp_path).run(chain(islice(ITEMS, 20), items()), step)
        job(tmp_path).run(ITEMS, step)
        assert files(tmp_path) == undisturbed

    def test_items_that_fail_until_the_job_ends_are_processed_again(
        self, tmp_path: Path, undisturbed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """For example, a server is gone: this loses no sentence."""
        monkeypatch.setattr("nersery.pipeline.error_policy.MAX_FAILED", 20)

        def fail(batch: Sequence[int]) -> list[Outcome]:
            if batch[-1] >= 12:
                raise ConnectionError("gone")
            return step(batch)

        with pytest.raises(JobFailedError, match="gone"):
            job(tmp_path / "failed").run(ITEMS, fail, batch_size=4)
        job(tmp_path / "failed").run(ITEMS, step, batch_size=4)
        assert files(tmp_path / "failed") == undisturbed

    def test_a_job_with_only_rejects_succeeds(self, tmp_path: Path) -> None:
        tally = job(tmp_path).run([0, 5], step)
        assert (tally.read, tally.written, tally.rejected) == (2, 0, 2)
        assert files(tmp_path)["out.txt"] == b""

    def test_error_about_lost_work_names_file_and_folder(self, tmp_path: Path) -> None:
        part = start_and_kill(tmp_path, 12).unfinished_folder
        os.truncate(part / "output", 3)
        with pytest.raises(
            NerseryError, match=f"^finished work is missing from {part}/output. Delete the folder {part} to"
        ):
            job(tmp_path).run(ITEMS, step)


class TestPack:
    def packing(self, folder: Path) -> FileJob:
        return FileJob(folder / "out", encode, {}, pack=pack)

    def test_packs_the_output_into_the_target_at_the_end(self, tmp_path: Path) -> None:
        self.packing(tmp_path).run([1, 3], step)
        assert (tmp_path / "out/whole").read_text("utf-8") == "न1\n"
        assert sorted(os.listdir(tmp_path)) == ["out", "out.rejects.jsonl"]

    @pytest.mark.parametrize("kind", ["a file", "a folder"])
    def test_packs_again_after_a_kill_while_packing(self, kind: str, tmp_path: Path) -> None:
        def killed(output: Path, packed: Path) -> None:
            packed.mkdir() if kind == "a folder" else packed.touch()
            raise KilledError

        with pytest.raises(KilledError):
            FileJob(tmp_path / "out", encode, {}, pack=killed).run([1], step)
        self.packing(tmp_path).run([1], step)
        assert (tmp_path / "out/whole").read_text("utf-8") == "न1\n"
        assert os.listdir(tmp_path) == ["out"]

    def test_target_exists_after_a_kill_while_the_part_folder_is_removed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def kill(*_: Any) -> None:
            raise KilledError

        with monkeypatch.context() as patch:
            patch.setattr(Path, "rmdir", kill)
            with pytest.raises(KilledError):
                self.packing(tmp_path).run([1], step)
        assert (tmp_path / "out/whole").exists()

    def test_succeeds_after_a_kill_while_the_part_files_are_removed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        unlink = Path.unlink

        def kill(path: Path, **options: Any) -> None:
            if path.name == "rejects":
                raise KilledError
            unlink(path, **options)

        made = replace(self.packing(tmp_path), makes_folder=True)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", kill)
            with pytest.raises(KilledError):
                made.run([1], step)
        assert made.run([1], step).written == 1
        assert os.listdir(tmp_path) == ["out"]


def test_blank_lines_stand_in_for_rejects(tmp_path: Path) -> None:
    FileJob(tmp_path / "out", encode, {}, blank="-\n").run(range(4), step)
    assert (tmp_path / "out").read_text("utf-8") == "-\nन1\nन2\n-\n"


def test_written_reject_of_a_failed_item_has_the_given_sentence(tmp_path: Path) -> None:
    def fail(batch: Sequence[int]) -> list[Outcome]:
        if 3 in batch:
            raise ValueError("odd")
        return step(batch)

    job = FileJob(tmp_path / "out", encode, {}, sentence_of=lambda item: Sentence((f"item {item}",)))
    job.run([1, 3], fail)
    assert [reject.sentence for reject in io.read_rejects(job.rejects)] == [Sentence(("item 3",))]


def test_a_job_saves_when_a_second_has_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It saves at the end of the batch in which the second ends, and again after another second."""
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    saved: list[tuple[int, int]] = []

    def slow(batch: Sequence[int]) -> list[Outcome]:
        nonlocal now
        journal = json.loads((job(tmp_path).unfinished_folder / "journal.json").read_text("utf-8"))
        saved.append((batch[0], journal["read"]))
        now += 0.4
        return step(batch)

    job(tmp_path).run(range(24), slow, batch_size=4)
    assert saved == [(0, 0), (4, 0), (8, 0), (12, 12), (16, 12), (20, 12)]
