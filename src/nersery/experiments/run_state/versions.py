"""The versions and the computer that the results of a run may depend on, besides its recipe."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

from nersery.core.errors import SettingsError
from nersery.core.system.job_records import has_record, read_job_record
from nersery.core.system.process_settings import THREADS
from nersery.core.version import __version__
from nersery.models.pretrained.computer import ANY, computer
from nersery.models.pretrained.loading import PRECISION

version = cache(metadata.version)
"""The version of a library. It is cached because reading it parses the library's whole description."""
LIBRARIES = ("numpy", "safetensors", "tokenizers", "torch", "transformers")


def versions(threads: int | None = None) -> dict[str, str]:
    """What a result may depend on besides the recipe: versions, processor, precision and threads.

    Args:
        threads: Threads of the process that makes the result; None takes those of this process.
    """
    packages = {library: version(library) for library in LIBRARIES}
    return {"python": ".".join(map(str, sys.version_info[:3])), "nersery": __version__, **packages, **computer(threads)}


def check_computer(folder: Path, threads: int | None = None) -> None:
    """Refuse to continue a run with another number of threads or another precision, which change its results.

    Another processor is not refused, because a run may have to move to another machine; the report says so.

    Raises:
        SettingsError: If they differ; explains how to set those that the run began with.
    """
    current = versions(threads)
    recorded = began_with(folder) or current
    variables = {"precision": PRECISION, "threads": THREADS}
    if ANY in (recorded.get("threads"), current["threads"]):  # what a GPU began may continue on a CPU
        del variables["threads"]
    changed = [name for name in variables if recorded.get(name, current[name]) != current[name]]
    if changed:
        lines = "\n".join(f"  {name}: was {recorded[name]}, now {current[name]}" for name in changed)
        fix = " ".join(f"{variables[name]}={recorded[name]}" for name in changed)
        raise SettingsError(
            f"{folder} holds a run that began with different {' and '.join(changed)}, which would change its results:\n"
            f"{lines}\nResume it with {fix} in the environment ({fix} nersery run …), or choose another folder (--out)"
        )


def began_with(folder: Path) -> dict[str, str]:
    """The versions with which the run in a folder began; empty if it has not begun."""
    record = folder / "run.json"
    return read_job_record(record).get("versions", {}) if has_record(record) else {}


def first_threads(folder: Path) -> int | None:
    """The number of threads with which the run in a folder began, if it has begun and they matter."""
    threads = began_with(folder).get("threads", "")
    return int(threads) if threads.isdecimal() else None


def changed_versions(first: Mapping[str, str], later: Mapping[str, str]) -> str:
    """How versions differ from earlier ones, for readers.

    >>> changed_versions({"numpy": "2.1", "torch": "2.8.0"}, {"numpy": "2.1", "torch": "2.9.1"})
    'torch 2.9.1 in place of 2.8.0'
    """
    changed = [name for name in later if later[name] != first.get(name)]
    return ", ".join(f"{name} {later[name]} in place of {first.get(name, 'none')}" for name in changed)
