"""A recipe: one TOML file that names data, methods and settings. All of it is checked before anything runs."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from nersery.core.counting import plural
from nersery.core.errors import SettingsError, at, did_you_mean, shown
from nersery.core.random import MAX_SAMPLES, MAX_SEED
from nersery.core.settings import typed_settings
from nersery.core.system.files import address_in, advice_for_address, advice_for_missing, unexpanded_home
from nersery.core.warnings import warn
from nersery.experiments.data.sampling import PROTOCOLS
from nersery.experiments.grid import grid_issues
from nersery.experiments.recipe_file.data_files import DataSettings
from nersery.experiments.recipe_file.model_sets import with_models
from nersery.experiments.recipe_file.overrides import apply_override, null_issues
from nersery.experiments.recipe_file.table_methods import presets, section, with_paths
from nersery.experiments.sweep.sweep_settings import SweepSettings, with_swept_systems
from nersery.experiments.systems import MethodSettings, System, folder_name, method_settings, parse_systems
from nersery.io.input_files.shipped import located, shipped

KEYS = (
    "name", "description", "paper", "seeds", "keep_taggers", "data", "sample", "tagger", "systems", "select",
    "evaluate", "sweep",
)  # fmt: skip
"""The top-level keys of a recipe."""

MISSING = {"name": 'name is missing: expected e.g. name = "my-corpus"', "data": "the section [data] is missing"}
"""The issue of a recipe that lacks the key."""

PAPERS = {
    "": "",
    "aclm": "ACLM (Ghosh et al. 2023)",
    "melm": "MELM (Zhou et al. 2022)",
    "promptda": "PromptDA (Liu et al. 2022)",
    "naamapadam": "Naamapadam (Mhaske et al. 2023)",
}
"""The papers whose experiments are shipped as recipes."""

NOT_UTF_8 = ". Save it as UTF-8, which an editor such as Notepad offers under Save as"
BACKSLASHES = ". If this is a path of Windows, write it in 'single quotes', or with / in place of \\"
"""The advice for a path such as "C:\\Users", in which TOML reads the beginning of a character's number."""

MAX_FOLDS = 100
Size = Annotated[int, Field(ge=1)]


def _protocol(name: str) -> str:
    if name not in PROTOCOLS:
        raise ValueError(f"unknown protocol; {did_you_mean(name, PROTOCOLS)}")
    return name


def _seeds(seeds: Any) -> Any:
    are_whole = isinstance(seeds, list) and all(type(seed) is int and 0 <= seed <= MAX_SEED for seed in seeds)
    if not are_whole or not seeds or len(set(seeds)) < len(seeds):
        raise ValueError(f"expected a list of different whole numbers from 0 to {MAX_SEED}, e.g. [0, 1, 2]")
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
    folds: Annotated[int | None, Field(ge=2, le=MAX_FOLDS)] = None


@dataclass
class EvaluateSettings:
    """How test results are compared.

    Args:
        bootstrap_samples: Bootstrap resamples of the test sentences for intervals and p-values.
    """

    bootstrap_samples: Annotated[int, Field(ge=100, le=MAX_SAMPLES)] = 10_000


@dataclass
class Recipe:
    """A checked recipe. The first system is the baseline, gold only.

    Args:
        name: Title of the report and, without `--out`, name of the run's folder.
        description: What the recipe is for.
        paper: The paper whose experiment it repeats: ``aclm``, ``melm``, ``promptda`` or ``naamapadam``.
        seeds: Each system is trained once per seed; each seed draws its own sample.
        keep_taggers: Keep the trained taggers, each as large as its model.
        source: The file, or the name of a shipped recipe.
        overrides: The changes made by ``--set``.
        models: The set of models chosen by ``--models``.
        sweep: What is varied; None for a single run.
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

    @property
    def baseline(self) -> System:
        """The first system, gold only."""
        return self.systems[0]

    def as_dict(self) -> dict[str, Any]:
        """All settings that results depend on, as JSON values."""
        left_out = ("source", "overrides", "models", "paper", "sweep", *(() if self.grid else ("grid",)))
        values = {key: value for key, value in asdict(self).items() if key not in left_out}
        if not self.data.languages:
            del values["data"]["languages"]
        if self.sweep:  # sizes, languages and values may be added later
            values["sweep"] = {"score": self.sweep.score}
        return values

    def tagger_of(self, system: System) -> MethodSettings:
        """The tagger with the settings of a system."""
        return self.tagger.with_changes(system.tagger_settings)

    def methods(self) -> Iterator[tuple[str, System, MethodSettings]]:
        """Each tagger, method and selector: its label in messages, its system, and its settings."""
        for system in self.systems:
            label = f'system "{system.name}"'
            if system.is_baseline or system.tagger_settings:
                yield "tagger" if system.is_baseline else f"{label}, tagger", system, self.tagger_of(system)
            if system.method is not None:
                yield label, system, system.method
            for selector in system.select:
                yield f'{label}, select "{selector.method}"', system, selector

    def system(self, name: str) -> System:
        """The system of that name."""
        return next(system for system in self.systems if system.name == name)

    def chain(self, system: System) -> list[System]:
        """The systems that a system builds on (``base``), starting with the first one, and the system itself."""
        return [*(self.chain(self.system(system.base)) if system.base else []), system]

    def path(self, name: str) -> Path:
        """The path of a data file. Relative names are resolved from the recipe's folder."""
        return located(name, find_recipe(self.source).parent)


def shipped_recipes() -> dict[str, Path]:
    """The shipped recipes by name."""
    return {path.stem: path for path in sorted(shipped("recipes").glob("*.toml"))}


def recipes_of(paper: str) -> dict[str, str]:
    """The descriptions of a paper's shipped recipes, by name. An empty name gives the recipes without a paper."""
    return {name: text for name, (its_paper, text) in _papers_and_descriptions().items() if its_paper == paper}


@cache
def _papers_and_descriptions() -> dict[str, tuple[str, str]]:
    tables = {name: tomllib.loads(path.read_text("utf-8")) for name, path in shipped_recipes().items()}
    return {name: (table.get("paper", ""), str(table["description"])) for name, table in tables.items()}


def find_recipe(name: str) -> Path:
    """The file of a recipe, given its path or the name of a shipped one; a `SettingsError` if neither exists."""
    if os.path.isfile(name):
        return Path(name)
    recipes = shipped_recipes()
    if name in recipes:
        return recipes[name]
    if name == "-" or (os.path.exists(name) and not os.path.isdir(name)):
        raise SettingsError(f"{name} is not a regular file: save it as one, because a resumed run reads it again")
    if address := address_in(Path(name)):
        fix = advice_for_address(address, "download it, and name that file")
        raise SettingsError(f"{name} is an address, expected a file: {fix}")
    if name and os.path.isfile(inner := os.path.join(name, "recipe.toml")):
        raise SettingsError(f"{name} is a folder, expected a recipe: did you mean {inner}?")
    if advice := advice_for_missing(Path(name)) if name.endswith(".toml") else unexpanded_home(Path(name)):
        raise SettingsError(f"there is no recipe {name}: {advice}")
    raise SettingsError(f'there is no recipe "{name}": neither a file nor a shipped one; {did_you_mean(name, recipes)}')


def load(name: str, overrides: Iterable[str] = (), models: str = "") -> Recipe:
    """Read a recipe and check every name and setting in it.

    Args:
        name: A path, or the name of a shipped recipe.
        models: A set of models, see `nersery.experiments.recipe_file.model_sets`; applied before the overrides.
        overrides: ``key=value`` with dots in the key, ``tagger.steps=100`` or ``systems.NAME.copies=5``. Values are
            TOML or plain strings. Their paths are relative to the working directory, those in the recipe to its folder.

    Raises:
        SettingsError: If there are issues; lists all of them at once.
    """
    path = find_recipe(name)
    try:
        table = tomllib.loads(path.read_text("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # also for a number with thousands of digits
        advice = BACKSLASHES if str(error).startswith(("Invalid hex value", "Unescaped '\\'")) else ""
        advice = NOT_UTF_8 if isinstance(error, UnicodeDecodeError) else advice
        raise SettingsError(f"{path} is not a TOML file in UTF-8: {error}{advice}") from error
    if issues := [*null_issues(table)]:
        raise SettingsError(_listed(path, issues))
    table = with_paths(table, path.parent)
    if models:
        table, notes = with_models(table, models)  # systems without a model are left out
        for text in notes:
            warn(text)
    if isinstance(overrides, str | Mapping):
        raise SettingsError(
            f"overrides is {shown(overrides)}, expected a list such as ['tagger.steps=100', 'seeds=[0, 1]']"
        )
    overrides = tuple(overrides)
    issues = [issue for override in overrides if (issue := apply_override(table, override))]
    recipe, parse_issues = parse_recipe(table, path.parent)
    issues += parse_issues
    if recipe is None or issues:
        raise SettingsError(_listed(path, issues))
    recipe.source, recipe.overrides, recipe.models = name, overrides, models
    return recipe


def _listed(path: Path, issues: Sequence[str]) -> str:
    lines = "\n".join(f"  {number}. {issue}" for number, issue in enumerate(issues, start=1))
    return f"{path}: {plural(len(issues), 'issue')} in the recipe\n{lines}"


def parse_recipe(table: Mapping[str, Any], folder: Path = Path()) -> tuple[Recipe | None, list[str]]:
    """The recipe in a TOML table, or None if there are issues, and all issues.

    Args:
        folder: See `with_swept_systems`.
    """
    issues = [f'unknown key "{key}"; {did_you_mean(key, KEYS)}' for key in table if key not in KEYS]
    issues += [issue for key, issue in MISSING.items() if key not in table]
    entries = {key: table[key] for key in KEYS if key in table and key not in ("tagger", "systems", "select")}
    values, entry_issues = typed_settings.validated_given(Recipe, "", entries)
    tagger, tagger_issues = _tagger(table.get("tagger", {}))
    expanded_table, tables, swept_issues = with_swept_systems(table, folder)
    systems, system_issues = parse_systems(expanded_table)
    issues += [*entry_issues, *_fold_issues(table), *tagger_issues, *swept_issues, *system_issues]
    data, sweep = values.get("data"), values.get("sweep")
    issues += data.issues() if data else []
    if sweep:
        sweep.tables = tables
        issues += sweep.issues(data, systems)
    grid = section(table, "tagger").get("grid", {})
    issues += at("tagger.grid", grid_issues(grid, tagger, section(table, "data")))
    issues += [issue for system in systems for issue in system.issues(tagger, data)]
    return None if issues else Recipe(**values, tagger=tagger, systems=systems, grid=grid), issues


def _fold_issues(table: Mapping[str, Any]) -> list[str]:
    """Conflicts between cross-validation and other keys of a recipe's table."""
    data, sample, seeds = section(table, "data"), section(table, "sample"), table.get("seeds", [0])
    folds = sample.get("folds")
    if isinstance(folds, float) and folds.is_integer():
        folds = int(folds)
    if folds is None and isinstance(table.get("data"), dict) and "test" not in data:
        return ['data needs the setting "test": name a file; or cross-validate, e.g. sample.folds = 5']
    if type(folds) is not int:
        return []
    conflicts = {
        "sample.folds scores on parts of train: leave out data.test": "test" in data,
        "sample.folds uses all of train: leave out sample.size": "size" in sample,
        "sample.folds uses all of train: leave out sweep.sizes": section(table, "sweep").get("sizes"),
    }
    wrong = [seed for seed in seeds if type(seed) is int and seed >= folds] if isinstance(seeds, list) else []
    return [issue for issue, applies in conflicts.items() if applies] + [
        f"seeds has {seed}, but with sample.folds = {folds} the folds have the numbers 0 to {folds - 1}"
        for seed in wrong[:1]
    ]


def with_preset(table: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The settings of a tagger, completed by those of its ``preset``, and an issue if there is no such preset."""
    known_presets, name = presets(), str(table.get("preset", ""))
    issues = []
    if "preset" in table and name not in known_presets:
        issues.append(f'tagger.preset "{name}" is unknown; {did_you_mean(name, known_presets)}')
    preset = {key: value for key, value in known_presets.get(name, {}).items() if key != "description"}
    if "steps" in table:  # both set the length of training
        preset.pop("epochs", None)
    return {**preset, **{key: value for key, value in table.items() if key != "preset"}}, issues


def _tagger(table: Any) -> tuple[MethodSettings, list[str]]:
    if not isinstance(table, dict):
        return MethodSettings("transformer", kind="tagger"), ["tagger is not a section [tagger]"]
    settings, unknown = with_preset({key: value for key, value in table.items() if key != "grid"})
    tagger, issues = method_settings("tagger", settings, "transformer")
    return tagger, unknown + at("tagger", issues)
