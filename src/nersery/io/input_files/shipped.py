"""Files that come with nersery."""

from __future__ import annotations

import errno
import os
from importlib import resources
from pathlib import Path

from nersery.core.errors import SettingsError, did_you_mean, printable, shown
from nersery.core.system.files import as_path
from nersery.core.wording import either

EXAMPLE_PREFIX = "example:"
"""The prefix of the names of files that come with nersery."""


def shipped(kind: str) -> Path:
    """The folder of the recipes or example files that come with nersery."""
    return Path(str(resources.files("nersery") / kind))


def examples() -> dict[str, Path]:
    """The example files that come with nersery, by name with the prefix."""
    return {EXAMPLE_PREFIX + path.name: path for path in sorted(shipped("recipes/example").iterdir())}


def example(name: str) -> Path:
    """The path of an example file that comes with nersery, e.g. ``train.conll``, or ``example:train.conll``.

    Raises:
        SettingsError: When there is no such example.
    """
    if not isinstance(name, str):
        raise SettingsError(f"the example file is {shown(name)}, expected its name; known: {', '.join(examples())}")
    known, prefixed = examples(), EXAMPLE_PREFIX + name.removeprefix(EXAMPLE_PREFIX)
    if prefixed not in known:
        raise SettingsError(f'there is no example file "{prefixed}"; {did_you_mean(prefixed, known)}')
    return known[prefixed]


def located(name: str, folder: Path) -> Path:
    """The path of a file, relative to a folder. A name that begins with ``example:`` is a file of nersery itself.

    >>> located("../raw.txt", Path("recipes")).as_posix()
    'recipes/../raw.txt'
    """
    if name.startswith(EXAMPLE_PREFIX):
        return shipped("recipes/example") / name.removeprefix(EXAMPLE_PREFIX)
    return folder / os.path.expanduser(name)


def input_path(name: str | Path) -> str:
    """The path of an input or of an ``example:NAME``. Raise `SettingsError` for an unknown example, or for no path."""
    if isinstance(name, str) and not name:  # as a path it would be the current folder
        raise SettingsError("the name of an input is empty, perhaps because a variable is not set. Name a file")
    as_path(name, "the input")
    path = str(name)
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise SettingsError(
                f'"{printable(path[:50])} …" is too long for the name of a file. '
                + either("Name a file", "To make a corpus from text, use Corpus.from_texts")
            ) from None
    return str(example(path)) if path.startswith(EXAMPLE_PREFIX) else path
