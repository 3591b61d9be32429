"""The registry of formats. A module in `nersery.io`, or in a package there, declares its own as ``FORMATS``.

A new format needs one file. Reading, writing, help and errors find it here.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from nersery.io.input_files.text_file import BLANKS, MAX_LINE_LENGTH, TextFile

WORDS, ENTITIES, IDS, LANGUAGES, COLUMNS, COMMENTS = "words", "entities", "ids", "languages", "columns", "comments"
ORIGINS, SCORES, ENTITY_SCORES, SOFT_LABELS = "origins", "scores", "entity scores", "soft labels"
DOCUMENTS, OFFSETS = "documents", "offsets"
PLAIN = frozenset({WORDS, ENTITIES, IDS, LANGUAGES})
EVERYTHING = PLAIN | {COLUMNS, COMMENTS, ORIGINS, SCORES, ENTITY_SCORES, SOFT_LABELS, DOCUMENTS, OFFSETS}
"""The parts of sentences that a format keeps or loses."""
FIRST_LINES = 5
"""The number of lines in a `FileHead`. In a file of objects, the first readable one decides what the file holds."""


@dataclass
class FileHead:
    """The head of a file, from which its format is detected.

    Args:
        options: A `nersery.io.ReadOptions`.
    """

    file: TextFile
    options: Any

    @property
    def extension(self) -> str:
        """The extension of the file in lower case."""
        return self.file.path.suffix.lower()

    @property
    def names_columns(self) -> bool:
        """Whether the user names the column of the words or tags."""
        return bool(self.options.tag_column or self.options.word_column)

    @cached_property
    def lines(self) -> list[str]:
        """The first lines that are not blank; the last may be the beginning of a long one."""
        lines: list[str] = []
        for line in self.file.beginnings(MAX_LINE_LENGTH):
            lines += [line] if line.strip(BLANKS) else []
            if len(lines) == FIRST_LINES or len(line) > MAX_LINE_LENGTH:
                break
        return lines

    @property
    def first_line(self) -> str:
        """The first line that is not blank; empty if there is none."""
        return self.lines[0] if self.lines else ""


@dataclass(frozen=True, slots=True)
class Format:
    """A corpus format.

    Args:
        reader: Makes a `Source` from a `TextFile` and `ReadOptions`; None for formats that are only written.
        writer: Makes a `Writer` from the options of `nersery.io.writer`; None for formats that are only read.
        unwritable: Why it has no writer, and what to choose instead.
        pack: Makes the file or folder from what the writer wrote, if that is not the format itself.
        makes_folder: Whether `pack` makes a folder.
        keeps: Parts of sentences that its files hold. Without `WORDS`, the text is split again when it is read.
        recognises: Whether a file begins like this format. Lower ranks are tried first, and before the format that
            the extension names.
        shares_extensions: Whether other formats use its extensions too, so that the content decides.
        marks_documents: Whether comments before the first sentence of each document name the document.
    """

    name: str
    summary: str
    extensions: tuple[str, ...] = ()
    reader: Callable[..., Any] | None = None
    writer: Callable[..., Any] | None = None
    unwritable: str = ""
    pack: Callable[[Path, Path], None] | None = None
    makes_folder: bool = False
    keeps: frozenset[str] = PLAIN
    recognises: Callable[[FileHead], bool] | None = None
    rank: int = 0
    shares_extensions: bool = False
    marks_documents: bool = False


@cache
def formats() -> dict[str, Format]:
    """All formats by name."""
    formats_by_name: dict[str, Format] = {}
    for module in pkgutil.walk_packages([str(Path(__file__).parent)], f"{__package__}."):
        declared = getattr(importlib.import_module(module.name), "FORMATS", ())
        formats_by_name |= {format.name: format for format in declared}
    return dict(sorted(formats_by_name.items()))


def readable() -> tuple[str, ...]:
    """The names of the formats that can be read."""
    return tuple(name for name, format in formats().items() if format.reader)


def writable() -> tuple[str, ...]:
    """The names of the formats that can be written to one file."""
    return tuple(name for name, format in formats().items() if format.writer)


def extensions() -> dict[str, str]:
    """The format of each extension."""
    return {extension: format.name for format in formats().values() for extension in format.extensions}
