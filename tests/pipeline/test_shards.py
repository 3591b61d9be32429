"""The shards, rejects and manifest of a job, and their folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nersery import io
from nersery.core.errors import JobFailedError, MissingResourceError, NerseryError, SettingsError
from nersery.pipeline.engines.base import Answer
from nersery.pipeline.shards import MANIFEST, ShardJob, batches
from tests.pipeline.fakes import answers, expected, rows
from tests.pipeline.shard_jobs import ROWS, files, job, start_and_kill
from tests.pipeline.test_job import Steps


class TestBatches:
    @settings(deadline=None)
    @given(st.integers(0, 60), st.integers(1, 20), st.integers(1, 20))
    def test_no_row_is_lost_and_no_batch_crosses_a_shard(self, count: int, shard: int, size: int) -> None:
        cut = list(batches(range(count), shard, size))
        assert [row for batch in cut for row in batch] == list(range(count))
        assert all(len(batch) <= size and batch[0] // shard == batch[-1] // shard for batch in cut)

    def test_rows_are_a_stream(self) -> None:
        rows = iter(range(1000))
        next(batches(rows, 100, 10))
        assert next(rows) == 10


class TestFiles:
    def test_shards_rejects_and_manifest(self, tmp_path: Path) -> None:
        tally = job(tmp_path).run(ROWS, answers)
        there = files(tmp_path / "out")
        names = [f"part-0000{number}.jsonl" for number in range(5)]
        assert sorted(there) == [MANIFEST, *names, "rejects-00000.jsonl", "rejects-00003.jsonl"]
        assert [there[name] for name in names] == [expected(ROWS[at : at + 12]) for at in range(0, 50, 12)]
        assert (tally.read, tally.written, tally.rejected) == (50, 47, 3)
        first, *shards, last = map(json.loads, there[MANIFEST].splitlines())
        assert first["job"]["shards"] == {"rows": 12, "format": "jsonl"}
        assert [shard["rows"] for shard in shards] == [12, 12, 12, 12, 2]
        assert shards[0]["reasons"] == {"asked for": 1, "failed: ValueError: a poisoned row": 1}
        assert shards[0]["files"][0]["bytes"] == len(there[names[0]])
        assert last == {"total": tally.as_dict()}
        assert not job(tmp_path).unfinished_folder.exists()

    @pytest.mark.parametrize(("size", "batch_size"), [(1, 5), (7, 1), (12, 5), (25, 100), (60, 9)])
    def test_all_shards_together_equal_one_file(self, size: int, batch_size: int, tmp_path: Path) -> None:
        job(tmp_path, size=size).run(ROWS, answers, batch_size=batch_size)
        there = sorted((tmp_path / "out").glob("part-*"))
        assert len(there) == -(-50 // size)
        assert b"".join(path.read_bytes() for path in there) == expected(ROWS)
        assert len(list(io.open_corpus(tmp_path / "out"))) == 47

    def test_writes_an_empty_shard_without_rows(self, tmp_path: Path) -> None:
        job(tmp_path).run([], answers)
        assert files(tmp_path / "out")["part-00000.jsonl"] == b""

    def test_a_shard_without_rows_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(SettingsError, match="a shard has 0 rows, expected 1 or more"):
            job(tmp_path, size=0)

    def test_refuses_more_shards_than_file_names(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("nersery.pipeline.shards.MAX_SHARDS", 3)
        with pytest.raises(NerseryError, match="more than 3 shards"):
            job(tmp_path).run(ROWS[:37], answers)
        assert job(tmp_path).run(ROWS[:36], answers).read == 36

    def test_converts_lines_to_parquet_but_not_the_rejects(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def missing() -> None:
            raise MissingResourceError("no pyarrow")

        monkeypatch.setattr("nersery.pipeline.shards.load_pyarrow", missing)
        assert job(tmp_path).run(ROWS, answers).read == 50
        columns = ShardJob(tmp_path / "columns", 30, {}, "parquet")
        with pytest.raises(MissingResourceError, match="no pyarrow"):
            columns.run(ROWS, answers)
        monkeypatch.setattr("nersery.pipeline.shards.load_pyarrow", lambda: None)
        monkeypatch.setattr(
            "nersery.pipeline.shards.write_lines", lambda lines, path: path.write_bytes(b"P" + lines.read_bytes())
        )
        columns.run(ROWS, answers)
        there = files(tmp_path / "columns")
        parts = [f"{kind}-0000{number}" for kind in ("part", "rejects") for number in (0, 1)]
        assert sorted(there) == [MANIFEST, *(f"{p}.{'parquet' if p[0] == 'p' else 'jsonl'}" for p in parts)]
        assert [there[f"{part}.parquet"] for part in parts[:2]] == [
            b"P" + expected(ROWS[:30]),
            b"P" + expected(ROWS[30:]),
        ]

    def test_progress_counts_rows_including_those_of_an_earlier_call(self, tmp_path: Path) -> None:
        progress = Steps()
        job(tmp_path).run(ROWS, answers, batch_size=9, progress=progress)
        assert progress.seen == [(count, False) for count in (9, 3) * 4 + (2,)]
        start_and_kill(tmp_path / "killed", 7)
        progress = Steps()
        job(tmp_path / "killed").run(ROWS, answers, batch_size=99, progress=progress)
        assert progress.seen == [(24, True), (12, False), (12, False), (2, False)]

    def test_the_manifest_has_names_sizes_and_hashes(self, tmp_path: Path) -> None:
        job(tmp_path).run(ROWS, answers)
        there = files(tmp_path / "out")
        assert sum(line.count(b"\n") for line in there[MANIFEST].splitlines(keepends=True)) == 7
        _, *shards, _ = map(json.loads, there[MANIFEST].splitlines())
        named = [file for shard in shards for file in shard["files"]]
        for file in named:
            content = there[file["name"]]
            assert file == {
                "name": file["name"], "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()
            }  # fmt: skip
        assert {file["name"] for file in named} == there.keys() - {MANIFEST}
        assert [(shard["read"], shard["written"], shard["rejected"]) for shard in shards] == [
            (12, 10, 2), (12, 12, 0), (12, 12, 0), (12, 11, 1), (2, 2, 0)
        ]  # fmt: skip

    def test_corrected_command_starts_over_if_every_row_failed(self, tmp_path: Path) -> None:
        failing = rows(5, at0="fail", at1="fail", at2="fail", at3="fail", at4="fail")
        with pytest.raises(
            JobFailedError, match=r"^all 5 rows failed, the first for this reason: failed: ValueError: a poisoned row$"
        ):
            job(tmp_path, size=2).run(failing, answers)
        manifest = (job(tmp_path).unfinished_folder / MANIFEST).read_text()
        assert [*json.loads(manifest)] == ["job"]
        job(tmp_path, size=2).run(ROWS[5:10], answers)
        assert len(list(io.open_corpus(tmp_path / "out"))) == 5

    def test_repeats_shards_of_only_failed_rows_if_too_many_failed(self, tmp_path: Path) -> None:
        def breaking(given: Iterable[Any]) -> Iterator[Answer]:
            yield from answers(given)
            raise JobFailedError("more than 4 rows failed")

        failing = rows(8, at3="fail", at4="fail", at5="fail", at6="fail", at7="fail")
        with pytest.raises(JobFailedError, match="more than 4"):
            job(tmp_path, size=2).run(failing, breaking)
        job(tmp_path, size=2).run(rows(8), answers)
        assert len(list(io.open_corpus(tmp_path / "out"))) == 7  # the shard in which it began was finished

    @pytest.mark.parametrize(
        "odd", [{"at0": "reject"}, {"at0": "fail", "at1": "reject"}, {"at0": "fail", "at1": "here"}]
    )
    def test_rejects_or_a_single_success_are_not_a_total_failure(self, odd: dict[str, str], tmp_path: Path) -> None:
        assert job(tmp_path).run(rows(len(odd), **odd), answers).read == len(odd)


class TestTarget:
    def test_refuses_an_existing_target_or_replaces_it_by_force(
        self, tmp_path: Path, undisturbed_shards: dict[str, bytes]
    ) -> None:
        job(tmp_path, seed=1).run(ROWS, answers, batch_size=3)
        for check in (job(tmp_path).check_target, lambda: job(tmp_path).run(ROWS, answers)):
            with pytest.raises(SettingsError, match="exists already"):
                check()
        assert not job(tmp_path).unfinished_folder.exists()
        job(tmp_path).run(ROWS, answers, overwrite=True)
        assert files(tmp_path / "out") == undisturbed_shards

    def test_accepts_an_empty_folder_as_target(self, tmp_path: Path, undisturbed_shards: dict[str, bytes]) -> None:
        (tmp_path / "out").mkdir()
        job(tmp_path).run(ROWS, answers)
        assert files(tmp_path / "out") == undisturbed_shards

    @pytest.mark.parametrize("folder", ["out", "out.part"])
    @pytest.mark.parametrize("name", ["mine.txt", "part-00000.jsonl"])
    def test_refuses_a_folder_with_other_files_even_by_force(self, folder: str, name: str, tmp_path: Path) -> None:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("precious")
        with pytest.raises(SettingsError, match=rf"files that are not part of a sharded job, e\.g\. {name}"):
            job(tmp_path).run(ROWS, answers, overwrite=True)
        assert files(tmp_path / folder) == {name: b"precious"}
        (tmp_path / folder / "zzz").touch()
        with pytest.raises(SettingsError, match=rf"e\.g\. {name}\."):
            job(tmp_path).check_target(overwrite=True)

    def test_a_file_is_refused_even_by_force(self, tmp_path: Path) -> None:
        (tmp_path / "out").write_text("precious")
        with pytest.raises(SettingsError, match="is a file"):
            job(tmp_path).run(ROWS, answers, overwrite=True)

    @pytest.mark.parametrize("is_there", [True, False])
    def test_keeps_a_symbolic_link_to_a_folder(
        self, is_there: bool, tmp_path: Path, undisturbed_shards: dict[str, bytes]
    ) -> None:
        (tmp_path / "disk").mkdir()
        (tmp_path / "out").symlink_to(tmp_path / "disk/real")
        if is_there:
            job(tmp_path / "disk", seed=1).run(ROWS, answers)
            (tmp_path / "disk/out").rename(tmp_path / "disk/real")
        job(tmp_path).run(ROWS, answers, overwrite=is_there)
        assert (tmp_path / "out").is_symlink()
        assert files(tmp_path / "disk/real") == undisturbed_shards
        assert sorted(os.listdir(tmp_path)) == ["disk", "out", "undisturbed"]

    def test_two_jobs_at_once_are_refused(self, tmp_path: Path) -> None:
        def disturbed(given: Iterable[Any]) -> Iterator[Answer]:
            with pytest.raises(SettingsError, match="another process is writing"):
                job(tmp_path).run(ROWS, answers)
            return answers(given)

        assert job(tmp_path).run(ROWS, disturbed).read == 50
