"""Run times: measured, added up over calls, and marked after kills."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import pytest

from nersery.core.errors import DiskError
from nersery.experiments.execution.run_time import RunTime, estimates
from nersery.experiments.recipe import load
from nersery.experiments.run_state.clock import Clock
from nersery.experiments.runner import Run
from tests.experiments.run_helpers import Trainings, execute
from tests.killing import KilledError


class Watch:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    monkeypatch.setattr("nersery.experiments.run_state.clock.time", watch)
    return watch


def test_times_add_up_over_calls(tmp_path: Path, watch: Watch):
    for seconds in (5, 7):
        with Clock(tmp_path).running("a", 0):
            watch.now += seconds
    assert Clock(tmp_path).record()["systems"]["a"]["0"] == {"seconds": 12.0, "killed": False, "is_running": False}


def test_failed_work_counts(tmp_path: Path, watch: Watch):
    with contextlib.suppress(KilledError), Clock(tmp_path).running("a", 0):
        watch.now += 3
        raise KilledError
    assert Clock(tmp_path).record()["systems"]["a"]["0"]["seconds"] == 3.0


def test_a_kill_is_recorded(tmp_path: Path, watch: Watch):
    entry = {"seconds": 1.0, "killed": False, "is_running": True}
    Clock(tmp_path).path.write_text(json.dumps({"estimates": {}, "systems": {"a": {"0": entry}}}))
    Clock(tmp_path).resume()
    assert Clock(tmp_path).record()["systems"]["a"]["0"]["killed"] is True


@pytest.mark.parametrize("content", ["", "{", "[]", "null"])
def test_a_damaged_record_is_ignored(tmp_path: Path, content: str):
    Clock(tmp_path).path.write_text(content)
    Clock(tmp_path).resume()
    with Clock(tmp_path).running("a", 0):
        pass
    assert list(Clock(tmp_path).record()["systems"]) == ["a"]


def test_a_folder_removed_meanwhile_is_a_disk_error(tmp_path: Path):
    with pytest.raises(DiskError, match="run was removed or moved while"), Clock(tmp_path / "run").running("a", 0):
        shutil.rmtree(tmp_path / "run")


@pytest.mark.usefixtures("folder")
def test_the_report_has_the_time_of_each_system():
    report = execute("seeds=[0, 1]")
    assert list(report["run_time"]) == ["gold", "both", "one"]
    assert all(len(one["seconds"]) == 2 and not one["killed"] for one in report["run_time"].values())
    assert all(one["estimate"] is None for one in report["run_time"].values())


@pytest.mark.usefixtures("languages")
def test_the_estimate_counts_the_sentences_of_each_language(monkeypatch: pytest.MonkeyPatch):
    seen = list[tuple[int, int]]()
    monkeypatch.setattr(RunTime, "total", lambda self, _: seen.append((len(self.gold), self.dev_count)) or 0.0)
    monkeypatch.setattr(RunTime, "scoring", lambda *_: 0.0)
    run = Run(load("recipe.toml", ["sample={ size = 5, dev_size = 3 }"]), Path("run"), quiet=True)
    run.read_corpora()
    estimates(run.recipe, run.corpora)
    assert {*seen} == {(10, 6)}


@pytest.mark.usefixtures("folder")
def test_the_estimate_is_printed_and_reported_once(memory: Trainings, capsys: pytest.CaptureFixture[str]):
    report = Run(load("recipe.toml"), Path("run")).execute().as_dict()
    assert "estimated total run time: " in capsys.readouterr().err
    assert all(one["estimate"] >= 0 for one in report["run_time"].values())
    memory.clear()
    again = Run(load("recipe.toml"), Path("run")).execute().as_dict()
    assert again["run_time"] == report["run_time"]
    assert memory == [], "a finished run is not timed again"
