"""The files and models that settings of methods name, found from the recipe's folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nersery.core import file_settings, registry
from nersery.core.typed_settings import FileName
from nersery.experiments.recipe_file.table_methods import (
    Table,
    entry_name,
    map_methods,
    method_name,
    swept_settings,
    system_entries,
)
from nersery.io.shipped import located


def with_paths(table: Mapping[str, Any], folder: Path) -> Table:
    """A recipe's table, in which the files and models that settings of methods name start from the recipe's folder.

    A model does where such a folder is there; else it is a name. The files of [data] stay as they are, for
    `Recipe.path` finds them.
    """

    def placed(kind: str, entry: Any) -> Any:
        if not isinstance(entry, dict) or not (name := method_name(kind, entry)):
            return entry
        names = file_settings.names_in(registry.get(kind, name), entry)
        paths = {keys: (located(path, folder), type_) for keys, type_, path in names}
        return file_settings.replaced(
            entry, {keys: str(path) for keys, (path, type_) in paths.items() if type_ == FileName or path.is_dir()}
        )

    changed = map_methods(table, placed)
    if entries := swept_settings(table):
        changed["sweep"] = {**table["sweep"], "settings": [_map_swept(table, entry, placed) for entry in entries]}
    return changed


def _map_swept(table: Mapping[str, Any], swept: Any, change: Callable[[str, Any], Any]) -> Any:
    """An entry of ``sweep.settings``, in which each value is changed as one of its system."""
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
