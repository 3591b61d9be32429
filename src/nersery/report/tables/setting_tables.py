"""A recipe as tables of settings and values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def setting_tables(recipe: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """A recipe as titled tables of settings and values: one for each section and for each entry of a list.

    >>> setting_tables({"seeds": [0, 1], "tagger": {"crf": True, "optimizer": {"lr": 0.1}}})
    [('general', [('seeds', '0, 1')]), ('tagger', [('crf', 'true'), ('optimizer.lr', '0.1')])]
    """
    general: list[tuple[str, str]] = []
    tables: list[tuple[str, list[tuple[str, str]]]] = []
    for key, value in recipe.items():
        if isinstance(value, Mapping):
            tables.append((key, list(_settings(value))))
        elif isinstance(value, list) and value and all(isinstance(part, Mapping) for part in value):
            for number, part in enumerate(value, 1):
                name = part.get("name") or part.get("method")
                tables.append((f"{key} {number}" + (f": {name}" if name else ""), list(_settings(part))))
        else:
            general += _settings({key: value})
    return ([("general", general)] if general else []) + tables


def _settings(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, part in value.items():
        name = f"{prefix}{key}"
        if isinstance(part, Mapping) and part:
            yield from _settings(part, f"{name}.")
        elif isinstance(part, list) and any(isinstance(item, Mapping | list) for item in part):
            yield from _settings({str(number): item for number, item in enumerate(part, 1)}, f"{name}.")
        else:
            yield name, _setting(part)


def _setting(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, list | Mapping):
        return ", ".join(map(_setting, value)) or "none"
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
