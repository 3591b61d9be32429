"""Grow jobs that are killed, interrupted or given more time: what is kept, and what is redone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from nersery import io
from nersery.core.errors import DiskError, NerseryError, OutOfTimeError, SettingsError
from nersery.core.system.files import remove
from nersery.core.system.locks import locked
from nersery.core.warnings import forget_notes
from nersery.experiments.execution import run_time
from nersery.experiments.grow import budget, plan, session
from nersery.experiments.grow.budget import Budget
from nersery.experiments.grow.grow_result import GrowResult
from nersery.experiments.grow.search import Search
from nersery.experiments.grow.session import GrowJob
from nersery.experiments.recipe import load
from nersery.experiments.runner import Run
from nersery.report.system_names import GOLD
from nersery.taggers.base import load_tagger
from tests.experiments.grow.tiny_jobs import FOLDS, grow
from tests.killing import KilledError
from tests.standins import sentences

LAST = Path(f"out/run/seed-{FOLDS}")
"""The training on all sentences."""


def test_the_same_call_resumes(grown: GrowResult, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Run.run_system
    done: list[str] = []

    def run_system(self: Run, seed: int, system: Any) -> None:
        if len(done) == 3:
            raise KilledError
        original(self, seed, system)
        done.append(system.name)

    monkeypatch.setattr(Run, "run_system", run_system)
    with pytest.raises(KilledError):
        grow(minutes=10, output="cut")
    monkeypatch.setattr(Run, "run_system", original)
    before = {path: path.stat().st_mtime_ns for path in Path("cut").rglob("result.json")}
    resumed = grow(minutes=10, output="cut")
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert (resumed.best, resumed.dev_f1, resumed.test_f1) == (grown.best, grown.dev_f1, grown.test_f1)
    assert str(grow(minutes=10)) == str(grown), "a finished job only says again what it found"


def test_a_second_call_that_starts_at_the_same_time_names_the_first(folder: Path) -> None:
    Path("out").mkdir()
    with locked(Path("out")):
        Path("out/spent.txt").write_text("0.1", "utf-8")  # its record comes next
        with pytest.raises(SettingsError, match="another process is writing out"):
            grow(minutes=10)


def test_a_kill_while_planning_loses_one_timing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **more: object) -> float:
        raise KilledError

    def grow_until(place: type, method: str, output: str) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(place, method, killed)
            with pytest.raises(KilledError):
                grow(minutes=10, output=output)

    timed: list[str] = []
    original = run_time.tagger_speed

    def tagger_speed(settings: Any, gold: Any) -> Any:
        timed.append(settings.settings["model"])
        return original(settings, gold)

    monkeypatch.setattr(run_time, "tagger_speed", tagger_speed)
    grow_until(plan._PlanDraft, "schedules", "out")
    record = json.loads(Path("out/grow.json").read_text("utf-8"))
    assert (len(record["speeds"]), record["spent"] > 0) == (1, True)
    grow_until(Search, "execute", "out")
    assert len(timed) == 1
    io.write(sentences(25), "train.conll")
    grow_until(plan._PlanDraft, "schedules", "other")
    io.write(sentences(26), "train.conll")
    grow_until(Search, "execute", "other")
    assert len(timed) == 3, "other sentences are timed again"


def test_keeps_a_final_training_that_cannot_be_scored_in_time(
    grown: GrowResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scoring on test runs out of time, for the best system or for gold only."""
    original = Run.run_system
    shutil.rmtree(LAST)
    monkeypatch.setattr(Search, "best", lambda self: self.tried.get("self-training") or self.tried.get(GOLD))
    for late in ("best", "gold"):

        def run_system(self: Run, seed: int, system: Any, late: str = late) -> None:
            original(self, seed, system)
            if seed == FOLDS and (system.name == GOLD) == (late == "gold"):
                self.path(seed, system, "result.json").unlink()
                raise OutOfTimeError

        monkeypatch.setattr(Run, "run_system", run_system)
        shutil.copytree("out", late)
        result = grow(minutes=10, output=late)
        assert result.best != GOLD
        corpus = {sentence.words for sentence in io.read(f"{late}/corpus.jsonl")}
        assert corpus >= {sentence.words for sentence in io.read("train.conll")}
        assert not any("has not seen those" in note for note in result.notes)
        assert result.test is None
        gold, best = result.test_f1
        assert gold is None
        assert (best is None) == (late == "best")
        expected = "too short to train gold only" if late == "gold" else "too short to score the final tagger"
        assert (expected in str(result), result.is_final) == (True, True)
        assert "## Results on held-out sentences" in Path(late, "report.md").read_text("utf-8")


def test_ctrl_c_writes_the_best_result_so_far(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Search, *args: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "_relabel", interrupted)
    with pytest.raises(KeyboardInterrupt):
        grow(minutes=10)
    assert load_tagger("out/tagger").types == ("LOC", "PER")
    assert "interrupted" in Path("out/report.md").read_text("utf-8")


def test_a_removed_folder_is_an_error_and_is_not_recreated(
    grown: GrowResult, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def removes(*_: object) -> None:
        shutil.rmtree("gone")

    monkeypatch.setattr(Run, "run_system", removes)
    with pytest.raises(DiskError, match=r"^gone was removed or moved while .* name its new place"):
        grow(minutes=10, output="gone")
    assert not Path("gone").exists()


@pytest.mark.parametrize("removed", ["", "gold", "gold/predicted.jsonl", "gold/result.json"])
def test_files_that_are_removed_from_a_fold_are_made_again(
    grown: GrowResult, removed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fold = Path("out/run/seed-0")
    before = {path: path.read_bytes() for path in fold.rglob("predicted.jsonl")}
    remove(fold / removed)
    assert str(grow(minutes=10, quiet=False)) == str(grown)
    assert {path: path.read_bytes() for path in fold.rglob("predicted.jsonl")} == before
    assert "fold 1 of 2 · gold only: again, its files are missing" in capsys.readouterr().err


def test_advice_on_a_damaged_file_of_a_fold_helps(grown: GrowResult) -> None:
    damaged = Path("out/run/seed-0/gold/predicted.jsonl")
    damaged.write_bytes(damaged.read_bytes()[:-9])
    with pytest.raises(NerseryError, match=r"predicted\.jsonl is damaged\. Delete it, and repeat the command"):
        grow(minutes=10)
    damaged.unlink()
    assert str(grow(minutes=10)) == str(grown)


def cut(path: Path) -> None:
    """Remove the last bytes of a file."""
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.parametrize("name", ["model.safetensors", "crf.safetensors", "config.json", "nersery.json"])
@pytest.mark.parametrize("damage", [cut, Path.unlink])
def test_a_damaged_final_tagger_does_not_replace_its_good_copy(
    grown: GrowResult, name: str, damage: Callable[[Path], object]
) -> None:
    tagger, copied = LAST / "self-training/tagger", Path("out/tagger/model.safetensors")
    before = copied.read_bytes()
    damage(tagger / name)
    advice = rf"^{tagger} is damaged, so it is not copied to out/tagger\. Delete {tagger.parent}, and repeat"
    with pytest.raises(NerseryError, match=advice):
        grow(minutes=10)
    assert copied.read_bytes() == before
    shutil.rmtree(tagger.parent)
    assert str(grow(minutes=10)) == str(grown)
    assert copied.read_bytes() == (tagger / copied.name).read_bytes() == before


@pytest.mark.parametrize("damage", [cut, lambda path: path.write_bytes(b""), Path.unlink])
def test_a_damaged_plan_is_named_as_such(grown: GrowResult, damage: Callable[[Path], object]) -> None:
    """Not as a recipe with issues: the user has not written it."""
    damage(Path("out/search.toml"))
    with pytest.raises(DiskError, match=r"^out/search\.toml was removed or has changed, so .*\. Restore it from a"):
        grow(minutes=10)


@pytest.mark.parametrize("content", [b"", b"\0" * 99, b'{"fingerprint": {', b"[]", b"{}"])
def test_a_damaged_record_changes_nothing_in_the_folder(grown: GrowResult, content: bytes) -> None:
    Path("out/grow.json").write_bytes(content)
    Path("out/grow.json.bak").write_bytes(content)
    before = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*")}
    with pytest.raises(
        SettingsError, match=r"^out/grow\.json is damaged, .* Restore grow\.json or its copy grow\.json\.bak from"
    ):
        grow(minutes=10)
    assert {path: path.stat().st_mtime_ns for path in Path("out").rglob("*")} == before


@pytest.mark.parametrize("name", ["grow.json", "run/run.json"])
@pytest.mark.parametrize("damage", [cut, lambda path: path.write_bytes(b""), Path.unlink])
def test_a_damaged_record_is_replaced_by_its_copy(
    grown: GrowResult, name: str, damage: Callable[[Path], object], capfd: pytest.CaptureFixture[str]
) -> None:
    forget_notes()
    results = {path: path.stat().st_mtime_ns for path in Path("out/run").rglob("result.json")}
    before = Path("out", name).read_bytes()
    damage(Path("out", name))
    assert str(grow(minutes=10)) == str(grown)
    note = f"note: out/{name} was removed or is damaged; its copy {Path(name).name}.bak is used"
    assert capfd.readouterr().err.count(note) == 1
    assert results == {path: path.stat().st_mtime_ns for path in results}, "nothing is trained again"
    assert json.loads(Path("out", name).read_bytes()).keys() == json.loads(before).keys()


@pytest.mark.parametrize("name", ["train", "raw", "test"])
@pytest.mark.parametrize("change", [Path.unlink, cut])
def test_a_job_whose_data_were_removed_or_damaged_cannot_resume(
    grown: GrowResult, name: str, change: Callable[[Path], object]
) -> None:
    change(Path(f"out/data/{name}.jsonl"))
    with pytest.raises(DiskError, match=rf"^out/data/{name}\.jsonl was removed or has changed, so this job cannot"):
        grow(minutes=10)


def test_names_the_files_that_differ_instead_of_their_hashes(grown: GrowResult) -> None:
    io.write(sentences(3, 200), "more.conll")
    with pytest.raises(SettingsError) as error:
        GrowJob(("train.conll", "more.conll"), Path("out"), raw="more.conll").execute()
    assert "files.train 2: was nothing, now 'more.conll'" in str(error.value)
    assert "files.raw (more.conll): the content has changed" in str(error.value)
    with pytest.raises(SettingsError, match=r"files\.raw: was a file, now nothing"):
        GrowJob(("train.conll",), Path("out")).execute()


def test_another_winner_is_trained_with_its_own_schedule(grown: GrowResult) -> None:
    record = json.loads(Path("out/grow.json").read_text("utf-8"))
    record["final"] = {"system": "another", "schedule": [8, 4]}
    Path("out/grow.json").write_text(json.dumps(record), "utf-8")
    results = [*LAST.rglob("result.json")]
    before = {path: path.stat().st_mtime_ns for path in results}
    grow(minutes=10)
    assert before
    assert all(path.stat().st_mtime_ns > before[path] for path in results)


@pytest.mark.parametrize("error", [OutOfTimeError, KeyboardInterrupt])
def test_an_interrupted_final_training_leaves_the_recipe_of_the_search(
    error: type[BaseException], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Run.run_system

    def run_system(self: Run, seed: int, system: Any) -> None:
        if seed == FOLDS:
            raise error
        original(self, seed, system)

    monkeypatch.setattr(Run, "run_system", run_system)
    with suppress(KeyboardInterrupt):
        grow(minutes=10, raw=None)  # self-training is not relevant here
    assert load("out/recipe.toml").tagger.settings["steps"] == 8
    assert "has not seen those of one fold; repeat the command with more --minutes" in Path("out/report.md").read_text(
        "utf-8"
    )


def test_ctrl_c_in_a_resumed_job_keeps_its_tagger(grown: GrowResult, monkeypatch: pytest.MonkeyPatch) -> None:
    """The taggers of the folds are gone."""

    def interrupted(self: Search) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "execute", interrupted)
    before = Path("out/tagger/model.safetensors").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        grow(minutes=20)
    assert Path("out/tagger/model.safetensors").read_bytes() == before
    assert "interrupted" in Path("out/report.md").read_text("utf-8")
    shutil.rmtree(LAST)
    with pytest.raises(KeyboardInterrupt):
        grow(minutes=20)
    assert Path("out/tagger/model.safetensors").read_bytes() == before
    assert "tagger/ is still from an earlier call" in Path("out/report.md").read_text("utf-8")


def test_the_correction_of_estimates_survives_a_kill(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of a training does not show how long the whole takes."""
    learnt: list[float] = []
    original = Budget.learn

    def learn(self: Budget, estimate: float, actual: float) -> None:
        learnt.append(estimate)
        original(self, estimate, actual)
        self.factor = 2.5

    def killed(self: Run, seed: int, system: Any) -> None:
        self.path(seed, system, "x").parent.mkdir(parents=True)
        raise KeyboardInterrupt

    monkeypatch.setattr(Budget, "learn", learn)
    run_system = Run.run_system
    monkeypatch.setattr(Search, "_try_methods", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        grow(minutes=10)
    assert json.loads(Path("out/grow.json").read_text("utf-8"))["factor"] == 2.5
    shutil.rmtree("out")
    learnt.clear()
    monkeypatch.setattr(Run, "run_system", killed)
    with pytest.raises(KeyboardInterrupt):
        grow(minutes=10)
    monkeypatch.setattr(Run, "run_system", run_system)
    with pytest.raises(KeyboardInterrupt):
        grow(minutes=10)
    assert learnt == []


def test_the_time_of_a_killed_call_counts_but_file_times_do_not(grown: GrowResult, folder: Path) -> None:
    before = json.loads(Path("out/grow.json").read_text("utf-8"))["spent"]
    ahead = Path("out/grow.json").stat().st_mtime + 7200
    os.utime(next(Path("out/run").rglob("result.json")), (ahead, ahead))
    Path("out/spent.txt").write_text(f"{before + 100}\n")
    grow(minutes=10)
    assert before + 100 <= json.loads(Path("out/grow.json").read_text("utf-8"))["spent"] < before + 600


def test_planning_time_is_recorded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = list[float]()

    def plan(*_: Any) -> Any:
        while not noted or noted[-1] < 0.2:
            noted.append(budget.noted_seconds(Path("out/spent.txt")))
        raise KeyboardInterrupt

    monkeypatch.setattr(budget, "BEAT", 0.01)
    monkeypatch.setattr(session, "make_plan", plan)
    with pytest.raises(KeyboardInterrupt):
        grow()
