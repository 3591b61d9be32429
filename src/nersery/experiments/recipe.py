"""A recipe: one TOML file that names data, methods and settings; all of it is checked before anything runs."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from nersery.core import typed_settings
from nersery.core.errors import SettingsError, did_you_mean
from nersery.core.random import LARGEST_SEED, MOST_SAMPLES
from nersery.core.warnings import warn
from nersery.experiments.grid import grid_problems
from nersery.experiments.recipe_file.data_files import DataSettings
from nersery.experiments.recipe_file.model_sets import with_models
from nersery.experiments.recipe_file.overrides import apply
from nersery.experiments.recipe_file.table_methods import presets, with_paths
from nersery.experiments.sampling import PROTOCOLS
from nersery.experiments.sweep import SweepSettings, expanded
from nersery.experiments.systems import MethodSettings, System, folder_name, method_settings, parse_systems
from nersery.io.shipped import located, shipped
from nersery.taggers.components.second_stage import second_stage_issues

KEYS = (
    "name", "description", "paper", "seeds", "keep_taggers", "data", "sample", "tagger", "systems", "select",
    "evaluate", "sweep",
)  # fmt: skip
"""The keys at the top of a recipe."""

PAPERS = {
    "": "",
    "aclm": "ACLM (Ghosh et al. 2023)",
    "melm": "MELM (Zhou et al. 2022)",
    "promptda": "PromptDA (Liu et al. 2022)",
    "naamapadam": "Naamapadam (Mhaske et al. 2023)",
}
"""The papers whose experiments are shipped as recipes."""

MOST_FOLDS = 100
Size = Annotated[int, Field(ge=1)]


def _protocol(name: str) -> str:
    if name not in PROTOCOLS:
        raise ValueError(f"there is no such protocol; {did_you_mean(name, PROTOCOLS)}")
    return name


def _seeds(seeds: Any) -> Any:
    whole = isinstance(seeds, list) and all(type(seed) is int and 0 <= seed <= LARGEST_SEED for seed in seeds)
    if not whole or not seeds or len(set(seeds)) < len(seeds):
        raise ValueError(f"expected a list of different whole numbers from 0 to {LARGEST_SEED}, e.g. [0, 1, 2]")
    return seeds


@dataclass
class SampleSettings:
    """How much of the training data is used.

    Args:
        folds: Cross-validation: seed *n* scores on fold *n*, from 0, and trains on the others. Needs no test file.
        size: Sentences to draw for each seed and each language with its own file; all by default.
        protocol: How to draw; see `nersery list protocols`.
        dev_size: Sentences of dev to draw; all by default.
    """

    size: Size | None = None
    protocol: Annotated[str, AfterValidator(_protocol)] = "stratified"
    dev_size: Size | None = None
    folds: Annotated[int | None, Field(ge=2, le=MOST_FOLDS)] = None


@dataclass
class EvaluateSettings:
    """How test results are compared.

    Args:
        bootstrap_samples: Resamplings of the test sentences for interval and p-value.
    """

    bootstrap_samples: Annotated[int, Field(ge=100, le=MOST_SAMPLES)] = 10_000


@dataclass
class Recipe:
    """A checked recipe. The first system is the baseline, gold only.

    Args:
        name: Title of the report and, without `--out`, name of the run's folder.
        description: What the recipe is for.
        paper: The paper whose experiment it is: ``aclm``, ``melm``, ``promptda`` or ``naamapadam``.
        seeds: Each system is trained once per seed; each seed draws its own sample.
        keep_taggers: Keep the trained taggers, each of the size of its model.
        source: The file, or the name of a shipped recipe.
        overrides: The changes by ``--set``.
        models: The choice of models by ``--models``.
        sweep: What is varied; none: one run.
        grid: Values of the tagger's settings to try on dev, see `nersery.experiments.grid`. Empty: none.
    """

    name: Annotated[str, AfterValidator(folder_name)]
    data: DataSettings
    tagger: MethodSettings
    systems: list[System]
    description: str = ""
    paper: Literal["", "aclm", "melm", "promptda", "naamapadam"] = ""
    seeds: Annotated[list[int], BeforeValidator(_seeds)] = field(default_factory=lambda: [0])
    sample: SampleSettings = field(default_factory=SampleSettings)
    evaluate: EvaluateSettings = field(default_factory=EvaluateSettings)
    keep_taggers: Annotated[bool, Field(strict=True)] = True
    source: str = ""
    overrides: tuple[str, ...] = ()
    models: str = ""
    grid: dict[str, list[Any]] = field(default_factory=dict)
    sweep: SweepSettings | None = None

    def as_dict(self) -> dict[str, Any]:
        """All settings that results depend on, as JSON values."""
        left_out = ("source", "overrides", "models", "paper", "sweep", *(() if self.grid else ("grid",)))
        values = {key: value for key, value in asdict(self).items() if key not in left_out}
        if not self.data.languages:
            del values["data"]["languages"]
        if self.sweep:  # sizes, languages and values may be added
            values["sweep"] = {"score": self.sweep.score}
        return values

    def tagger_of(self, system: System) -> MethodSettings:
        """The tagger with the settings of a system."""
        return self.tagger.with_changes(system.tagger_settings)

    def methods(self) -> Iterator[tuple[str, System, MethodSettings]]:
        """Each tagger, method and selector: its place in messages, its system, and its settings."""
        for system in self.systems:
            place = f'system "{system.name}"'
            if system.is_baseline or system.tagger_settings:
                yield "tagger" if system.is_baseline else f"{place}, tagger", system, self.tagger_of(system)
            if system.method is not None:
                yield place, system, system.method
            for selector in system.select:
                yield f'{place}, select "{selector.method}"', system, selector

    def system(self, name: str) -> System:
        """The system of that name."""
        return next(system for system in self.systems if system.name == name)

    def path(self, name: str) -> Path:
        """The path of a data file; relative names start from the recipe's folder."""
        return located(name, find(self.source).parent)


def shipped_recipes() -> dict[str, Path]:
    """The shipped recipes by name."""
    return {path.stem: path for path in sorted(shipped("recipes").glob("*.toml"))}


def recipes_of(paper: str) -> dict[str, str]:
    """The descriptions of the shipped recipes of a paper, by name; of those of no paper if it is empty."""
    return {name: text for name, (of, text) in _papers_and_descriptions().items() if of == paper}


@cache
def _papers_and_descriptions() -> dict[str, tuple[str, str]]:
    tables = {name: tomllib.loads(path.read_text("utf-8")) for name, path in shipped_recipes().items()}
    return {name: (table.get("paper", ""), str(table["description"])) for name, table in tables.items()}


def find(name: str) -> Path:
    """The file of a recipe, by its path or as a shipped recipe by name; a `SettingsError` if neither exists."""
    if os.path.isfile(name):
        return Path(name)
    known = shipped_recipes()
    if name in known:
        return known[name]
    raise SettingsError(f'there is no recipe "{name}": neither a file nor a shipped one; {did_you_mean(name, known)}')


def load(name: str, overrides: Iterable[str] = (), models: str = "") -> Recipe:
    """Read a recipe and check every name and setting in it.

    Args:
        name: A path, or the name of a shipped recipe.
        models: Replace all models, see `nersery.experiments.recipe_file.model_sets`; before the overrides. Empty: none.
        overrides: ``key=value`` with dots in the key, ``tagger.steps=100`` or ``systems.NAME.copies=5``. Values are
            TOML or plain strings. Paths in them start from the working directory, those in the recipe from its folder.

    Raises:
        SettingsError: With all problems at once.
    """
    path = find(name)
    try:
        table = tomllib.loads(path.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{path} is not a TOML file in UTF-8: {error}") from error
    table = with_paths(table, path.parent)
    if models:
        table, notes = with_models(table, models)  # systems without a model are left out
        for text in notes:
            warn(text)
    overrides = tuple(overrides)
    problems = [problem for override in overrides if (problem := apply(table, override))]
    recipe = parse_recipe(table, problems)
    if recipe is None:
        lines = "\n".join(f"  {number}. {problem}" for number, problem in enumerate(problems, start=1))
        raise SettingsError(f"{path}: {len(problems)} problem{'s' * (len(problems) > 1)} in the recipe\n{lines}")
    recipe.source, recipe.overrides, recipe.models = name, overrides, models
    return recipe


def parse_recipe(table: Mapping[str, Any], problems: list[str]) -> Recipe | None:
    """Build a recipe from its TOML table. Problems are added to the list; if there are any, there is no recipe."""
    problems += [f'unknown key "{key}"; {did_you_mean(key, KEYS)}' for key in table if key not in KEYS]
    table, tables = expanded(table, problems)
    systems = parse_systems(table, problems)
    data = _section(DataSettings, table.get("data"), "data", problems)
    problems += _fold_conflicts(table)
    sample = _section(SampleSettings, table.get("sample", {}), "sample", problems)
    evaluate = _section(EvaluateSettings, table.get("evaluate", {}), "evaluate", problems)
    tagger = _tagger(table.get("tagger", {}), problems)
    sweep = _section(SweepSettings, table["sweep"], "sweep", problems) if "sweep" in table else None
    if sweep:
        sweep.tables = tables
        problems += sweep.issues(data)
    has_name = table.get("name", "") != ""
    keys = ("name", "description", "paper", "seeds", "keep_taggers")[not has_name :]
    own, wrong = typed_settings.typed(Recipe, "", {key: table[key] for key in keys if key in table})
    if not has_name:
        wrong.append('name is missing: expected e.g. name = "my-corpus"')
    grid = table["tagger"].get("grid", {}) if isinstance(table.get("tagger"), dict) else {}
    problems += [*wrong, *(data.issues() if data else ())]
    problems += [*_grid_conflicts(grid, tagger, table.get("data"))]
    problems += [problem for system in systems for problem in _system_conflicts(system, tagger, data)]
    if problems:
        return None
    parts = {"data": data, "tagger": tagger, "systems": systems, "sample": sample, "evaluate": evaluate}
    return Recipe(**parts, grid=grid, sweep=sweep, **own)


def _fold_conflicts(table: Mapping[str, Any]) -> Iterator[str]:
    """Conflicts of cross-validation with other keys of a recipe's table."""
    data, sample = table.get("data"), table.get("sample", {})
    if not isinstance(data, dict) or not isinstance(sample, dict):
        return
    folds = sample.get("folds")
    if folds is None and "test" not in data:
        yield 'data needs the setting "test": name a file; or cross-validate, e.g. sample.folds = 5'
    if type(folds) is not int:
        return
    if "test" in data:
        yield "sample.folds scores on parts of train: leave out data.test"
    if "size" in sample:
        yield "sample.folds uses all of train: leave out sample.size"
    if isinstance(sweep := table.get("sweep"), dict) and sweep.get("sizes"):
        yield "sample.folds uses all of train: leave out sweep.sizes"
    seeds = table.get("seeds", [0])
    if wrong := [seed for seed in seeds if type(seed) is int and seed >= folds] if isinstance(seeds, list) else []:
        yield f"seeds has {wrong[0]}, but with sample.folds = {folds} the folds have the numbers 0 to {folds - 1}"


def _grid_conflicts(grid: Any, tagger: MethodSettings, data: Any) -> list[str]:
    found = [f"tagger.grid: {problem}" for problem in grid_problems(tagger, grid)]
    if grid and isinstance(data, dict) and not data.get("dev"):
        found.append("tagger.grid: its values are chosen by F1 on dev, and [data] has no dev: name a file as dev")
    return found


def _system_conflicts(system: System, tagger: MethodSettings, data: DataSettings | None) -> list[str]:
    found = []
    if system.second_stage != {}:
        issues = second_stage_issues(tagger.method, tagger.settings, system.second_stage)
        found += [f"second_stage: {issue}" for issue in issues]
    if system.tagger_settings != {}:
        found += tagger_issues(tagger, system.tagger_settings)
    if system.labels_raw_text and data is not None and not data.raw:
        found.append("its method labels raw text: name a file of raw text as raw in [data]")
    return [f"system {json.dumps(system.name, ensure_ascii=False)}: {problem}" for problem in found]


def tagger_issues(tagger: MethodSettings, own: Any) -> list[str]:
    """Validation errors of a system's settings of the tagger."""
    if not isinstance(own, Mapping):
        return [f'tagger_settings is {own!r:.60}, expected settings of the tagger, e.g. {{ model = "bundled-ner" }}']
    known = tagger.issues()
    return [f"tagger_settings: {issue}" for issue in tagger.with_changes(own).issues() if issue not in known]


def _section(cls: type[Any], table: Any, place: str, problems: list[str]) -> Any:
    """A section of the recipe; None if something is wrong."""
    if not isinstance(table, dict):
        problems.append(f"the section [{place}] is missing" if table is None else f"{place} is not a section [{place}]")
        return None
    values, wrong = typed_settings.validated(cls, place, table)
    problems += wrong
    return None if wrong else cls(**values)


def with_preset(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Tagger settings on top of those of their ``preset``; a problem is added if there is no such preset."""
    known = presets()
    name = table.get("preset")
    if name is not None and str(name) not in known:
        problems.append(f'tagger.preset "{name}" is unknown; {did_you_mean(str(name), known)}')
    base = {key: value for key, value in known.get(str(name), {}).items() if key != "description"}
    if "steps" in table:  # both set the length of training
        base.pop("epochs", None)
    return {**base, **{key: value for key, value in table.items() if key != "preset"}}


def _tagger(table: Any, problems: list[str]) -> MethodSettings:
    if not isinstance(table, dict):
        problems.append("tagger is not a section [tagger]")
        return MethodSettings("transformer", kind="tagger")
    settings = {key: value for key, value in table.items() if key != "grid"}
    return method_settings("tagger", with_preset(settings, problems), "tagger", "transformer", problems)
