"""Formats that nersery does not read: how their files begin, and how to read their labels nevertheless.

Only files that no format recognises are compared with all of them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from nersery.core.errors import DataError, Issue, shown
from nersery.io.formats import FileHead

COMPARED = 100_000
"""The number of characters of a beginning that are compared."""


@dataclass(frozen=True, slots=True)
class ForeignFormat:
    """A format that cannot be read.

    Args:
        begins: Matches in the first lines of its files.
        advice: How to get labels out of it.
        is_sure: Whether no other format begins like it, so that every file is compared with it.
        is_text: Whether its lines may be sentences, so that they are read if labels are not needed.
    """

    begins: re.Pattern[str]
    advice: str
    is_sure: bool = True
    is_text: bool = False


class ForeignFormatError(DataError):
    """A file of a format that cannot be read."""


class NoTextError(ForeignFormatError):
    """A file of a format that cannot be read and whose lines are not sentences."""


@cache
def foreign_formats() -> Mapping[str, ForeignFormat]:
    """The formats by name."""
    table = tomllib.loads(resources.files("nersery.io.input_files").joinpath("foreign.toml").read_text("utf-8"))
    return {name: ForeignFormat(**{**entry, "begins": re.compile(entry["begins"])}) for name, entry in table.items()}


def refuse_foreign(head: FileHead, *, sure: bool = False) -> None:
    """Raise `ForeignFormatError` if a file begins like a foreign format; with ``sure``, like one with `is_sure`."""
    beginning = "".join(head.lines)[:COMPARED]
    for name, foreign in foreign_formats().items():
        if (foreign.is_sure or not sure) and (match := foreign.begins.search(beginning)):
            message = f"this seems to be {name}, which cannot be read: {shown(match[0].strip())}"
            if not foreign.is_text:
                raise NoTextError(Issue(message, head.file.name), fix=foreign.advice)
            fix = f"{foreign.advice}; or read each line as text: --format text"
            raise ForeignFormatError(Issue(message, head.file.name), fix=fix)
