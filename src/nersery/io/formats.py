"""The formats: a module of `nersery.io` or of `nersery.io.annotation_tools` declares its own as ``FORMATS``.

A new format touches one file: it is found here, and so gets its place in reading, writing, help and errors.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

PACKAGES = ("nersery.io", "nersery.io.annotation_tools")


@dataclass(frozen=True, slots=True)
class Format:
    """A format of corpora.

    Args:
        name: As options have it.
        summary: What it is, for help.
        extensions: Of its files; the first format with an extension gets it.
        reader: Makes a `Source` of a `TextFile` and `ReadOptions`; None if it is only written.
        writer: Makes a `Writer` from the options of `nersery.io.writer`; None if it is only read.
        unwritable: Why it has no writer, and what to choose; empty if it has one.
        holds_labels: Whether entities come back.
        holds_ids: Whether ids come back.
    """

    name: str
    summary: str
    extensions: tuple[str, ...] = ()
    reader: Callable[..., Any] | None = None
    writer: Callable[..., Any] | None = None
    unwritable: str = ""
    holds_labels: bool = True
    holds_ids: bool = True


@cache
def formats() -> dict[str, Format]:
    """All formats by name."""
    found: dict[str, Format] = {}
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.iter_modules(package.__path__):
            declared = getattr(importlib.import_module(f"{name}.{module.name}"), "FORMATS", ())
            found |= {format.name: format for format in declared}
    return dict(sorted(found.items()))


def readable() -> tuple[str, ...]:
    """The names of the formats that can be read."""
    return tuple(name for name, format in formats().items() if format.reader)


def writable() -> tuple[str, ...]:
    """The names of the formats that can be written to one file."""
    return tuple(name for name, format in formats().items() if format.writer)


def extensions() -> dict[str, str]:
    """The format of each extension."""
    return {extension: format.name for format in formats().values() for extension in format.extensions}
