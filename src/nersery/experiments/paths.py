"""Paths in recipes: relative names start from the folder of the recipe."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from nersery.core import file_settings, registry
from nersery.core.errors import SettingsError, did_you_mean
from nersery.core.registry import DEFAULTS, FileName

EXAMPLE_PREFIX = "example:"
"""In front of a path: the file comes with nersery."""


def shipped(kind: str) -> Path:
    """The folder of the recipes or example files that come with nersery."""
    return Path(str(resources.files("nersery") / kind))


def presets() -> dict[str, dict[str, Any]]:
    """The papers' tagger settings by name."""
    return tomllib.loads((shipped("taggers") / "presets.toml").read_text("utf-8"))


def example(name: str) -> Path:
    """The path of an example file that comes with nersery, e.g. ``train.conll``, or ``example:train.conll``.

    Raises:
        SettingsError: When there is no such example.
    """
    known = {EXAMPLE_PREFIX + path.name: path for path in sorted(shipped("recipes/example").iterdir())}
    prefixed = EXAMPLE_PREFIX + name.removeprefix(EXAMPLE_PREFIX)
    if prefixed not in known:
        raise SettingsError(f'there is no example file "{prefixed}"; {did_you_mean(prefixed, known)}')
    return known[prefixed]


def located(name: str, folder: Path) -> Path:
    """The path of a file that is named in a folder; with ``example:`` in front it comes with nersery.

    >>> located("../raw.txt", Path("recipes")).as_posix()
    'recipes/../raw.txt'
    """
    if name.startswith(EXAMPLE_PREFIX):
        return shipped("recipes/example") / name.removeprefix(EXAMPLE_PREFIX)
    return folder / os.path.expanduser(name)


def with_paths(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A recipe's table, in which the files and models that settings of methods name start from the recipe's folder.

    A model does where such a folder is there; else it is a name. The files of [data] stay as they are, for
    `Recipe.path` finds them, and so does what is no method or no setting of it.
    """
    placed = dict(table)
    if isinstance(entries := table.get("systems"), list):
        placed["systems"] = [_system(entry, folder) if isinstance(entry, dict) else entry for entry in entries]
    if isinstance(table.get("tagger"), dict):
        placed["tagger"] = _method("tagger", table["tagger"], folder)
    return _selecting(placed, folder)


def _system(entry: dict[str, Any], folder: Path) -> dict[str, Any]:
    kind = "annotate" if entry.get("method") in registry.names("annotate") else "augment"
    placed = _method(kind, entry, folder)
    if isinstance(own := entry.get("tagger_settings"), dict):
        placed = {**placed, "tagger_settings": _method("tagger", own, folder)}
    return _selecting(placed, folder)


def _selecting(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A system, or the whole recipe, with the files of its selectors."""
    if not isinstance(chosen := table.get("select"), list):
        return table
    placed = [_method("select", entry, folder) if isinstance(entry, dict) else entry for entry in chosen]
    return {**table, "select": placed}


def _method(kind: str, entry: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The settings of a method with the paths of its files, and of the methods within it."""
    preset = presets().get(str(entry.get("preset")), {}) if kind == "tagger" else {}
    name = entry.get("method", preset.get("method", DEFAULTS.get(kind, "")))
    if name not in registry.names(kind):
        return entry

    found = {
        keys: (located(path, folder), type_)
        for keys, type_, path in file_settings.names_in(registry.get(kind, name), entry)
    }
    return file_settings.replaced(
        entry, {keys: str(path) for keys, (path, type_) in found.items() if type_ == FileName or path.is_dir()}
    )
