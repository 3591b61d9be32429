"""The notebooks run from top to bottom, with small models and few steps."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import nersery
from nersery import example
from nersery.experiments.grow import candidates, plan, search, session, zero_shot
from nersery.experiments.grow.schedules import Schedule

NOTEBOOKS = Path(__file__).parent.parent / "docs" / "notebooks"


def execute(name: str, **parameters: Any) -> dict[str, Any]:
    """Run all cells; parameters replace those of the cell with this tag, as in papermill."""
    cells = json.loads((NOTEBOOKS / name).read_text("utf-8"))["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "outputs are not committed"
            exec(compile(ast.parse("".join(cell["source"])), name, "exec"), names)
            if "parameters" in cell["metadata"].get("tags", []):
                assert names.keys() >= parameters.keys()
                names |= parameters
    return names


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def beginning(name: str) -> Path:
    """The first sentences of a shipped file, with its name."""
    text, end = Path(example(name)).read_text("utf-8"), "\n" if name.endswith(".txt") else "\n\n"
    Path(name).write_text(end.join(text.split(end)[:40]) + end, "utf-8")
    return Path(name)


def test_first_corpus(monkeypatch: pytest.MonkeyPatch, tiny_model: str) -> None:
    first_system = lambda *given, **sizes: candidates.systems_for(*given, **sizes)[:1]  # noqa: E731
    monkeypatch.setattr(plan, "systems_for", first_system)
    monkeypatch.setattr(plan, "models_for", lambda *_, **__: [tiny_model])
    for module in (plan, search):
        monkeypatch.setattr(module, "SCHEDULES", (Schedule(4, 4),))
    monkeypatch.setattr(session, "MAX_RAW_SENTENCES", 6)
    monkeypatch.setattr(zero_shot, "ASKED", 6)
    monkeypatch.setattr(plan, "FEW_FOLDS", 2)
    monkeypatch.setattr(nersery, "example", beginning)
    names = execute("first_corpus.ipynb", MINUTES=5)
    assert {sentence.words for sentence in names["gold"]} <= {sentence.words for sentence in names["corpus"]}
    assert len(names["predicted"]) == 1
    assert Path("first-corpus/report.html").exists()


def test_another_language(tiny_model: str) -> None:
    names = execute("another_language.ipynb", MODEL=tiny_model, STEPS=20)
    assert names["projected"].tally.read == len(names["english"])
    assert names["projected"].corpus[0].labels == ((0, 1, "PER"), (3, 4, "LOC"))
    assert names["tagger"].types == ("LOC", "PER")
