from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery import Sentence, io
from nersery.core.errors import SettingsError
from nersery.core.outcome import Outcome, Reject, collect
from nersery.pipeline.job import FileJob, run
from tests.pipeline.jobs import ITEMS, encode, files, job, step


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

    def test_tally_as_text(self):
        tally = collect(run(range(11), step)).tally
        assert str(tally) == "read 11, wrote 6, rejected 5 (reason 0: 2, reason 2: 2, reason 1: 1)"


class TestFileJob:
    def test_writes_files_and_counts(self, tmp_path: Path):
        tally = job(tmp_path).run(range(6), step)
        assert (tally.read, tally.written, tally.rejected) == (6, 3, 3)
        assert files(tmp_path) == {
            "out.txt": "न1\nन2\nन4\n".encode(),
            "out.txt.rejects.jsonl": "".join(io.reject_line(Reject(f"reason {n}")) for n in (0, 0, 2)).encode(),
        }
        assert not job(tmp_path).unfinished_folder.exists()

    def test_writes_no_rejects_file_without_rejects(self, tmp_path: Path):
        job(tmp_path).run([1, 2], step)
        assert set(files(tmp_path)) == {"out.txt"}

    def test_writes_an_empty_file_without_items(self, tmp_path: Path):
        job(tmp_path).run([], step)
        assert files(tmp_path) == {"out.txt": b""}

    def test_batch_size_does_not_matter(self, tmp_path: Path, undisturbed: dict[str, bytes]):
        job(tmp_path).run(ITEMS, step, batch_size=7)
        assert files(tmp_path) == undisturbed

    def test_an_existing_target_is_refused(self, tmp_path: Path):
        job(tmp_path).check_target()
        job(tmp_path).target.write_text("precious")
        job(tmp_path).check_target(overwrite=True)
        for work in (job(tmp_path).check_target, lambda: job(tmp_path).run(ITEMS, step)):
            with pytest.raises(SettingsError, match="exists already"):
                work()
        assert files(tmp_path) == {"out.txt": b"precious"}
        assert not job(tmp_path).unfinished_folder.exists()

    def test_existing_rejects_are_refused(self, tmp_path: Path):
        job(tmp_path).rejects.write_text("precious")
        for items in (ITEMS, [1]):
            with pytest.raises(SettingsError, match=r"out\.txt\.rejects\.jsonl exists already"):
                job(tmp_path).run(items, step)
        assert files(tmp_path) == {"out.txt.rejects.jsonl": b"precious"}
        job(tmp_path).run([1], step, overwrite=True)
        assert set(files(tmp_path)) == {"out.txt"}

    @pytest.mark.parametrize("overwrite", [False, True])
    def test_refuses_a_part_folder_with_other_files_even_by_force(self, overwrite: bool, tmp_path: Path):
        part = job(tmp_path).unfinished_folder
        part.mkdir()
        (part / "output").write_text("precious")
        with pytest.raises(SettingsError, match="holds files that are not part of an unfinished job"):
            job(tmp_path).run(ITEMS, step, overwrite=overwrite)
        assert files(part) == {"output": b"precious"}
        assert files(tmp_path) == {}

    def test_keeps_other_files_that_appear_later(self, tmp_path: Path):
        part = job(tmp_path).unfinished_folder

        def disturbed(batch: Sequence[int]) -> list[Outcome]:
            (part / "mine.txt").write_text("precious")
            return step(batch)

        job(tmp_path).run(ITEMS, disturbed)
        assert files(part) == {"mine.txt": b"precious"}

    def test_a_folder_as_target_is_refused_even_by_force(self, tmp_path: Path):
        job(tmp_path).target.mkdir()
        with pytest.raises(SettingsError, match="is a folder"):
            job(tmp_path).run(ITEMS, step, overwrite=True)

    def test_force_replaces_target_and_stale_rejects(self, tmp_path: Path):
        job(tmp_path, seed=1).run(ITEMS, step)
        job(tmp_path).run([1], step, overwrite=True)
        assert files(tmp_path) == {"out.txt": "न1\n".encode()}

    def test_rejects_a_failing_item_and_continues_with_the_others(self, tmp_path: Path):
        def fail(batch: Sequence[int]) -> list[Outcome]:
            if 2 in batch:
                raise ValueError("odd 2")
            return step(batch)

        tally = job(tmp_path).run(range(8), fail)
        assert (tally.read, tally.reasons["failed: ValueError: odd 2"]) == (8, 1)

    def test_journal_can_hold_odd_file_names(self, tmp_path: Path):
        FileJob(tmp_path / "out", encode, {"input": "caf\udce9.conll"}).run([1], step)
        assert (tmp_path / "out").read_text("utf-8") == "न1\n"


def test_a_job_does_not_change_settings_of_the_process(tmp_path: Path) -> None:
    before, during = gc.get_threshold(), list[tuple[int, int, int]]()

    def watched(batch: Sequence[int]) -> list[Outcome]:
        during.append(gc.get_threshold())
        return step(batch)

    FileJob(tmp_path / "out", encode, {}).run(ITEMS, watched)
    assert {*during} == {before} == {gc.get_threshold()}
