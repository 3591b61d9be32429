"""The recipes of the papers' experiments run from end to end on tiny models and files."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from nersery import io
from nersery.core import registry
from nersery.experiments.recipe import PAPERS, load, recipes_of, shipped_recipes
from nersery.experiments.recipe_file import model_sets
from nersery.experiments.runner import Run
from nersery.experiments.sweep.sweep_runner import Sweep
from tests.conftest import MASKED_TEXT, TINY, build_tokenizer
from tests.experiments.run_helpers import hindi
from tests.standins import sentences

EXPERIMENTS = [name for name in shipped_recipes() if name.endswith(("_paper", "_multilingual", "_tuning"))]
SLOW = [name for name in EXPERIMENTS if name.endswith("_tuning") or name in ("aclm_multilingual", "melm_multilingual")]
"""Other recipes have the same methods, or these have runs for each language."""
LANGUAGES = ("en", "hi")


@pytest.fixture(scope="module")
def tiny_set(tmp_path_factory: pytest.TempPathFactory, tiny_seq2seq: str) -> dict[str, str]:
    """A model for each role."""
    from transformers import BertConfig, BertForMaskedLM, BertForQuestionAnswering

    folder = tmp_path_factory.mktemp("models")
    for name, cls in (("masked", BertForMaskedLM), ("questions", BertForQuestionAnswering)):
        (folder / name).mkdir()
        build_tokenizer("wordpiece", folder / name, MASKED_TEXT)
        settings = folder / name / "tokenizer_config.json"
        longer = {**json.loads(settings.read_text("utf-8")), "model_max_length": 256}
        settings.write_text(json.dumps(longer), "utf-8")
        config = BertConfig(**{**TINY, "vocab_size": 600, "max_position_embeddings": 256})
        cls(config).save_pretrained(folder / name)
    others = dict.fromkeys(("encoder", "masked", "similarity", "fluency", "aligner"), str(folder / "masked"))
    return {**others, "questions": str(folder / "questions"), "seq2seq": tiny_seq2seq, "denoiser": tiny_seq2seq}


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """The files that the recipes name, in two languages."""
    for split, count, start in (("train", 16, 0), ("dev", 8, 100), ("test", 8, 200)):
        for language, made in (("en", sentences(count, start)), ("hi", hindi(count, start))):
            (tmp_path / language).mkdir(exist_ok=True)
            io.write(made, tmp_path / language / f"{split}.conll")
    for name, made in (("en", sentences(12, 300)), ("hi", hindi(12, 300))):
        (tmp_path / "hi" / f"parallel.{name}.txt").write_text("".join(f"{s.text}\n" for s in made), "utf-8")
    (tmp_path / "table.tsv").write_text("far\tdistant\n", "utf-8")
    return tmp_path


def shrunk(name: str, folder: Path) -> list[str]:
    """Changes of a recipe: the files of a folder, two languages, one seed, and the shortest trainings."""
    table = tomllib.loads(shipped_recipes()[name].read_text("utf-8"))
    changes = ["seeds=[0]", "tagger.epochs=1", "evaluate.bootstrap_samples=100"]
    if "languages" in table["data"]:
        changes.append(f"data.languages={list(LANGUAGES)}")
    if "size" in table.get("sample", {}):
        changes.append("sample.size=6")
    if "dev_size" in table.get("sample", {}):
        changes.append("sample.dev_size=4")
    if "sizes" in table.get("sweep", {}):
        changes.append("sweep.sizes=[6]")
    if "languages" in table.get("sweep", {}):
        changes.append(f"sweep.languages={list(LANGUAGES[:1])}")  # each has runs of its own
    if settings := table.get("sweep", {}).get("settings"):
        few = [{key: value[:2] if isinstance(value, list) else value for key, value in one.items()} for one in settings]
        changes.append(f"sweep.settings=[{', '.join(map(_toml, few))}]")
    if "grid" in table["tagger"]:
        changes.append("tagger.grid={ batch_size = [8, 16] }")
    for entry in table.get("systems", []):
        called = entry.get("name", entry.get("method"))
        kind = "annotate" if entry.get("method") in registry.names("annotate") else "augment"
        known = registry.defaults(kind, entry["method"]) if "method" in entry else {}
        changes += [f'systems."{called}".epochs=1' for _ in range("epochs" in known)]
        changes += [f'systems."{called}".copies=1' for _ in range("copies" in entry)]
        changes += [f'systems."{called}".source={folder / "hi/parallel.en.txt"}' for _ in range("source" in entry)]
        changes += [f'systems."{called}".table={folder / "table.tsv"}' for _ in range(entry.get("method") == "eda")]
        changes += [f'systems."{called}".select={select}' for select in [_select(entry)] if select]
    return changes


def _toml(table: dict[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.items()) + " }"


def _select(entry: dict[str, Any]) -> str:
    """A shorter self-training."""
    for one in entry.get("select", []):
        if isinstance(one, dict) and one["method"] == "self_training":
            strategy = one.get("strategy", "uncertainty")
            return f'[{{ method = "self_training", strategy = "{strategy}", per_step = 4, steps = 1, passes = 2 }}]'
    return ""


def files_of(name: str, folder: Path) -> list[str]:
    table = tomllib.loads(shipped_recipes()[name].read_text("utf-8"))["data"]
    given = {"train.conll": "en/train.conll", "dev.conll": "en/dev.conll", "test.conll": "en/test.conll"}
    given["wikipedia.txt"] = "hi/parallel.en.txt"
    found = []
    for split in ("train", "dev", "test", "raw"):
        if isinstance(file := table.get(split), dict):
            found += [f"data.{split}.{language}={folder / path}" for language, path in file.items()]
        elif file:
            found.append(f"data.{split}={folder / given.get(file, file)}")
    return found


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.torture] * (name in SLOW)) for name in EXPERIMENTS]
)
def test_the_experiment_of_a_paper_runs(
    name: str, corpora: Path, tiny_set: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(model_sets, "MODELS", {**model_sets.MODELS, "bundled": tiny_set})
    recipe = load(name, [*files_of(name, corpora), *shrunk(name, corpora)], "bundled")
    job = Sweep(recipe, tmp_path / "run", quiet=True) if recipe.sweep else Run(recipe, tmp_path / "run", quiet=True)
    job.check()
    report = job.execute()
    if isinstance(job, Sweep):
        assert job.failures == {}
        cells = report.cells
        assert {cell.system for cell in cells} == {system.name for system in recipe.systems}
        assert all(cell.f1 is not None for cell in cells) or recipe.sweep.score == "dev"
        assert {path.suffix for path in (tmp_path / "run" / "tables").iterdir()} == {".csv", ".tex"}
        return
    assert [system.name for system in report.systems] == [system.name for system in recipe.systems]
    assert all(system.f1.mean is not None for system in report.systems)


def test_every_paper_has_its_experiments() -> None:
    assert {paper for paper in PAPERS for name in recipes_of(paper) if name in EXPERIMENTS} == {*PAPERS} - {""}
    assert {name for paper in PAPERS for name in recipes_of(paper)} == {*shipped_recipes()}
