"""A recipe: one TOML file that names data, methods and settings, and is checked whole before anything runs."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nersery.core import registry
from nersery.core.errors import SettingsError, did_you_mean
from nersery.experiments.data_files import DataSettings
from nersery.experiments.grid import grid_problems
from nersery.experiments.overrides import apply
from nersery.experiments.paths import (
    located,
    presets,
    shipped,
    with_places,
)
from nersery.experiments.sampling import PROTOCOLS
from nersery.experiments.systems import (
    MethodSettings,
    System,
    method_settings,
    name_fault,
    parse_systems,
)
from nersery.taggers.components.second_stage import second_stage_issues

LARGEST_SEED = 2**32 - 1
MOST_SAMPLES = 10_000_000

KEYS = ("name", "description", "seeds", "keep_taggers", "data", "sample", "tagger", "systems", "select", "evaluate")
"""What a recipe may say at its top."""


@dataclass
class SampleSettings:
    """How much of the data is used, to simulate a small data set.

    Args:
        size: Sentences to draw per seed, and per language if each has its own file; all if not set.
        protocol: How they are drawn; see `nersery list protocols`.
        dev_size: Dev sentences to keep, drawn in the same way; all if not set.
    """

    size: int | None = None
    protocol: str = "stratified"
    dev_size: int | None = None


@dataclass
class EvaluateSettings:
    """What is measured on the test sentences.

    Args:
        bootstrap_samples: Resamplings of the test sentences for the interval and p-value against gold only.
    """

    bootstrap_samples: int = 10_000


@dataclass
class Recipe:
    """A checked recipe. Its systems begin with the baseline, gold only.

    Args:
        name: What the report and, without ``--out``, the run's folder are called.
        description: What the recipe is for.
        seeds: Each system is trained once per seed; each seed draws its own sample.
        keep_taggers: Keep the trained taggers in the run's folder; each is as large as its model.
        source: The file it was read from, or the name of a shipped recipe.
        overrides: What ``--set`` has changed.
        grid: Values of the tagger's settings to try on dev, see `nersery.experiments.grid`. Empty: none.
    """

    name: str
    data: DataSettings
    tagger: MethodSettings
    systems: list[System]
    description: str = ""
    seeds: list[int] = field(default_factory=lambda: [0])
    sample: SampleSettings = field(default_factory=SampleSettings)
    evaluate: EvaluateSettings = field(default_factory=EvaluateSettings)
    keep_taggers: bool = True
    source: str = ""
    overrides: tuple[str, ...] = ()
    grid: dict[str, list[Any]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """All settings as JSON values, without the file and the command line that they come from."""
        left_out = ("source", "overrides", *(() if self.grid else ("grid",)))
        return {key: value for key, value in asdict(self).items() if key not in left_out}

    def system(self, name: str) -> System:
        """The system of that name, which there must be."""
        return next(system for system in self.systems if system.name == name)

    def path(self, name: str) -> Path:
        """Where a data file of the recipe lies; relative names start from the recipe's own folder."""
        return located(name, find(self.source).parent)


def shipped_recipes() -> dict[str, Path]:
    """The recipes that come with nersery, by name."""
    return {path.stem: path for path in sorted(shipped("recipes").glob("*.toml"))}


def description_of(path: Path) -> str:
    """What a recipe file says it is for."""
    return str(tomllib.loads(path.read_text("utf-8")).get("description", ""))


def find(name: str) -> Path:
    """The file of a recipe, given by path or by the name of one that comes with nersery.

    Raises:
        SettingsError: When there is neither.
    """
    if os.path.isfile(name):
        return Path(name)
    known = shipped_recipes()
    if name in known:
        return known[name]
    raise SettingsError(f'there is no recipe "{name}": neither a file nor a shipped one; {did_you_mean(name, known)}')


def load(name: str, overrides: Iterable[str] = ()) -> Recipe:
    """Read a recipe and check every name and setting in it.

    Args:
        name: A path, or the name of a shipped recipe.
        overrides: ``key=value`` with dots in the key, e.g. ``tagger.steps=100``; an ``augment`` entry is named by its
            name: ``systems.melm.copies=5``. Values are TOML, or else plain strings. Data files start from the
            working directory, those in the recipe from its folder; so do other files that settings name.

    Raises:
        SettingsError: With all problems at once.
    """
    path = find(name)
    try:
        table = tomllib.loads(path.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{path} is not a TOML file in UTF-8: {error}") from error
    table = with_places(table, path.parent)
    overrides = tuple(overrides)
    problems = [problem for override in overrides if (problem := apply(table, override))]
    recipe = parse(table, problems)
    if recipe is None:
        lines = "\n".join(f"  {number}. {problem}" for number, problem in enumerate(problems, start=1))
        raise SettingsError(f"{path}: {len(problems)} problem{'s' * (len(problems) > 1)} in the recipe\n{lines}")
    recipe.source, recipe.overrides = name, overrides
    return recipe


def parse(table: Mapping[str, Any], problems: list[str]) -> Recipe | None:
    """Build a recipe from its TOML table; problems are added to the list, and then there is no recipe."""
    problems += [f'unknown key "{key}"; {did_you_mean(key, KEYS)}' for key in table if key not in KEYS]
    systems = parse_systems(table, problems)
    values = {
        "name": table.get("name", ""),
        "description": table.get("description", ""),
        "seeds": table.get("seeds", [0]),
        "keep_taggers": table.get("keep_taggers", True),
        "data": _section(DataSettings, table.get("data"), "data", problems),
        "sample": _section(SampleSettings, table.get("sample", {}), "sample", problems),
        "evaluate": _section(EvaluateSettings, table.get("evaluate", {}), "evaluate", problems),
        "tagger": _tagger(table.get("tagger", {}), problems),
        "systems": systems,
        "grid": table["tagger"].get("grid", {}) if isinstance(table.get("tagger"), dict) else {},
    }
    problems += _value_problems(values)
    found = grid_problems(values["tagger"].method, values["tagger"].settings, values["grid"])
    problems += [f"tagger.grid: {problem}" for problem in found]
    if values["grid"] and isinstance(data := table.get("data"), dict) and not data.get("dev"):
        problems.append("tagger.grid: dev chooses among its values, and [data] names none: name a file as dev")
    problems += [
        f"system {json.dumps(system.name, ensure_ascii=False)}: second_stage: {problem}"
        for system in systems
        for problem in second_stage_issues(values["tagger"].method, values["tagger"].settings, system.second_stage)
        if system.second_stage != {}
    ]
    if values["data"] is not None and not values["data"].raw:
        problems += [
            f"system {json.dumps(system.name, ensure_ascii=False)} labels raw text: name a file of it as raw in [data]"
            for system in systems
            if system.labels_raw_text
        ]
    return None if problems else Recipe(**values)


def _value_problems(values: Mapping[str, Any]) -> list[str]:
    problems = []
    if values["name"] == "":
        problems.append('name is missing: expected e.g. name = "my-corpus"')
    elif fault := name_fault(values["name"]):
        problems.append(f'name is {values["name"]!r}: {fault}, e.g. name = "my-corpus"')
    if not isinstance(values["description"], str):
        problems.append(f"description is {values['description']!r}: expected a string")
    if not isinstance(values["keep_taggers"], bool):
        problems.append(f"keep_taggers is {values['keep_taggers']!r}: expected true or false")
    seeds = values["seeds"]
    whole = isinstance(seeds, list) and all(type(seed) is int and 0 <= seed <= LARGEST_SEED for seed in seeds)
    if not whole or not seeds or len(set(seeds)) < len(seeds):
        expected = f"a list of different whole numbers from 0 to {LARGEST_SEED}, e.g. [0, 1, 2]"
        problems.append(f"seeds is {seeds!r}: expected {expected}")
    return problems + _section_problems(values["data"], values["sample"], values["evaluate"])


def _section_problems(
    data: DataSettings | None, sample: SampleSettings | None, evaluate: EvaluateSettings | None
) -> list[str]:
    """What is wrong with values of the right type; None stands for a section that is known to be wrong."""
    problems = []
    if data is not None:
        problems += data.issues()
    if sample is not None:
        if sample.protocol not in PROTOCOLS:
            hint = did_you_mean(sample.protocol, PROTOCOLS)
            problems.append(f'sample.protocol "{sample.protocol}" is unknown; {hint}')
        sizes = {"size": sample.size, "dev_size": sample.dev_size}
        wrong = {key: size for key, size in sizes.items() if size is not None and size < 1}
        problems += [f"sample.{key} is {size}, expected 1 or more" for key, size in wrong.items()]
    if evaluate is not None and not 100 <= evaluate.bootstrap_samples <= MOST_SAMPLES:
        expected = f"expected 100 to {MOST_SAMPLES}"
        problems.append(f"evaluate.bootstrap_samples is {evaluate.bootstrap_samples}, {expected}")
    return problems


def _section(cls: type[Any], table: Any, place: str, problems: list[str]) -> Any:
    """A section of plain settings, checked against its dataclass; None when something is wrong."""
    if not isinstance(table, dict):
        problems.append(f"the section [{place}] is missing" if table is None else f"{place} is not a section [{place}]")
        return None
    values, wrong = registry.validated(cls, place, table)
    problems += wrong
    return None if wrong else cls(**values)


def with_preset(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Tagger settings with those of their ``preset`` underneath; a problem is added when there is no such preset."""
    known = presets()
    name = table.get("preset")
    if name is not None and str(name) not in known:
        problems.append(f'tagger.preset "{name}" is unknown; {did_you_mean(str(name), known)}')
    base = {key: value for key, value in known.get(str(name), {}).items() if key != "description"}
    if "steps" in table:
        base.pop("epochs", None)
    return {**base, **{key: value for key, value in table.items() if key != "preset"}}


def _tagger(table: Any, problems: list[str]) -> MethodSettings:
    if not isinstance(table, dict):
        problems.append("tagger is not a section [tagger]")
        return MethodSettings("transformer")
    settings = {key: value for key, value in table.items() if key != "grid"}
    return method_settings("tagger", with_preset(settings, problems), "tagger", "transformer", problems)
