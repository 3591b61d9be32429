"""A grid: values of a tagger's settings that are all tried, so that dev, never test, chooses among them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nersery.core.files import write_json
from nersery.core.registry import check
from nersery.experiments.systems import System
from nersery.taggers.components.second_stage import changed, foreign_settings

Settings = dict[str, Any]


def grid_problems(tagger: str, settings: Mapping[str, Any], grid: Any) -> list[str]:
    """What is wrong with a grid.

    Args:
        tagger: Its name.
        settings: Those outside the grid.
        grid: What a recipe says it is.
    """
    if not isinstance(grid, Mapping):
        return [f"{grid!r:.60} is no table of lists, expected e.g. batch_size = [8, 16, 32]"]
    problems = foreign_settings(grid, "be in a grid")
    problems += [
        f"{key} is {values!r:.60}, expected a list of different values, e.g. [8, 16, 32]"
        for key, values in grid.items()
        if not isinstance(values, list) or not values or any(values.count(value) > 1 for value in values)
    ]
    if {"steps", "epochs"} <= grid.keys():
        problems.append("steps and epochs both say how long training takes, expected one of them")
    if problems:
        return problems
    known = check("tagger", tagger, settings)
    faults = (check("tagger", tagger, {**settings, **changed(settings, own)}) for own in combinations(grid))
    return [fault for fault in dict.fromkeys(itertools.chain.from_iterable(faults)) if fault not in known]


def combinations(grid: Mapping[str, Sequence[Any]]) -> list[Settings]:
    """Every combination of the values, the last setting changing first.

    >>> combinations({"batch_size": [8, 16], "learning_rate": [1e-5, 3e-5]})[1]
    {'batch_size': 8, 'learning_rate': 3e-05}
    """
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def described(settings: Settings) -> str:
    """Settings for people.

    >>> described({"batch_size": 8, "learning_rate": 1e-5})
    'batch_size = 8, learning_rate = 1e-05'
    """
    return ", ".join(f"{key} = {value}" for key, value in settings.items())


def grid_record(folder: Path, system: System) -> Path:
    """Where a run writes down what a system has tried: beside the seeds, for all of them share what was chosen."""
    return folder / "grid" / f"{system.name}.json"


def choose(path: Path, settings: Sequence[Settings], f1: Callable[[int, Settings], float], seed: int) -> Settings:
    """Settings of the highest F1 on dev, the first of them where several have it.

    What was tried is written down after each trial, so that a kill costs no more than one.

    Args:
        path: The file to write: the ``seed``; ``trials``, each with its ``settings`` and ``f1``; and at the end what
            was ``chosen``.
        f1: Trains with the settings of that number; F1 on dev in [0, 1].
        seed: Of the trials. What was chosen with another one stands; trials that another one left unfinished do not.
    """
    new = {"seed": seed, "trials": []}
    record: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else new
    if "chosen" not in record and record.get("seed") != seed:
        record = new
    trials = record["trials"]
    for number in range(len(trials), len(settings)):
        trials.append({"settings": settings[number], "f1": f1(number, settings[number])})
        write_json(path, record)
    if "chosen" not in record:
        record["chosen"] = max(trials, key=lambda trial: trial["f1"])["settings"]
        write_json(path, record)
    chosen: Settings = record["chosen"]
    return chosen
