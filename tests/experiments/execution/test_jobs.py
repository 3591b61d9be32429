"""Cells that several jobs share: dependencies, equal bytes, failures, kills."""

from __future__ import annotations

import errno
import json
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import nersery
from nersery.core.errors import DataError, DiskError, JobFailedError, SettingsError
from nersery.experiments.execution import jobs
from nersery.experiments.execution.cells import Cell, CellQueue, cells, makespan
from nersery.experiments.recipe import load
from nersery.experiments.runner import Run
from nersery.experiments.sweep.sweep_runner import Sweep
from nersery.experiments.system_run import SystemRun
from nersery.pipeline.engines.pool import Pool
from nersery.pipeline.engines.worker import WorkerTask
from tests.experiments.run_helpers import append_system, execute
from tests.forks import Server
from tests.killing import KilledError
from tests.pipeline.fakes import Capitals, Inline, rows
from tests.standins import files, tiny, without_last_system, write_recipe

SHUFFLE = 'method = "shuffle_within_segments"\nselect = []'


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> list[Inline]:
    """Jobs that run in this process; the engines that were requested."""
    engines = list[Inline]()

    def engine(threads: int | None) -> Inline:
        engines.append(Inline(len(engines)))
        return engines[-1]

    monkeypatch.setattr(jobs, "LocalEngine", engine)
    return engines


def needed(*overrides: str) -> dict[tuple[int, str], set[tuple[int, str]]]:
    found = cells(load("recipe.toml", overrides))
    return {(cell.seed, cell.system): {(n.seed, n.system) for n in needs} for cell, needs in found.items()}


@pytest.mark.usefixtures("folder")
class TestDependencies:
    def test_cells_wait_for_base_merged_tagger_and_shared_sentences(self):
        append_system(f'name = "based"\nbase = "one"\n{SHUFFLE}')
        append_system('name = "merged"\nmerge = ["one", "based"]\nselect = []')
        append_system(f'name = "free"\n{SHUFFLE}')
        append_system(f'name = "more"\ncopies = 3\n{SHUFFLE}')
        append_system('name = "other"\ntagger_settings = { longest = 2 }')
        found = {name: {other for _, other in needs} for (_, name), needs in needed().items()}
        assert found == {
            "gold": set(),
            "both": {"gold"},  # agreement needs the tagger
            "one": {"both"},  # which generates the same sentences
            "based": {"one"},
            "merged": {"one", "based"},
            "free": {"more"},  # uses its first copies
            "more": set(),
            "other": set(),
        }

    def test_a_grid_is_chosen_with_the_first_seed(self):
        found = needed("seeds=[3, 1]", "tagger.grid.steps=[1, 9]")
        assert found[1, "gold"] == {(3, "gold")}
        assert found[3, "gold"] == set()
        assert needed("seeds=[3, 1]")[1, "gold"] == set()

    def test_labels_that_depend_on_no_seed_wait_for_the_first_seed(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(
            "nersery.experiments.execution.cells.are_labels_shared", lambda system: system.name == "one"
        )
        assert needed("seeds=[0, 1]")[1, "one"] == {(1, "both"), (0, "one")}

    def test_the_queue_returns_ready_cells_in_the_order_of_the_recipe(self):
        schedule = CellQueue([load("recipe.toml", ["seeds=[0, 1]"])])
        assert [schedule.take(), schedule.take(), schedule.take()] == [Cell(0, 0, "gold"), Cell(0, 1, "gold"), None]
        schedule.finish(Cell(0, 1, "gold"))
        assert schedule.take() == Cell(0, 1, "both")

    def test_the_total_time_takes_jobs_and_waiting_into_account(self):
        recipe = load("recipe.toml", ["seeds=[0, 1]"])
        seconds = {"gold": 10.0, "both": 5.0, "one": 1.0}
        assert [makespan(recipe, seconds, n) for n in (1, 2, 9)] == [32.0, 16.0, 16.0]


@pytest.mark.usefixtures("folder", "memory", "without_pages")
class TestJobs:
    def test_several_jobs_write_the_same_bytes_as_one(self, inline: list[Inline], monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("OMP_NUM_THREADS", str(torch.get_num_threads()))
        overrides = ["seeds=[0, 1]", "keep_taggers=false"]
        execute(*overrides)
        Path("run").rename("alone")
        report = Run(load("recipe.toml", overrides), Path("run"), quiet=True, jobs=2).execute()
        assert len(inline[0].started) == 2
        assert files(Path("run")) == files(Path("alone"))
        assert all(seconds is not None for one in report.run_time.values() for seconds in one.seconds)

    @pytest.mark.parametrize("content", ["{", "[]", "{}"])
    def test_refuses_a_damaged_record(self, content: str):
        Path("run").mkdir()
        Path("run/run.json").write_text(content)
        with pytest.raises(SettingsError, match=r"run\.json is damaged, or another version wrote it"):
            Run(load("recipe.toml"), Path("run"), quiet=True, jobs=2).execute()

    def test_a_finished_run_starts_no_job(self, inline: list[Inline]):
        before = execute()
        assert Run(load("recipe.toml"), Path("run"), quiet=True, jobs=2).execute().as_dict() == before
        assert not inline[0].started

    def test_a_sweep_shares_the_cells_of_all_runs(self, inline: list[Inline]):
        overrides = ["sweep.sizes=[8, 16]"]
        Sweep(load("recipe.toml", overrides), Path("alone"), quiet=True).execute()
        report = Sweep(load("recipe.toml", overrides), Path("sweep"), quiet=True, jobs=2).execute()
        assert len(inline) == 1
        assert report.done == len(report.cells) == 6
        assert files(Path("sweep")).keys() == files(Path("alone")).keys()
        assert Path("sweep/tables/systems.csv").read_bytes() == Path("alone/tables/systems.csv").read_bytes()

    @pytest.mark.parametrize("number", [1, 2])
    def test_a_failing_cell_does_not_stop_the_others(
        self, number: int, inline: list[Inline], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        whole = SystemRun.train_and_score

        def fails(self: SystemRun) -> None:
            if self.system.name == "both":
                raise DataError("no luck")
            whole(self)

        with monkeypatch.context() as patch:
            patch.setattr(SystemRun, "train_and_score", fails)
            with pytest.raises(DataError, match="no luck"):
                Run(load("recipe.toml"), Path("run"), jobs=number).execute()
        assert "note: both, seed 0 failed: no luck" in capsys.readouterr().err
        done = [name for name in ("gold", "both", "one") if Path(f"run/seed-0/{name}/result.json").exists()]
        assert done == ["gold", "one"]
        assert Path("run/seed-0/gold/tagger").exists(), "what is left may need it"
        Run(load("recipe.toml"), Path("run"), quiet=True, jobs=number).execute()

    @pytest.mark.parametrize("name", ["gold", "both", "one"])
    @pytest.mark.parametrize("number", [1, 2])
    def test_a_folder_that_is_removed_ends_the_run(
        self, name: str, number: int, inline: list[Inline], monkeypatch: pytest.MonkeyPatch
    ):
        whole = SystemRun.train_and_score

        def removes(self: SystemRun) -> None:
            if self.system.name == name:
                shutil.rmtree("run")
            whole(self)

        with monkeypatch.context() as patch:
            patch.setattr(SystemRun, "train_and_score", removes)
            with pytest.raises(
                DiskError, match=r"run was removed or moved while it was used\. Delete what is left of it"
            ):
                Run(load("recipe.toml"), Path("run"), quiet=True, jobs=number).execute()
        shutil.rmtree("run", ignore_errors=True)
        Run(load("recipe.toml"), Path("run"), quiet=True, jobs=number).execute()

    def test_the_last_failure_is_not_reported_twice(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        def fails(self: SystemRun) -> None:
            raise DataError("no luck")

        monkeypatch.setattr(SystemRun, "train_and_score", fails)
        with pytest.raises(DataError, match="no luck"):
            Run(load("recipe.toml", ["systems=[]"]), Path("run")).execute()
        assert "note: gold, seed 0 failed\n" in capsys.readouterr().err

    def test_a_job_that_dies_twice_loses_only_its_cell(self, inline: list[Inline], monkeypatch: pytest.MonkeyPatch):
        whole = SystemRun.train_and_score

        def dies(self: SystemRun) -> None:
            if self.system.name == "both":
                raise KilledError
            whole(self)

        monkeypatch.setattr(SystemRun, "train_and_score", dies)
        with pytest.raises(JobFailedError, match="a worker died of it: killed"):
            Run(load("recipe.toml"), Path("run"), quiet=True, jobs=2).execute()
        assert Path("run/seed-0/one/result.json").exists()

    @pytest.mark.usefixtures("inline")
    def test_a_job_that_reads_an_edited_file_stops(self, monkeypatch: pytest.MonkeyPatch):
        carried_out = jobs.CellStage._carried_out

        def edits(self: jobs.CellStage, cell: Cell, number: int) -> Exception | None:
            Path("test.conll").write_text("Rex B-PER\nis O\n", "utf-8")
            return carried_out(self, cell, number)

        monkeypatch.setattr(jobs.CellStage, "_carried_out", edits)
        with pytest.raises(DataError, match=r"test\.conll: this file has changed since the run began"):
            Run(load("recipe.toml"), Path("run"), quiet=True, jobs=2).execute()

    def test_a_resumed_run_keeps_its_number_of_threads(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        monkeypatch.setattr("os.sched_getaffinity", lambda _: {*range(8)}, raising=False)
        execute("seeds=[0]")
        record = Path("run/run.json")
        text = json.loads(record.read_text("utf-8"))
        text["versions"]["threads"] = "3"
        record.write_text(json.dumps(text), "utf-8")
        assert jobs.threads_of_jobs([Path("new")], 1) is None
        assert jobs.threads_of_jobs([Path("new")], 3) == 2
        assert jobs.threads_of_jobs([Path("new"), Path("run")], 3) == 3
        monkeypatch.setenv("OMP_NUM_THREADS", "5")
        assert jobs.threads_of_jobs([Path("run")], 3) == 5


def test_a_line_of_wide_characters_fits_into_its_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("COLUMNS", "10")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    board = jobs.ProgressBoard(quiet=False)
    board.show("同义词替换: 1/3", [(Cell(0, 0, "同义词替换"), 0)])
    board.show("gold: 1/30", [(Cell(0, 0, "gold"), 1)])
    assert capsys.readouterr().err.endswith("\r\x1b[J同义词替 \ngold: 1/3\x1b[1A\r")


def test_a_full_disk_has_the_same_message_as_in_a_command():
    text = jobs.failure_text(OSError(errno.EDQUOT, "Disk quota exceeded", "run/seed-0/a"))
    fix = "Free some space and repeat the command: a long job resumes"
    assert text == f"cannot read or write run/seed-0/a: Disk quota exceeded. {fix}"
    assert jobs.failure_text(ValueError("odd")) == "ValueError: odd"


@pytest.mark.parametrize("jobs", [0, -3, 2.5, True, None, "2", 5000])
def test_refuses_an_impossible_number_of_jobs(jobs: Any) -> None:
    with pytest.raises(SettingsError, match=r"jobs is .*expected a whole number from 1 to 1000"):
        nersery.run("demo", output="run", jobs=jobs)


def test_dependent_batches_are_answered_as_they_finish():
    todo, given = rows(6), []

    def next_batch() -> Any:
        if not todo or (given and len(todo) == 5 and not answered):
            return None  # the second waits for the first
        given.append(todo[0])
        return [todo.pop(0)]

    answered = []
    with Pool(Inline(3), WorkerTask(Capitals(), is_first=False), 2, print, ahead=1) as pool:
        for batch, answer in pool.answers_in_any_order(next_batch):
            assert answer.tally.written == 1
            answered += batch
    assert sorted(s.id for s in answered) == sorted(s.id for s in given)
    assert len(answered) == 6


def test_killed_and_resumed_processes_write_the_same_bytes(tmp_path: Path, tiny_model: str, server: Server):
    without_last_system(write_recipe(tmp_path, tiny(tiny_model)))
    command = ["run", "recipe.toml", "-q", "--set", "seeds=[0, 1]", "--out", "run"]
    assert server.run(*command, cwd=tmp_path)[0] == 0
    (tmp_path / "run").rename(tmp_path / "alone")
    process = server.start(*command, "--jobs", "2", cwd=tmp_path)
    process.kill_when_there_is(tmp_path / "run/seed-1/gold/tagger", signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    code, _, err = server.run(*command, cwd=tmp_path)  # any number of jobs may resume
    assert code == 0, err
    assert files(tmp_path / "run") == files(tmp_path / "alone")
