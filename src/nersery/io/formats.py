"""The formats: a module of `nersery.io` or of `nersery.io.annotation_tools` declares its own as ``FORMATS``.

A new format touches one file: it is found here, and so gets its place in reading, writing, help and errors.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from nersery.io.text_file import BLANKS, MOST_CHARACTERS, TextFile

FIRST_LINES = 5
"""The first of these that can be read says what a file of objects holds."""
PACKAGES = ("nersery.io", "nersery.io.annotation_tools")


@dataclass
class Beginning:
    """What the format of a file is recognised by.

    Args:
        options: The `nersery.io.ReadOptions`.
    """

    file: TextFile
    options: Any

    @property
    def extension(self) -> str:
        """In lower case."""
        return self.file.path.suffix.lower()

    @property
    def names_columns(self) -> bool:
        """Whether the user names the column of the words or tags."""
        return bool(self.options.tag_column or self.options.word_column)

    @cached_property
    def lines(self) -> list[str]:
        """The first lines that are not blank; the last may be the beginning of a long one."""
        lines: list[str] = []
        for line in self.file.beginnings(MOST_CHARACTERS):
            lines += [line] if line.strip(BLANKS) else []
            if len(lines) == FIRST_LINES or len(line) > MOST_CHARACTERS:
                break
        return lines


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
        recognises: Whether a file begins like one of this format; asked in the order of ``rank``.
        shares_extensions: Whether files with its extensions are often of other formats, so that content decides.
    """

    name: str
    summary: str
    extensions: tuple[str, ...] = ()
    reader: Callable[..., Any] | None = None
    writer: Callable[..., Any] | None = None
    unwritable: str = ""
    holds_labels: bool = True
    holds_ids: bool = True
    recognises: Callable[[Beginning], bool] | None = None
    rank: int = 0
    shares_extensions: bool = False


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
