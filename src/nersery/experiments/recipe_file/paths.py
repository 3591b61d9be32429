"""Paths in recipes: relative names start from the folder of the recipe."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from nersery.io.shipped import EXAMPLE_PREFIX, shipped


def presets() -> dict[str, dict[str, Any]]:
    """The papers' tagger settings by name."""
    return tomllib.loads((shipped("taggers") / "presets.toml").read_text("utf-8"))


def located(name: str, folder: Path) -> Path:
    """The path of a file that is named in a folder; with ``example:`` in front it comes with nersery.

    >>> located("../raw.txt", Path("recipes")).as_posix()
    'recipes/../raw.txt'
    """
    if name.startswith(EXAMPLE_PREFIX):
        return shipped("recipes/example") / name.removeprefix(EXAMPLE_PREFIX)
    return folder / os.path.expanduser(name)
