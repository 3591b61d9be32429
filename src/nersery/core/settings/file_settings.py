"""Find the files and models that the settings of methods name, to check them, hash them or replace their paths."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from nersery.core import registry
from nersery.core.registry import BUNDLED, DEFAULTS, MEMBERS, NESTED_KINDS
from nersery.core.settings.typed_settings import FileName, ModelName, hints_of
from nersery.core.system.files import content_hash


def file_and_model_types(cls: type[Any]) -> dict[str, Any]:
    """The settings that name files or models, each with its type, `FileName` or `ModelName`.

    >>> [key for key, type_ in file_and_model_types(registry.get("augment", "aclm")).items() if type_ == FileName]
    ['adapt', 'stop_words']
    """
    types = {key: {hint, *get_args(hint)} & {FileName, ModelName} for key, hint in hints_of(cls).items()}
    return {key: found.pop() for key, found in types.items() if found}


def file_and_model_names(
    cls: type[Any], settings: Mapping[str, Any], keys: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any, str]]:
    """The files and models in the settings of a method and of its nested methods, without bundled models.

    Yields:
        The keys that lead to the name (``("vectors", "en")``), the type of the setting, and the name.
    """
    types = file_and_model_types(cls)
    for key, value in settings.items():
        path = (*keys, key)
        if key in types:
            names = (
                {(*path, inner): name for inner, name in value.items()} if isinstance(value, Mapping) else {path: value}
            )
            for path_of_name, name in names.items():
                if isinstance(name, str) and name and not (types[key] == ModelName and name in BUNDLED):
                    yield path_of_name, types[key], name
        elif key in NESTED_KINDS and isinstance(value, Mapping):
            yield from _names_of_nested(NESTED_KINDS[key], DEFAULTS[NESTED_KINDS[key]], value, path)
        elif key == MEMBERS and isinstance(value, Mapping):
            for name, member in value.items():
                if isinstance(member, Mapping):
                    yield from _names_of_nested("align", name, member, (*path, name))


def _names_of_nested(
    kind: str, default: str, table: Mapping[str, Any], keys: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any, str]]:
    method = table.get("method", default)
    if method in registry.names(kind):
        yield from file_and_model_names(registry.get(kind, method), table, keys)


def replaced(settings: Mapping[str, Any], names: Mapping[tuple[str, ...], str]) -> dict[str, Any]:
    """The settings with other names of files or models at the keys that `file_and_model_names` yields."""
    changed = copy.deepcopy(dict(settings))
    for (*outer_keys, last_key), name in names.items():
        table = changed
        for key in outer_keys:
            table = table[key]
        table[last_key] = name
    return changed


def paths_in(cls: type[Any], settings: Mapping[str, Any]) -> dict[str, str]:
    """The existing files and model folders that a method's settings name, keyed by the setting (``vectors.en``)."""
    return {
        ".".join(keys): name
        for keys, type_, name in file_and_model_names(cls, settings)
        if (os.path.isdir if type_ == ModelName else os.path.exists)(name)
    }


def content_hashes(cls: type[Any], settings: Mapping[str, Any]) -> dict[str, str]:
    """The content hashes of the `paths_in` settings, so that a job never resumes with changed files."""
    return {setting: content_hash(path) for setting, path in paths_in(cls, settings).items()}
