"""Folders for the recipes of tests, and a finished run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nersery import io
from nersery.core.system.files import write_json
from nersery.experiments import runner
from tests.experiments.recipe_helpers import Write
from tests.experiments.run_helpers import TRAIN_BY_LANGUAGE, Trainings, execute, hindi
from tests.standins import register, sentences, write_recipe


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a recipe and returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "recipe.toml"
        path.write_text(text, "utf-8")
        return str(path)

    return write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: Trainings) -> Path:
    """The working directory: data files, and a recipe with a quick tagger."""
    write_recipe(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def ended_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of a run of that recipe, once for all tests."""
    folder = tmp_path_factory.mktemp("ended")
    with pytest.MonkeyPatch.context() as patch:
        register(patch)
        patch.chdir(folder)
        write_recipe(folder)
        execute()
    return folder / "run"


@pytest.fixture
def ended(folder: Path, ended_run: Path, memory: Trainings) -> Path:
    """That run in ``run``."""
    memory.clear()
    shutil.copytree(ended_run, folder / "run")
    return folder / "run"


@pytest.fixture
def without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs write their reports only as JSON: with quick taggers, the pages take half of the time."""
    monkeypatch.setattr(runner, "write_report", lambda report, to: write_json(to / "report.json", report.as_dict()))


@pytest.fixture
def languages(folder: Path) -> Path:
    """The folder with files of the same names in two languages, and a recipe that names them."""
    for split, count, start in (("train", 24, 0), ("dev", 6, 100), ("test", 12, 200)):
        io.write(sentences(count, start), f"en/{split}.conll")
        io.write(hindi(count + 4, start), f"hi/{split}.conll")
    text = Path("recipe.toml").read_text("utf-8")
    for split in ("train", "dev", "test"):
        table = TRAIN_BY_LANGUAGE.replace("train", split)
        text = text.replace(f'{split} = "{split}.conll"', table)
    Path("recipe.toml").write_text(text, "utf-8")
    return folder
