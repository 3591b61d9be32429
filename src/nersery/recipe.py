"""A recipe: one TOML file that names data, methods and settings, and is checked whole before anything runs."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from nersery import registry
from nersery.errors import SettingsError, did_you_mean
from nersery.sampling import PROTOCOLS

GOLD = "gold"
"""The name of the baseline that every run trains: the tagger on gold sentences alone."""

EXAMPLE_PREFIX = "example:"
"""In front of a path: the file comes with nersery."""


@dataclass
class DataSettings:
    """The files, and how to read them; see `nersery.io.ReadOptions`.

    Args:
        train: Labelled sentences to sample from and to augment.
        dev: Labelled sentences to choose the best weights by.
        test: Labelled sentences for the scores, used for nothing else.
    """

    train: str
    test: str
    dev: str | None = None
    language: str = ""
    format: str = "auto"
    encoding: str = "utf-8"
    repair: list[str] = field(default_factory=list)
    word_column: int | None = None
    tag_column: int | None = None
    scheme: str | None = None


@dataclass
class SampleSettings:
    """How much of the training data is used, as if there were no more.

    Args:
        size: Sentences to draw for each seed; None takes all.
        protocol: Which ones; `nersery list protocols` names them.
        dev_size: Sentences of dev to keep; None keeps all.
    """

    size: int | None = None
    protocol: str = "stratified"
    dev_size: int | None = None


@dataclass
class MethodSettings:
    """A method by name with the settings of its own."""

    method: str
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass
class Arm:
    """One way to train: gold sentences and what a method made of them.

    Args:
        name: What the report calls it.
        augment: The method; None only for the baseline.
        copies: New sentences to try for each gold sentence.
        select: Which of them to keep, one selector after another.
        gold_copies: How often each gold sentence stands in the training data.
    """

    name: str
    augment: MethodSettings | None = None
    copies: int = 1
    select: list[MethodSettings] = field(default_factory=list)
    gold_copies: int = 1

    def makes_the_same_as(self, other: Arm) -> bool:
        """Whether both generate the same sentences, so that one of them need not."""
        return self.augment == other.augment and self.copies == other.copies


@dataclass
class EvaluateSettings:
    """What is measured on the test sentences.

    Args:
        bootstrap_samples: Resamplings of the test sentences for the interval and p-value against gold only.
    """

    bootstrap_samples: int = 10_000


@dataclass
class Recipe:
    """A checked recipe. Its arms begin with the baseline, gold only."""

    name: str
    data: DataSettings
    tagger: MethodSettings
    arms: list[Arm]
    description: str = ""
    seeds: list[int] = field(default_factory=lambda: [0])
    sample: SampleSettings = field(default_factory=SampleSettings)
    evaluate: EvaluateSettings = field(default_factory=EvaluateSettings)
    keep_taggers: bool = True
    source: str = ""

    def as_dict(self) -> dict[str, Any]:
        """All settings as JSON values, without the name of the file they were read from."""
        return {key: value for key, value in asdict(self).items() if key != "source"}

    def path(self, name: str) -> Path:
        """Where a data file of the recipe lies; relative names start from the recipe's own folder."""
        if name.startswith(EXAMPLE_PREFIX):
            return shipped("examples") / name.removeprefix(EXAMPLE_PREFIX)
        return find(self.source).parent / Path(name).expanduser()


def shipped(kind: str) -> Path:
    """The folder of the recipes or example files that come with nersery."""
    return Path(str(resources.files("nersery") / kind))


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
    if Path(name).is_file():
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
            name: ``augment.melm.copies=5``. Values are TOML, or else plain strings.

    Raises:
        SettingsError: With all problems at once.
    """
    path = find(name)
    try:
        table = tomllib.loads(path.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not a TOML file in UTF-8: {error}") from error
    problems: list[str] = []
    for override in overrides:
        problems += _override(table, override)
    recipe = parse(table, problems)
    if recipe is None:
        lines = "\n".join(f"  {number}. {problem}" for number, problem in enumerate(problems, start=1))
        raise SettingsError(f"{path}: {len(problems)} problem{'s' * (len(problems) > 1)} in the recipe\n{lines}")
    recipe.source = name
    return recipe


def parse(table: Mapping[str, Any], problems: list[str]) -> Recipe | None:
    """Build a recipe from its TOML table; problems are added to the list, and then there is no recipe."""
    known = [
        "name",
        "description",
        "seeds",
        "keep_taggers",
        "data",
        "sample",
        "tagger",
        "augment",
        "select",
        "evaluate",
    ]
    known_problems = len(problems)
    problems += [f'unknown key "{key}"; {did_you_mean(key, known)}' for key in table if key not in known]
    default_select = [_selector(entry, problems) for entry in _list(table, "select", problems)]
    arms = [Arm(GOLD)]
    arms += [_arm(entry, default_select, problems) for entry in _list(table, "augment", problems)]
    for name, count in Counter(arm.name for arm in arms).items():
        if count > 1:
            problems.append(f'{count} augment entries are called "{name}"; give each its own name')
    values = {
        "name": table.get("name", ""),
        "description": table.get("description", ""),
        "seeds": table.get("seeds", [0]),
        "keep_taggers": table.get("keep_taggers", True),
        "data": _section(DataSettings, table.get("data"), "data", problems),
        "sample": _section(SampleSettings, table.get("sample", {}), "sample", problems),
        "evaluate": _section(EvaluateSettings, table.get("evaluate", {}), "evaluate", problems),
        "tagger": _tagger(table.get("tagger", {}), problems),
        "arms": arms,
    }
    problems += _value_problems(values)
    return Recipe(**values) if len(problems) == known_problems == 0 else None


def _value_problems(values: Mapping[str, Any]) -> list[str]:
    seeds, sample, evaluate = values["seeds"], values["sample"], values["evaluate"]
    problems = []
    if not isinstance(values["name"], str) or not values["name"]:
        problems.append('name is missing: expected a short string, e.g. name = "my-corpus"')
    if not isinstance(values["description"], str):
        problems.append("description: expected a string")
    if not isinstance(values["keep_taggers"], bool):
        problems.append("keep_taggers: expected true or false")
    whole = isinstance(seeds, list) and all(isinstance(seed, int) and seed >= 0 for seed in seeds)
    if not whole or not seeds or len(set(seeds)) < len(seeds):
        problems.append(f"seeds is {seeds!r}: expected a list of different whole numbers, e.g. [0, 1, 2]")
    if sample is not None:
        if sample.protocol not in PROTOCOLS:
            problems.append(
                f'sample.protocol "{sample.protocol}" is unknown; {did_you_mean(sample.protocol, PROTOCOLS)}'
            )
        problems += [
            f"sample.{key} is {size}, expected 1 or more"
            for key, size in (("size", sample.size), ("dev_size", sample.dev_size))
            if size is not None and size < 1
        ]
    if evaluate is not None and evaluate.bootstrap_samples < 100:
        problems.append(f"evaluate.bootstrap_samples is {evaluate.bootstrap_samples}, expected 100 or more")
    return problems


def _list(table: Mapping[str, Any], key: str, problems: list[str]) -> list[Any]:
    entries = table.get(key, [])
    if isinstance(entries, list):
        return entries
    problems.append(f"{key} is not a list: write [[{key}]], once for each entry")
    return []


def _section(cls: type[Any], table: Any, place: str, problems: list[str]) -> Any:
    """A section of plain settings, checked against its dataclass."""
    from pydantic import TypeAdapter, ValidationError

    if not isinstance(table, dict):
        problems.append(f"the section [{place}] is missing" if table is None else f"{place} is not a section [{place}]")
        return None
    known = list(cls.__dataclass_fields__)
    problems += [f'{place} has no key "{key}"; {did_you_mean(key, known)}' for key in table if key not in known]
    try:
        return TypeAdapter(cls).validate_python({key: value for key, value in table.items() if key in known})
    except ValidationError as error:
        for detail in error.errors():
            key = ".".join(map(str, detail["loc"]))
            got = "" if detail["type"] == "missing" else f", got {detail['input']!r}"
            problems.append(f"{place}.{key}: {detail['msg']}{got}")
        return None


def _method(kind: str, entry: Mapping[str, Any], place: str, default: str, problems: list[str]) -> MethodSettings:
    settings = {key: value for key, value in entry.items() if key != "method"}
    name = entry.get("method", default)
    if not isinstance(name, str) or not name:
        problems.append(f"{place}: method is missing; known: {', '.join(registry.names(kind))}")
        return MethodSettings("")
    wrong = [f"{place}: {problem}" for problem in registry.check(kind, name, settings)]
    problems += wrong
    return MethodSettings(name, settings if wrong else {**registry.defaults(kind, name), **settings})


def _selector(entry: Any, problems: list[str]) -> MethodSettings:
    if isinstance(entry, str):
        entry = {"method": entry}
    if not isinstance(entry, dict):
        problems.append(f'select: {entry!r} is no selector; expected "agreement" or {{ method = "agreement", … }}')
        return MethodSettings("")
    return _method("select", entry, "select", "", problems)


def _arm(entry: Any, default_select: list[MethodSettings], problems: list[str]) -> Arm:
    if not isinstance(entry, dict):
        problems.append(f"augment: {entry!r} is no entry; write [[augment]] and below it method = …")
        return Arm("")
    name = entry.get("name", entry.get("method", ""))
    place = f'augment "{name}"'
    own = {"name", "copies", "select", "gold_copies"}
    method = _method("augment", {k: v for k, v in entry.items() if k not in own}, place, "", problems)
    if not isinstance(name, str) or not name or name.startswith(".") or any(c in name for c in "/\\\0"):
        problems.append(f"{place}: a name is also a folder's: expected a string without slashes or a dot in front")
    numbers = {key: entry.get(key, 1) for key in ("copies", "gold_copies")}
    for key, value in numbers.items():
        if not isinstance(value, int) or value < 1:
            problems.append(f"{place}: {key} is {value!r}, expected a whole number, 1 or more")
    select = default_select
    if "select" in entry:
        select = [_selector(selector, problems) for selector in _list(entry, "select", problems)]
    return Arm(str(name), method, numbers["copies"], select, numbers["gold_copies"])


def presets() -> dict[str, dict[str, Any]]:
    """The papers' tagger settings by name."""
    return tomllib.loads((shipped("tagger") / "presets.toml").read_text("utf-8"))


def with_preset(table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Tagger settings with those of their ``preset`` underneath; a problem is added when there is no such preset."""
    known = presets()
    name = table.get("preset")
    if name is not None and name not in known:
        problems.append(f'tagger.preset "{name}" is unknown; {did_you_mean(str(name), known)}')
    base = {key: value for key, value in known.get(str(name), {}).items() if key != "description"}
    if "steps" in table:
        base.pop("epochs", None)
    return {**base, **{key: value for key, value in table.items() if key != "preset"}}


def _tagger(table: Any, problems: list[str]) -> MethodSettings:
    if not isinstance(table, dict):
        problems.append("tagger is not a section [tagger]")
        return MethodSettings("transformer")
    return _method("tagger", with_preset(table, problems), "tagger", "transformer", problems)


def _override(table: dict[str, Any], override: str) -> list[str]:
    """Put ``a.b=value`` into a recipe's table, and say what is wrong with it."""
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        return [f'--set "{override}": expected key=value, e.g. tagger.steps=100']
    *parents, last = key.strip().split(".")
    place: Any = table
    for parent in parents:
        if isinstance(place, list):
            found = [entry for entry in place if parent in (entry.get("name"), entry.get("method"))]
            if not found:
                names = [str(entry.get("name", entry.get("method"))) for entry in place]
                return [f'--set "{override}": no entry "{parent}"; {did_you_mean(parent, names)}']
            place = found[0]
        else:
            place = place.setdefault(parent, {})
        if not isinstance(place, dict | list):
            return [f'--set "{override}": {parent} is a single value, not a section']
    if isinstance(place, list):
        return [f'--set "{override}": say which entry, e.g. {".".join(parents)}.NAME.{last}']
    value = toml_value(text)
    if parents == ["data"] and last in ("train", "dev", "test") and not text.startswith(EXAMPLE_PREFIX):
        value = str(Path(text).expanduser().absolute())  # on the command line a path starts from where the user is
    place[last] = value
    return []


def toml_value(text: str) -> Any:
    """A value as TOML reads it, or else the text itself.

    >>> toml_value("0.3"), toml_value("[1, 2]"), toml_value("bert-base-cased")
    (0.3, [1, 2], 'bert-base-cased')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def settings_of(pairs: Sequence[str]) -> dict[str, Any]:
    """Settings given as ``key=value`` on the command line.

    Raises:
        SettingsError: For a pair without ``=``.
    """
    settings = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise SettingsError(f'--set "{pair}": expected key=value, e.g. rate=0.3')
        settings[key.strip()] = toml_value(text)
    return settings
