"""A grid: tries all combinations of values of a tagger's settings and chooses the best on dev, never on test."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nersery.core.files import write_json
from nersery.experiments.systems import MethodSettings, System
from nersery.taggers.components.second_stage import foreign_settings

Settings = dict[str, Any]
RATE, HEAD = "learning_rate", "head_learning_rate"


def grid_issues(grid: Any, tagger: MethodSettings, data: Mapping[str, Any]) -> list[str]:
    """What is wrong with a grid.

    Args:
        grid: As in the recipe.
        tagger: With its settings outside the grid.
        data: The section, empty if there is none.
    """
    if not isinstance(grid, Mapping):
        return [f"{grid!r:.60} is no table of lists, expected e.g. batch_size = [8, 16, 32]"]
    issues = foreign_settings(grid, "be in a grid")
    issues += [
        f"{key} is {values!r:.60}, expected a list of different values, e.g. [8, 16, 32]"
        for key, values in grid.items()
        if not is_varied(values)
    ]
    if {"steps", "epochs"} <= grid.keys():
        issues.append("steps and epochs both set the length of training, expected one of them")
    if not issues:
        issues += tagger.issues_with(*combinations(grid, tagger.settings))
    if grid and data and not data.get("dev"):
        issues.append("its values are chosen by F1 on dev, and [data] has no dev: name a file as dev")
    return issues


def is_varied(values: Any) -> bool:
    """Whether it is a list of different values, which may be tables."""
    return isinstance(values, list) and bool(values) and all(values.count(value) == 1 for value in values)


def combinations(
    grid: Mapping[str, Sequence[Any]], settings: Mapping[str, Any] = MappingProxyType({})
) -> list[Settings]:
    """Every combination of the values, the last setting changing first.

    Args:
        settings: Outside the grid. If they have one rate for encoder and head, as the papers do, the head follows.

    >>> combinations({"batch_size": [8, 16], "learning_rate": [1e-5, 3e-5]})[1]
    {'batch_size': 8, 'learning_rate': 3e-05}
    """
    settings_list = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    one_rate = settings.get(HEAD) is not None and settings.get(HEAD) == settings.get(RATE)
    if not one_rate or HEAD in grid or RATE not in grid:
        return settings_list
    return [{**changes, HEAD: changes[RATE]} for changes in settings_list]


def described(settings: Settings) -> str:
    """Settings for readers.

    >>> described({"batch_size": 8, "learning_rate": 1e-5})
    'batch_size = 8, learning_rate = 1e-05'
    """
    return ", ".join(f"{key} = {value}" for key, value in settings.items())


def grid_record(folder: Path, system: System) -> Path:
    """The record of a system's trials; it is outside the seeds' folders because all seeds share the choice."""
    return folder / "grid" / f"{system.name}.json"


def choose(path: Path, settings: Sequence[Settings], f1: Callable[[int, Settings], float], seed: int) -> Settings:
    """The settings with the highest F1 on dev; the first ones if several have it.

    The record is written after each trial, so that a kill costs at most one trial.

    Args:
        path: The record: the ``seed``; ``trials``, each with ``settings`` and ``f1``; finally what was ``chosen``.
        f1: Trains with the settings of that number and returns F1 on dev, in [0, 1].
        seed: Of the trials. A choice made with another seed is kept; unfinished trials of another seed are discarded.
    """
    new_record = {"seed": seed, "trials": []}
    record: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else new_record
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
