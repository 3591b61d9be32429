"""The page docs/papers.md: a row for each table and figure of the papers, from papers.toml and the shipped recipes."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

from docstrings import table

from nersery.core import file_settings, registry
from nersery.core.registry import ModelName
from nersery.experiments.recipe import PAPERS, load
from nersery.experiments.recipe_file.model_sets import CHECKPOINTS, MODELS, conversion

ROWS = Path(__file__).with_name("papers.toml")
HEAD = ("item", "what it shows", "command", "our result", "how it differs, and why")
INTRODUCTION = (
    "One row for each table and figure of the four papers that shows a result. The commands use the papers' models and "
    'settings. Name your files with `--set "data.train=multiconer/{language}/train.conll"`, and likewise `dev` and '
    "`test`. Our [results](results.md) come from small models: add `--models bundled-multilingual`."
)


def rows() -> dict[str, dict[str, list[str]]]:
    """Of each paper, by item: what it shows, the command, the result, and how it differs."""
    return tomllib.loads(ROWS.read_text("utf-8"))


def recipe_of(command: str) -> str:
    """The recipe that a command runs; empty for other commands.

    >>> recipe_of("nersery run aclm_paper --set a=1"), recipe_of("nersery list types")
    ('aclm_paper', '')
    """
    words = shlex.split(command)
    return words[2] if words[1:2] == ["run"] else ""


def models_of(name: str) -> Iterator[str]:
    """The models that a recipe names, without those that come with nersery."""
    recipe = load(name)
    methods = [recipe.tagger, *(method for s in recipe.systems for method in (s.method, *s.select) if method)]
    for method in methods:
        cls = registry.get(method.kind, method.method)
        yield from (model for _, type_, model in file_settings.names_in(cls, method.settings) if type_ == ModelName)


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


def _recipes_by_model() -> dict[str, list[str]]:
    """The recipes that use each model."""
    commands = (command for items in rows().values() for _, command, *_ in items.values())
    found: dict[str, list[str]] = {}
    for recipe in dict.fromkeys(filter(None, map(recipe_of, commands))):
        for model in dict.fromkeys(models_of(recipe)):
            found.setdefault(model, []).append(f"`{recipe}`")
    return found


def _checkpoints() -> str:
    used = _recipes_by_model()
    lines = [
        (f"`{name}`", f"{one.gigabytes} GB", "pickle" if one.pickled else "", ", ".join(used.get(name, ())))
        for name, one in CHECKPOINTS.items()
    ]
    text = (
        "nersery loads only safetensors. The kind of weights is from memory: the hub may have safetensors by now. "
        "Convert a pickle that you trust, then name the folder:"
    )
    command = f'```text\npython -c "{conversion("facebook/mbart-large-50", "mbart-large-50")}"\n```'
    return f"## Checkpoints\n\n{text}\n\n{command}\n\n{table(('model', 'download', 'weights', 'recipes'), lines)}"
