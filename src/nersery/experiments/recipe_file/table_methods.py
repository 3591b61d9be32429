"""The methods in a recipe's table, as TOML gives it, before it is checked: what is no method stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nersery.core import file_settings, registry
from nersery.core.registry import DEFAULTS, FileName
from nersery.experiments.recipe_file.paths import located, presets

Table = dict[str, Any]

LABELS_RAW_TEXT = "annotate"
"""The kind of methods that start from raw text rather than from gold sentences."""


def kind_of(method: object) -> str:
    """The kind of a system's method: an annotator, or else an augmentation method."""
    return LABELS_RAW_TEXT if method in registry.names(LABELS_RAW_TEXT) else "augment"


def preset_of(kind: str, entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of the preset that a tagger's entry names, if it does."""
    return presets().get(str(entry.get("preset")), {}) if kind == "tagger" else {}


def method_name(kind: str, entry: Mapping[str, Any], default: str = "") -> str:
    """The method of an entry: named, or by its preset, or by default; empty if there is no such method."""
    name = entry.get("method", preset_of(kind, entry).get("method", default or DEFAULTS.get(kind, "")))
    return str(name) if name in registry.names(kind) else ""


def map_methods(table: Mapping[str, Any], change: Callable[[str, Any], Any]) -> Table:
    """A recipe's table with other settings of its methods.

    Args:
        change: Takes the kind of a method and its entry, whatever that is, and gives the new entry.
    """

    def selecting(part: Mapping[str, Any]) -> Table:
        """The recipe, or a system, with other selectors."""
        chosen = part.get("select")
        return {**part, "select": [change("select", one) for one in chosen]} if isinstance(chosen, list) else {**part}

    def system(entry: Any) -> Any:
        if not isinstance(entry, dict):
            return entry
        changed = change(kind_of(entry.get("method")), entry)
        if isinstance(own := entry.get("tagger_settings"), dict):
            changed = {**changed, "tagger_settings": change("tagger", own)}
        return selecting(changed)

    changed = selecting(table)
    if isinstance(entries := table.get("systems"), list):
        changed["systems"] = [system(entry) for entry in entries]
    if "tagger" in table:
        changed["tagger"] = change("tagger", table["tagger"])
    return changed


def with_paths(table: Mapping[str, Any], folder: Path) -> Table:
    """A recipe's table, in which the files and models that settings of methods name start from the recipe's folder.

    A model does where such a folder is there; else it is a name. The files of [data] stay as they are, for
    `Recipe.path` finds them.
    """

    def placed(kind: str, entry: Any) -> Any:
        if not isinstance(entry, dict) or not (name := method_name(kind, entry)):
            return entry
        found = file_settings.names_in(registry.get(kind, name), entry)
        paths = {keys: (located(path, folder), type_) for keys, type_, path in found}
        return file_settings.replaced(
            entry, {keys: str(path) for keys, (path, type_) in paths.items() if type_ == FileName or path.is_dir()}
        )

    return map_methods(table, placed)
