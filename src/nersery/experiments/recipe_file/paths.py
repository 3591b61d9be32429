"""Paths in recipes: relative names start from the folder of the recipe."""

from __future__ import annotations

import os
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from nersery.core.errors import SettingsError, did_you_mean

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
