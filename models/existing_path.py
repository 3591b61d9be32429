"""Argument types of the training scripts for files and folders."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path


def existing(*names: str) -> Callable[[str], Path]:
    """An argument type for a path that exists; with names, for a folder that contains them."""

    def checked(text: str) -> Path:
        path = Path(text)
        if missing := [one for one in (path, *(path / name for name in names)) if not one.exists()]:
            expected = f", expected a folder with {', '.join(names)}; see README.md beside this script" if names else ""
            raise ArgumentTypeError(f"there is no {missing[0]}{expected}")
        return path

    return checked
