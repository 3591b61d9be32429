"""A grid of tagger settings that are tried on dev."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from nersery import io
from nersery.core.errors import NerseryError, SettingsError
from nersery.experiments.grid import combinations
from nersery.experiments.recipe import load
from tests.experiments.run_helpers import Trainings, append_system, each_or_some, execute, killing, system
from tests.killing import KilledError
from tests.standins import Memory, files, sentences

GRID = "tagger.grid.steps=[1, 5, 3, 7]"


@pytest.fixture(autouse=True)
def best_with_three_steps(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Other numbers of steps find fewer mentions."""
    whole = Memory._found

    def found(tagger: Memory, words: tuple[str, ...]) -> Any:
        return [entity for entity in whole(tagger, words) if tagger.steps in (3, 7) or entity.type == "PER"]

    monkeypatch.setattr(Memory, "_found", found)


def tried(name: str, run: str = "run") -> Any:
    return json.loads(Path(run, "grid", f"{name}.json").read_text("utf-8"))


def test_the_best_settings_on_dev_are_used_for_all_seeds(memory: Trainings) -> None:
    report = execute("seeds=[0, 1]", GRID)
    record = tried("gold")
    assert [trial["settings"]["steps"] for trial in record["trials"]] == [1, 5, 3, 7]
    low, same, high, high_too = (trial["f1"] for trial in record["trials"])
    assert low == same < high == high_too
    assert record["chosen"] == {"steps": 3}
    for described in report["systems"]:
        assert [course["steps"] for course in described["training"]] == [3, 3]
        assert described["grid"] == tried(described["name"])
    assert [seed for seed, _ in memory].count(1) == len(report["systems"])
    assert not [*Path("run").rglob("*.training")]


def test_the_report_shows_the_tried_settings() -> None:
    execute(GRID)
    text = Path("run/report.md").read_text("utf-8")
    assert "## Settings tried on dev" in text
    assert "| 3 |" in text
    assert "(chosen)" in text
    assert 'id="grid"' in Path("run/report.html").read_text("utf-8")


def test_tries_nothing_without_a_grid() -> None:
    assert system(execute(), "gold")["grid"] is None
    assert not Path("run/grid").exists()
    assert "grid" not in json.loads(Path("run/run.json").read_text("utf-8"))["recipe"]


def test_tries_nothing_if_nothing_can_be_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "_found", lambda *_: [])
    io.write(sentences(9, 300), "raw.conll")
    append_system('name = "labels"\nmethod = "tagger_labels"\ngold_copies = 0')
    described = system(execute(GRID, "data.raw=raw.conll"), "labels")
    assert (described["grid"], described["training"][0]["untrained"]) == (None, True)


@each_or_some
def test_a_kill_loses_at_most_one_trial(each: int, memory: Trainings, without_pages: None) -> None:
    execute(GRID, out="whole")
    whole, total = files(Path("whole")), len(memory)
    with killing(0) as count:
        execute(GRID, out="counted")
    moves = count()
    for at in range(1, moves, max(1, each * moves // 12)):
        memory.clear()
        with pytest.raises(KilledError), killing(at):
            execute(GRID)
        execute(GRID)
        found = {name: content for name, content in files(Path("run")).items() if not name.startswith("report")}
        assert found == {name: content for name, content in whole.items() if not name.startswith("report")}
        assert len(memory) <= total + 2
        shutil.rmtree("run")


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"seed": 0'])
def test_refuses_a_damaged_record(content: str, without_pages: None) -> None:
    execute(GRID)
    Path("run/grid/gold.json").write_text(content)
    for _ in ("read for the report", "read to train"):
        with pytest.raises(NerseryError, match=r"grid/gold\.json is damaged\. Delete it, and repeat the command"):
            execute(GRID)
        shutil.rmtree("run/seed-0/gold", ignore_errors=True)


def test_the_report_notes_which_seed_chose_the_settings() -> None:
    execute(GRID)
    record = tried("gold")
    assert record["seed"] == 0
    report = execute("seeds=[1, 0]", GRID)
    assert tried("gold") == record == report["systems"][0]["grid"]
    assert "gold: its settings were chosen with seed 0, with which the run began" in report["notes"]
    assert not any("chosen with seed" in note for note in execute("seeds=[0, 1]", GRID)["notes"])


def test_trials_of_another_seed_are_not_resumed(without_pages: None) -> None:
    with killing(0) as count:
        execute(GRID, out="counted")
    for at in range(1, count()):
        with pytest.raises(KilledError), killing(at):
            execute(GRID)
        if Path("run/grid/gold.json").exists():
            break
        shutil.rmtree("run")
    assert "chosen" not in tried("gold")
    execute("seeds=[1, 0]", GRID)
    execute("seeds=[1, 0]", GRID, out="anew")
    assert tried("gold") == tried("gold", "anew")
    assert tried("gold")["seed"] == 1


def test_refuses_another_grid_in_the_same_folder() -> None:
    execute(GRID)
    with pytest.raises(SettingsError, match=r"other settings:\n.*grid"):
        execute("tagger.grid.steps=[1, 5]")


@pytest.mark.parametrize(
    ("grid", "complaint"),
    [
        ("3", "tagger.grid: 3 is not a table of lists"),
        ("{ steps = 3 }", "tagger.grid: steps is 3, expected a list of different values"),
        ("{ steps = [] }", "tagger.grid: steps is [], expected a list"),
        ("{ steps = [2, 2] }", "tagger.grid: steps is [2, 2], expected a list of different values"),
        ("{ longest = [2, 3] }", 'tagger.grid: "longest" cannot be in a grid; known: '),
        ("{ stepps = [2, 3] }", 'tagger.grid: "stepps" cannot be in a grid; did you mean "steps"?'),
        ("{ steps = [2, 'x'] }", "tagger.grid: memory.steps is 'x': "),
        ("{ steps = [1], epochs = [2] }", "tagger.grid: steps and epochs both set the length"),
    ],
)
def test_refuses_wrong_grids(grid: str, complaint: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load("recipe.toml", [f"tagger.grid={grid}"])
    assert complaint in str(caught.value)
    assert "1 issue in" in str(caught.value)


def test_steps_in_a_grid_replace_epochs() -> None:
    recipe = load("recipe.toml", ["tagger.method=transformer", "tagger.epochs=3", "tagger.grid.steps=[3, 4]"])
    assert recipe.grid == {"steps": [3, 4]}


def test_the_head_rate_follows_a_shared_learning_rate() -> None:
    grid = {"learning_rate": [1e-5, 3e-5], "batch_size": [8]}
    shared = {"learning_rate": 2e-5, "head_learning_rate": 2e-5}
    assert combinations(grid, shared) == [
        {"learning_rate": 1e-5, "batch_size": 8, "head_learning_rate": 1e-5},
        {"learning_rate": 3e-5, "batch_size": 8, "head_learning_rate": 3e-5},
    ]
    assert combinations(grid, {**shared, "head_learning_rate": 2e-3}) == combinations(grid)
    assert combinations({"batch_size": [8]}, shared) == [{"batch_size": 8}]
    assert combinations({**grid, "head_learning_rate": [1.0]}, shared)[0]["head_learning_rate"] == 1.0
