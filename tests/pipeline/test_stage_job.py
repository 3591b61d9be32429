"""Stages that library users run into a file or over shards, without naming what the result depends on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nersery import io
from nersery.augment.base import AugmentStage, augment
from nersery.core.errors import DataError, NerseryError, SettingsError
from nersery.core.sentence import Corpus
from nersery.core.system.process_settings import THREADS
from nersery.core.training_context import Training
from nersery.crosslingual.label_projection.project_stage import project
from nersery.io.base import InMemory
from nersery.pipeline import stage_job as stage_module
from nersery.pipeline.stage import Stage
from nersery.pipeline.stage_job import Rows, stage_job
from nersery.pipeline.stage_options import JobOptions
from nersery.select.base import select
from nersery.select.duplicates import Duplicates
from tests.standins import sentences

GOLD = Corpus(sentences(24))
STAGE = AugmentStage("mention_replacement", {"rate": 0.8}, gold=GOLD, training=Training(seed=3), copies=2)


@pytest.mark.parametrize("shards", [None, 10])
def test_job_writes_what_the_library_makes_in_memory(tmp_path: Path, shards: int | None) -> None:
    job = stage_job(STAGE, InMemory(GOLD), tmp_path / "more.jsonl", JobOptions(shards, quiet=True))
    tally = job.run()
    made = augment(GOLD, STAGE.load(), copies=2, seed=3)
    assert [*io.read(tmp_path / "more.jsonl")] == [*made.corpus]
    assert tally == made.tally


@pytest.mark.parametrize("shards", [None, 10])
def test_a_method_that_has_been_used_can_be_used_again(tmp_path: Path, shards: int | None) -> None:
    method = Duplicates()
    before = select(GOLD, method, quiet=True)
    tally = select(GOLD, method, output=tmp_path / "kept.jsonl", shards=shards, quiet=True)
    assert [*io.read(tmp_path / "kept.jsonl")] == [*before.corpus]
    assert tally == before.tally


@pytest.mark.parametrize("output", [None, "more.jsonl"])
def test_refuses_duplicate_ids_in_memory_before_any_work(output: str | None, tmp_path: Path) -> None:
    rows = [*GOLD, replace(GOLD[0], words=GOLD[1].words, entities=())]
    with pytest.raises(DataError, match="another sentence has the same id"):
        augment(rows, "mention_replacement", output=output and tmp_path / output, quiet=True)
    with pytest.raises(DataError, match="another sentence has the same id"):
        project(rows, rows, [()] * len(rows), output=output and tmp_path / output, quiet=True)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("shards", [None, 10])
def test_an_input_that_changes_during_the_job_is_an_error(
    shards: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, output, count = tmp_path / "gold.jsonl", tmp_path / "more.jsonl", stage_module._count

    def count_and_cut(rows: Rows, stage: Stage[Any, Any]) -> int:
        found = count(rows, stage)
        io.write(GOLD[:12], file)
        return found

    io.write(GOLD, file)
    with monkeypatch.context() as patch:
        patch.setattr(stage_module, "_count", count_and_cut)
        with pytest.raises(NerseryError, match=r"the input .*gold\.jsonl changed while the job ran.*force=True"):
            stage_job(STAGE, io.open_corpus(file), output, JobOptions(shards, quiet=True)).run()
    assert not output.exists()
    forced = JobOptions(shards, quiet=True, force=True)
    assert stage_job(STAGE, io.open_corpus(file), output, forced).run().read == 24


def test_a_job_whose_input_was_removed_resumes_once_it_is_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, output = tmp_path / "gold.jsonl", tmp_path / "more.jsonl"
    outcomes = io.Source.outcomes

    def removing(source: io.Source) -> Iterator[Any]:
        yield from outcomes(source)
        file.unlink()

    io.write(GOLD, file)
    with monkeypatch.context() as patch:
        patch.setattr(stage_module, "_count", lambda *_: len(GOLD))
        patch.setattr(io.Source, "outcomes", removing)
        with pytest.raises(NerseryError, match=r"gold\.jsonl was removed while the job ran\. Put it back, and repeat"):
            stage_job(STAGE, io.open_corpus(file), output, JobOptions(quiet=True)).run()
    io.write(GOLD, file)
    assert stage_job(STAGE, io.open_corpus(file), output, JobOptions(quiet=True)).run().written


def test_number_of_workers_has_a_maximum() -> None:
    assert JobOptions(10, 1000).workers == 1000
    with pytest.raises(SettingsError, match=r"^workers is 1001, expected a number in \[1, 1000\]$"):
        JobOptions(10, 1001)


def test_an_empty_number_of_threads_counts_as_unset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS, "")
    stage_job(STAGE, InMemory(GOLD), tmp_path / "more.jsonl", JobOptions(2, quiet=True)).run()
    assert len(io.read(tmp_path / "more.jsonl")) > 0


def test_an_unfinished_job_with_other_settings_is_refused(tmp_path: Path) -> None:
    job = stage_job(STAGE, InMemory(GOLD), tmp_path / "more.jsonl", JobOptions(quiet=True))
    part = tmp_path / "more.jsonl.part"
    part.mkdir()
    state = {"fingerprint": json.loads(json.dumps({"nersery": "0.1.0", **job.fingerprint}))}
    state |= {"read": 2, "written": 2, "reasons": {}, "bytes": [0, 0], "finished": False}
    (part / "journal.json").write_text(json.dumps(state), "utf-8")
    other = stage_job(replace(STAGE, training=Training(seed=4)), job.rows, job.target, job.options)
    with pytest.raises(SettingsError, match=r"training\.seed: was 3, now 4"):
        other.run()
    rows = stage_job(STAGE, InMemory(Corpus([*GOLD][1:])), job.target, job.options)
    with pytest.raises(SettingsError, match="rows: the content has changed"):
        rows.run()
    assert job.run().read == 48
