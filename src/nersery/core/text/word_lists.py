"""Files of users with one word or one entry per line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nersery.core.errors import DataError, Issue, MissingResourceError, printable, shown
from nersery.core.system.files import advice_for_missing
from nersery.core.warnings import warn

CONTROL = re.compile("[\x00-\x1f\x7f]")
"""Matches what no name has: tabs, line ends of old Macs (CR alone), and the nulls of UTF-16."""
QUOTED = re.compile('"((?:[^"]|"")*)"')
"""Matches a whole cell of CSV in quotation marks; two of them within it stand for one."""

HEADERS = {"entity", "label", "mention", "name", "names", "term", "terms", "text", "title", "word", "words"}
"""Typical names of the only column of a table."""


def check_file(path: str | Path) -> None:
    """Raise `MissingResourceError` if a file is named but missing; for the ``__post_init__`` of methods."""
    if path and not Path(path).is_file():
        if Path(path).exists():
            raise MissingResourceError(
                f"the file {path} is not a regular file: save it to one. Correct the setting that names it"
            )
        advice = advice_for_missing(Path(path)) or "correct the setting that names it"
        raise MissingResourceError(f"the file {printable(str(path))} does not exist: {advice}")


def read_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers, from 1. Empty lines are left out.

    Raises:
        DataError: With every line that is not UTF-8.
        MissingResourceError: If the file is not there.
    """
    check_file(path)
    path = Path(path)
    issues = []
    for number, raw in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            line = raw.removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            byte = raw[error.start]
            issues.append(Issue(f"the byte 0x{byte:02x} is not UTF-8", file=str(path), line=number))
            continue
        if line and not issues:
            yield number, line
    if issues:
        raise DataError(issues, fix="save the file as UTF-8")


def read_words(path: str | Path) -> frozenset[str]:
    """The words of a file with one word per line, in lower case.

    Raises:
        DataError: If a line is not UTF-8, or is more than one word.
        MissingResourceError: If the file is missing.
    """
    words, issues = set(), []
    for number, line in read_lines(path):
        if "\t" in line or line != line.strip(" "):
            issues.append(Issue(f"{line!r} is not one word", file=str(path), line=number))
        words.add(line.lower())
    if issues:
        raise DataError(issues, fix="put one word on each line, without tabs and without spaces around it")
    return frozenset(words)


def read_names(path: str | Path) -> list[str]:
    """The names in a file with one name per line, without quotation marks around them as in CSV.

    Raises:
        DataError: If a line is not UTF-8 or has a tab or another control character, or if there is no name.
        MissingResourceError: If the file is missing.
    """
    names, issues, cells = [], [], 0
    for number, line in read_lines(path):
        if CONTROL.search(line):
            issues.append(Issue(f"{shown(line)} has a tab or another control character", file=str(path), line=number))
        quoted = QUOTED.fullmatch(line.strip())
        if name := (quoted[1].replace('""', '"') if quoted else line).strip():
            names.append(name)
            cells += not quoted and ("," in name or ";" in name)
    if issues:
        raise DataError(issues, fix="put one name on each line, without other columns")
    if not names:
        raise DataError(Issue("the file has no name", file=str(path)), fix="put one name on each line")
    if len(names) > 1 and names[0].casefold() in HEADERS:
        warn(f"the first name in {path} is {names[0]!r}. If it is the header of a table, remove it")
    if cells == len(names) > 1:
        warn(
            f"each name in {path} has a comma or semicolon. If the file is a table, save its column of names to a file "
            "of its own: a whole line is one name"
        )
    return names
