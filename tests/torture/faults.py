"""Faults that strike a process at a chosen change on disk: a signal, or a full disk.

Python announces each file that it opens, moves or removes (`sys.addaudithook`); a hook in the process of a command
counts those in its folder, and strikes just before one happens. Tests can thus reach every place of every command.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

FULL = "full disk"
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}
FAULTS = (*SIGNALS, FULL)
CHANGES = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def watch(folder: Path, log: Path, wanted: Mapping[str, Any]) -> None:
    """Write the changes of this process below a folder into a log, one per line, and strike at one of them.

    Args:
        wanted: The ``fault``, the ``place`` in the log, from 0, and ``reads`` if files that are only read count too.
    """
    stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    count, owner, is_busy = 0, os.getpid(), False

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal count, is_busy
        if event not in CHANGES or is_busy or os.getpid() != owner:
            return
        is_busy = True  # the hook itself opens nothing, but a signal handler may
        try:
            if (path := _changed(event, args, folder, reads=wanted.get("reads", False))) is None:
                return
            os.write(stream, f"{event} {path}\n".encode("utf-8", "surrogateescape"))
            count += 1
            strikes = count == wanted.get("place", -2) + 1
        finally:
            is_busy = False
        if strikes and wanted["fault"] == FULL:
            if event in ("open", "os.mkdir", "os.rename"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        elif strikes:
            os.kill(owner, SIGNALS[wanted["fault"]])

    sys.addaudithook(hook)


def _changed(event: str, args: tuple[Any, ...], folder: Path, *, reads: bool) -> Path | None:
    """The changed path, relative to the folder; None for paths elsewhere, and for files only read unless ``reads``."""
    if event == "open" and not reads and not _writes(args[1], args[2]):
        return None
    name = args[1] if event == "os.rename" else args[0]
    if not isinstance(name, str | bytes | os.PathLike):
        return None  # a descriptor that is open already
    path = Path(os.path.abspath(os.fsdecode(name)))
    return path.relative_to(folder) if path.is_relative_to(folder) else None


def _writes(mode: str | None, flags: int | None) -> bool:
    return bool(set(mode) & set("wax+")) if mode else bool((flags or 0) & WRITES)


def places(log: Path, stage: Callable[[str], str] = str) -> dict[str, list[int]]:
    """For each kind of change, the places where it happens; the random parts of names are left out."""
    import re

    found: dict[str, list[int]] = {}
    for number, line in enumerate(log.read_text("utf-8", "surrogateescape").splitlines()):
        found.setdefault(re.sub(r"part-[0-9a-f]{8}|\d{5,}", "N", line), []).append(number)
    return found
