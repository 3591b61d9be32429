"""What a recipe varies: settings of its systems, sample sizes and languages."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from nersery.core import registry
from nersery.core.errors import did_you_mean, shown
from nersery.experiments.grid import combinations, is_varied
from nersery.experiments.recipe_file import table_methods
from nersery.experiments.recipe_file.data_files import SPLITS, DataSettings
from nersery.experiments.recipe_file.overrides import as_toml
from nersery.experiments.systems import MAX_NAME_LENGTH, System, folder_key

MAX_SETTINGS = 2
"""Maximum number of settings that one table varies: one by columns and one by rows."""
SYSTEM = "system"
_NOT_IN_NAMES = re.compile(r"[/\\\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that must not occur in the name of a folder."""


@dataclass
class SweepSettings:
    """What is varied. Sizes and languages are runs of their own; settings are systems of one run, which share gold.

    Args:
        sizes: Values of `sample.size`, and of `dev_size` if the recipe has it.
        languages: Languages to train and test on separately, with the files that `[data]` names.
        settings: Tables of a `system` and lists of values for one or two of its settings, e.g. `{ system = "aclm",
            copies = [1, 3, 5] }`; each makes a table of the report.
        score: ``test``, or ``dev`` for F1 on dev with the weights that were kept.
    """

    sizes: list[Annotated[int, Field(strict=True, ge=1)]] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    settings: list[dict[str, Any]] = field(default_factory=list)
    score: Literal["test", "dev"] = "test"
    tables: list[SettingsTable] = field(default_factory=list, init=False)

    def issues(self, data: DataSettings | None, systems: Sequence[System]) -> list[str]:
        """Conflicts with the rest of the recipe; None stands for data that were refused."""
        issues = [
            f"sweep.{name} is {shown(values)}, expected different values"
            for name in ("sizes", "languages")
            if len({*(values := getattr(self, name))}) < len(values)
        ]
        if data and self.score == "dev" and not data.dev:
            issues.append('sweep.score is "dev", but [data] has no dev: name a file as dev')
        if not data or not self.languages:
            return issues
        needed = {"dev": self.score == "dev", "raw": any(system.labels_raw_text for system in systems)}
        for split in (split for split in SPLITS if needed.get(split, True)):
            files = getattr(data, split)
            if isinstance(files, str) and split not in needed:
                issues.append(f"sweep.languages: data.{split} is one file, expected a file for each language")
            elif isinstance(files, Mapping):
                issues += [
                    f'sweep.languages: "{language}" has no {split} set: name a file as data.{split}.{language}, or '
                    "leave the language out"
                    for language in self.languages
                    if language not in files
                ]
        return issues


@dataclass(frozen=True)
class SettingsTable:
    """The systems of a table, by the values of the settings that it varies.

    Args:
        keys: One or two settings: that of the columns, then that of the rows.
        systems: The system of each combination of values. The last setting varies fastest.
    """

    system: str
    keys: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    systems: tuple[str, ...]


def with_swept_systems(
    table: Mapping[str, Any], folder: Path = Path()
) -> tuple[Mapping[str, Any], list[SettingsTable], list[str]]:
    """A recipe's table, extended by a system for each combination of values; the tables of these systems; issues.

    Args:
        folder: The recipe's folder. Names and tables show paths from there, so that the working directory does not
            matter: a run that is repeated from elsewhere finds its systems.
    """
    entries = {table_methods.entry_name(entry): entry for entry in table_methods.system_entries(table)}
    issues, tables, added_systems = list[str](), list[SettingsTable](), dict[str, dict[str, Any]]()
    entries_by_folder: dict[str, Mapping[str, Any]] = {folder_key(name): entry for name, entry in entries.items()}
    for number, swept in enumerate(table_methods.swept_settings(table), start=1):
        if issue := _issue(swept, entries) or _unknown_setting(table, entries[swept[SYSTEM]], swept):
            issues.append(f"sweep.settings, entry {number}: {issue}")
            continue
        lists = {key: values for key, values in swept.items() if key != SYSTEM}
        entry, names = entries[swept[SYSTEM]], []
        current = {**_defaults(table, entry)[1], **entry}
        for settings in combinations(lists):
            changed = {key: value for key, value in settings.items() if value != current.get(key)}
            name = " ".join([swept[SYSTEM], *(f"{key}={_shown(value, folder)}" for key, value in changed.items())])
            if changed:
                changed_entry = {**entry, **changed}
                name = _folder_name(name, changed_entry, entries_by_folder)
                added_systems[name] = {**changed_entry, "name": name}
            names.append(name)
        shown = tuple(tuple(_shown(value, folder) for value in values) for values in lists.values())
        tables.append(SettingsTable(swept[SYSTEM], tuple(lists), shown, tuple(names)))
    if added_systems:
        table = {**table, "systems": [*table["systems"], *added_systems.values()]}
    return table, tables, issues


def _shown(value: Any, folder: Path) -> str:
    """A value as in the recipe, without quotation marks around text."""
    written = _as_written(value, folder)
    return written if isinstance(written, str) else as_toml(written)


def _as_written(value: Any, folder: Path) -> Any:
    """A value in which paths within the recipe's folder start there, as in the recipe."""
    if isinstance(value, str):
        return value.removeprefix(os.path.join(folder, "")) if folder != Path() else value
    if isinstance(value, Mapping):
        return {key: _as_written(inner, folder) for key, inner in value.items()}
    return [_as_written(inner, folder) for inner in value] if isinstance(value, list) else value


def _issue(swept: Any, entries: Mapping[str, Any]) -> str:
    name = swept.get(SYSTEM) if isinstance(swept, Mapping) else None
    if not isinstance(name, str) or name not in entries:
        hint = did_you_mean(str(name or ""), entries) or "there are no [[systems]]"
        return f'expected the name of a system, e.g. {{ system = "aclm", copies = [1, 3] }}; {hint}'
    lists = {key: values for key, values in swept.items() if key != SYSTEM}
    if not 1 <= len(lists) <= MAX_SETTINGS:
        return f"it varies {len(lists)} settings, expected 1 or {MAX_SETTINGS}"
    wrong = [key for key, values in lists.items() if not is_varied(values)]
    return f"{wrong[0]} is {shown(lists[wrong[0]])}, expected a list of different values" if wrong else ""


def _unknown_setting(table: Mapping[str, Any], entry: Mapping[str, Any], swept: Mapping[str, Any]) -> str:
    """The issue if a system lacks a varied setting; empty if its method is unknown."""
    method, defaults = _defaults(table, entry)
    unknown = [key for key in swept if key != SYSTEM and key not in entry and key not in defaults]
    settings = registry.defaults(table_methods.kind_of(entry), method) if method else {}
    return f'{method} has no setting "{unknown[0]}"; {did_you_mean(unknown[0], settings)}' if method and unknown else ""


def _defaults(table: Mapping[str, Any], entry: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A system's method, empty if unknown, and the values of all settings that its entry leaves out."""
    kind = table_methods.kind_of(entry)
    method = table_methods.method_name(kind, entry)
    method_defaults = registry.defaults(kind, method) if method else {}
    return method, {**vars(System("")), "select": table.get("select", []), **method_defaults}


def _folder_name(text: str, entry: Mapping[str, Any], taken: dict[str, Mapping[str, Any]]) -> str:
    """A valid name for a folder. A name that is too long, or that another system has, ends with a hash.

    Args:
        taken: The systems by `folder_key`; this one is added.
    """
    name = _NOT_IN_NAMES.sub("_", text).strip()
    if len(name.encode()) <= MAX_NAME_LENGTH and taken.setdefault(folder_key(name), entry) == entry:
        return name
    hashed = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{name.encode()[: MAX_NAME_LENGTH - 9].decode(errors='ignore')} {hashed}"


@dataclass(frozen=True)
class SweepPoint:
    """A run of a sweep: a size and a language, if these are varied."""

    size: int | None = None
    language: str = ""

    @property
    def name(self) -> str:
        """The name of its folder."""
        return "-".join(filter(None, [str(self.size or ""), self.language])) or "run"

    def data(self, data: DataSettings) -> DataSettings:
        """The data settings with only the files of this language."""
        tables = {split: getattr(data, split) for split in SPLITS if self.language and data.has_languages(split)}
        own: dict[str, Any] = {
            split: {key: table[key] for key in table if key == self.language} or None for split, table in tables.items()
        }
        return replace(data, **own)


def sweep_points(sweep: SweepSettings) -> list[SweepPoint]:
    """The runs of a sweep."""
    sizes: list[int | None] = [*sweep.sizes] or [None]
    return [SweepPoint(size, language) for size in sizes for language in sweep.languages or [""]]
