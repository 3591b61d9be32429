"""The methods in a recipe's table as read from TOML, before it is checked. Invalid entries stay as they are."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nersery.core import registry
from nersery.core.registry import DEFAULTS
from nersery.core.settings import file_settings
from nersery.core.settings.typed_settings import FileName
from nersery.io.input_files.shipped import located, shipped

Table = dict[str, Any]

LABELS_RAW_TEXT = "annotate"
"""The kind of methods that start from raw text rather than from gold sentences."""


def kind_of(entry: Mapping[str, Any]) -> str:
    """The kind of the method in a system's entry: an annotator, or else an augmentation method."""
    return LABELS_RAW_TEXT if entry.get("method") in registry.names(LABELS_RAW_TEXT) else "augment"


def presets() -> dict[str, dict[str, Any]]:
    """The papers' tagger settings by name."""
    return tomllib.loads((shipped("taggers") / "presets.toml").read_text("utf-8"))


def preset_of(kind: str, entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of the preset that a tagger's entry names; empty if it names none."""
    return presets().get(str(entry.get("preset")), {}) if kind == "tagger" else {}


def method_name(kind: str, entry: Mapping[str, Any], default: str = "") -> str:
    """The method that an entry, its preset or the default names; empty if there is no such method."""
    name = entry.get("method", preset_of(kind, entry).get("method", default or DEFAULTS.get(kind, "")))
    return str(name) if name in registry.names(kind) else ""


def map_methods(table: Mapping[str, Any], change: Callable[[str, Any], Any]) -> Table:
    """A recipe's table with changed settings of its methods.

    Args:
        change: Takes the kind of a method and its entry, of whatever type, and returns the new entry.
    """

    def with_selectors(part: Mapping[str, Any]) -> Table:
        """The recipe, or a system, with changed selectors."""
        selectors = part.get("select")
        return {**part, "select": [change("select", s) for s in selectors]} if isinstance(selectors, list) else {**part}

    def changed_system(entry: Any) -> Any:
        if not isinstance(entry, dict):
            return entry
        changed = change(kind_of(entry), entry)
        if isinstance(tagger_settings := entry.get("tagger_settings"), dict):
            method = method_name("tagger", section(table, "tagger"))
            settings = change("tagger", {"method": method, **tagger_settings} if method else tagger_settings)
            kept = {key: value for key, value in settings.items() if key != "method" or key in tagger_settings}
            changed = {**changed, "tagger_settings": kept}
        return with_selectors(changed)

    changed = with_selectors(table)
    if isinstance(entries := table.get("systems"), list):
        changed["systems"] = [changed_system(entry) for entry in entries]
    if "tagger" in table:
        changed["tagger"] = change("tagger", table["tagger"])
    return changed


def section(table: Mapping[str, Any], key: str) -> Table:
    """A section of a recipe's table; empty if it is not a table."""
    value = table.get(key)
    return value if isinstance(value, dict) else {}


def swept_settings(table: Mapping[str, Any]) -> list[Any]:
    """The entries of ``sweep.settings``."""
    entries = section(table, "sweep").get("settings")
    return entries if isinstance(entries, list) else []


def system_entries(table: Mapping[str, Any]) -> list[Table]:
    """The entries of ``systems`` that are tables."""
    entries = table.get("systems")
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def entry_name(entry: Mapping[str, Any]) -> str:
    """The name of a system's entry, by default that of its method."""
    return str(entry.get("name", entry.get("method", "")))


def with_paths(table: Mapping[str, Any], folder: Path) -> Table:
    """A recipe's table, in which the files and models in settings of methods are paths from the recipe's folder.

    A model becomes a path only if such a folder exists; otherwise it is a name. The files of `[data]` stay as they
    are, because `Recipe.path` finds them.
    """

    def placed(kind: str, entry: Any) -> Any:
        if not isinstance(entry, dict) or not (name := method_name(kind, entry)):
            return entry
        names = file_settings.file_and_model_names(registry.get(kind, name), entry)
        paths = {keys: (located(path, folder), type_) for keys, type_, path in names}
        return file_settings.replaced(
            entry, {keys: str(path) for keys, (path, type_) in paths.items() if type_ == FileName or path.is_dir()}
        )

    changed = map_methods(table, placed)
    if entries := swept_settings(table):
        changed["sweep"] = {**table["sweep"], "settings": [_map_swept(table, entry, placed) for entry in entries]}
    return changed


def _map_swept(table: Mapping[str, Any], swept: Any, change: Callable[[str, Any], Any]) -> Any:
    """An entry of ``sweep.settings``, in which each value is changed like a setting of its system."""
    if not isinstance(swept, dict):
        return swept
    systems = system_entries(table)
    entry = next((system for system in systems if entry_name(system) == swept.get("system")), None)
    if entry is None:
        return swept

    def changed(key: str, value: Any) -> Any:
        return map_methods({**table, "systems": [{**entry, key: value}]}, change)["systems"][0][key]

    lists = {key: values for key, values in swept.items() if isinstance(values, list)}
    return {**swept, **{key: [changed(key, value) for value in values] for key, values in lists.items()}}
