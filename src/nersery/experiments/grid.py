"""Grid search: try all combinations of values of a tagger's settings and choose the best on dev, never on test."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nersery.core.errors import shown
from nersery.core.system.files import write_json
from nersery.experiments.recipe_file.overrides import as_toml
from nersery.experiments.run_state.made_files import read_record
from nersery.experiments.systems import MethodSettings, System
from nersery.taggers.training.second_stage import foreign_settings

Settings = dict[str, Any]
RATE, HEAD = "learning_rate", "head_learning_rate"


def grid_issues(grid: Any, tagger: MethodSettings, data: Mapping[str, Any]) -> list[str]:
    """The issues of a grid.

    Args:
        grid: As in the recipe.
        tagger: The tagger with its settings outside the grid.
        data: The section `[data]`; empty if there is none.
    """
    if not isinstance(grid, Mapping):
        return [f"{shown(grid)} is not a table of lists, expected e.g. batch_size = [8, 16, 32]"]
    issues = foreign_settings(grid, "be in a grid")
    issues += [
        f"{key} is {shown(values)}, expected a list of different values, e.g. [8, 16, 32]"
        for key, values in grid.items()
        if not is_varied(values)
    ]
    if {"steps", "epochs"} <= grid.keys():
        issues.append("steps and epochs both set the length of training, expected one of them")
    if not issues:
        issues += tagger.issues_with(*combinations(grid, tagger.settings))
    if grid and data and not data.get("dev"):
        issues.append("its values are chosen by F1 on dev, but [data] has no dev: name a file as dev")
    return issues


def is_varied(values: Any) -> bool:
    """Whether this is a non-empty list of different values, which may be tables."""
    return isinstance(values, list) and bool(values) and all(values.count(value) == 1 for value in values)


def combinations(
    grid: Mapping[str, Sequence[Any]], settings: Mapping[str, Any] = MappingProxyType({})
) -> list[Settings]:
    """Every combination of the values. The last setting varies fastest.

    Args:
        settings: Settings outside the grid. If they have the same learning rate for encoder and head, as the papers
            do, the rate of the head follows that of the encoder.

    >>> combinations({"batch_size": [8, 16], "learning_rate": [1e-5, 3e-5]})[1]
    {'batch_size': 8, 'learning_rate': 3e-05}
    """
    settings_list = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    one_rate = settings.get(HEAD) is not None and settings.get(HEAD) == settings.get(RATE)
    if not one_rate or HEAD in grid or RATE not in grid:
        return settings_list
    return [{**changes, HEAD: changes[RATE]} for changes in settings_list]


def described(settings: Settings) -> str:
    """The settings as text for readers.

    >>> described({"batch_size": 8, "learning_rate": 1e-5, "in_turn": True})
    'batch_size = 8, learning_rate = 1e-05, in_turn = true'
    """
    return ", ".join(f"{key} = {as_toml(value)}" for key, value in settings.items())


def grid_record(folder: Path, system: System) -> Path:
    """The record of a system's trials. It is outside the seeds' folders because all seeds share the choice."""
    return folder / "grid" / f"{system.name}.json"


def choose(path: Path, settings: Sequence[Settings], f1: Callable[[int, Settings], float], seed: int) -> Settings:
    """Choose the settings with the highest F1 on dev, or the first of several with the same F1.

    The record is written after each trial, so that a kill costs at most one trial.

    Args:
        path: The record: the ``seed``; the ``trials``, each with ``settings`` and ``f1``; the ``chosen`` settings.
        f1: Trains with the settings of that number and returns F1 on dev, in [0, 1].
        seed: Seed of the trials. A finished choice of another seed is kept; its unfinished trials are discarded.
    """
    new_record = {"seed": seed, "trials": []}
    record: dict[str, Any] = read_record(path, "trials") if path.exists() else new_record
    if "chosen" not in record and record.get("seed") != seed:
        record = new_record
    trials = record["trials"]
    for number in range(len(trials), len(settings)):
        trials.append({"settings": settings[number], "f1": f1(number, settings[number])})
        write_json(path, record)
    if "chosen" not in record:
        record["chosen"] = max(trials, key=lambda trial: trial["f1"])["settings"]
        write_json(path, record)
    return record["chosen"]
