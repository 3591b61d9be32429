"""Refuses outputs that would overwrite an input."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nersery.core.errors import SettingsError
from nersery.core.system.files import as_path, files_of, refuse_unwritable, refuse_within
from nersery.io.input_files.shipped import input_path
from nersery.io.jsonl import rejects_of


def refuse_same_file(target: Path, *sources: str | Path | None) -> None:
    """Refuse an output that is an input or lies in one, or that is a device or a pipe.

    Args:
        sources: None stands for an option that is not given.

    Raises:
        SettingsError: If the target, or the file of its rejects, is one of the sources or lies in one; or if the
            target is a device or a pipe.
    """
    refuse_unwritable(target)
    for path in (target, rejects_of(target)):
        named = [name for name in sources if name is not None]
        for source, source_file in [(name, file) for name in named for file in files_of(Path(input_path(name)))]:
            refuse_within(path, source_file)
            is_there = source_file.exists()  # the target may be the source by way of a folder that does not exist yet
            is_same = is_there and os.path.realpath(path) == os.path.realpath(source_file)
            if is_same or (is_there and path.exists() and path.samefile(source_file)):
                raise SettingsError(f"{source} is an input and would be overwritten. Choose another output")


def refuse_overwriting(output: Any, *inputs: Any) -> None:
    """Like `refuse_same_file`, but for an output and inputs as users of the library give them.

    Args:
        output: None writes nothing.
        inputs: Names of files, lists of names, or data in memory, which cannot be overwritten.
    """
    if output is None:
        return
    listed = [name for one in inputs for name in (one if isinstance(one, list | tuple) else [one])]
    refuse_same_file(as_path(output, "output"), *(name for name in listed if isinstance(name, str | Path)))
