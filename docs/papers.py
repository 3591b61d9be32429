"""Makes docs/papers.md: a row for each table and figure of the papers, from papers.toml and the shipped recipes."""

from __future__ import annotations

import tomllib
from pathlib import Path

from docstrings import table

from nersery.experiments.recipe import PAPERS
from nersery.experiments.recipe_file.model_sets import CHECKPOINTS, MODELS

ROWS = Path(__file__).with_name("papers.toml")
HEAD = ("item", "what it shows", "command", "our result", "differences")
INTRODUCTION = (
    "Each results table and figure of the four papers has a row. The commands use the papers' "
    'models and settings. Name your files with `--set "data.train=multiconer/{language}/train.conll"`, and likewise '
    "`dev` and `test`. Our [results](results.md) come from small models: to repeat them, add `--models bundled` "
    "(English) or `--models bundled-multilingual`."
)


def rows() -> dict[str, dict[str, list[str]]]:
    """For each paper and item: what the item shows, the command, the result, and how it differs."""
    return tomllib.loads(ROWS.read_text("utf-8"))


def papers_parts() -> list[str]:
    """The tables of the page."""
    parts = []
    for paper, items in rows().items():
        found = [
            (item, shows, f"`{command}`" if command else "none", result, differs)
            for item, (shows, command, result, differs) in items.items()
        ]
        parts.append(f"## {PAPERS[paper]}\n\n{table(HEAD, found)}")
    return [*parts, _sets(), _checkpoints()]


def _sets() -> str:
    roles = {role: [models.get(role) or "left out" for models in MODELS.values()] for role in MODELS["paper"]}
    lines = [(role, *(name if name == "left out" else f"`{name}`" for name in names)) for role, names in roles.items()]
    text = "`nersery run RECIPE --models SET` replaces all models. `paper` replaces only bundled ones."
    return f"## Sets of models\n\n{text}\n\n{table(('role', *(f'`{name}`' for name in MODELS)), lines)}"


def _checkpoints() -> str:
    lines = [(f"`{name}`", f"{one.gigabytes} GB", "pickle" if one.pickled else "") for name, one in CHECKPOINTS.items()]
    text = (
        "nersery loads only safetensors. As far as we know, models marked *pickle* have none. `nersery run RECIPE` "
        "lists missing models, and says how to convert pickles that you trust."
    )
    return f"## Checkpoints\n\n{text}\n\n{table(('model', 'download', 'weights'), lines)}"
