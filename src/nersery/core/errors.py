"""Errors for users, each with the exit code of the command.

Every message has four parts: what happened, where, what was expected, and how to fix it.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from nersery.core.wording import worded

SHOWN_ISSUES = 20
"""How many issues of one file a message prints; the rest is counted."""


class NerseryError(Exception):
    """An issue that the user can mend; its text is meant to be read by them."""

    exit_code = 1

    def __str__(self) -> str:
        """The text in the words of its reader."""
        return worded(self.text)

    @property
    def text(self) -> str:
        """The text for files, which are the same for a command and the library: it names options of commands."""
        return super().__str__()


class SettingsError(NerseryError):
    """A setting, recipe or name that cannot be used."""

    exit_code = 2


class MissingResourceError(NerseryError):
    """Something that must be installed or named first: a model, WordNet, an optional package."""

    exit_code = 4


class DiskError(NerseryError):
    """Something that could not be written, where more is to be said than the system does."""

    exit_code = 5


class JobFailedError(NerseryError):
    """A job that cannot continue; finished work is kept."""


class OutOfTimeError(NerseryError):
    """A time limit was reached, see `nersery.core.progress.time_limit`; finished work is kept."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One issue in one place of an input."""

    message: str
    file: str | None = None
    line: int | None = None
    sentence: str | None = None
    kind: str = ""
    fixes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The issue behind its place, e.g. ``train.conll:17 (sentence 3): …``, safe to show in a terminal."""
        place = printable(self.file or "")
        if self.line is not None:
            place += f":{self.line}" if place else f"line {self.line}"
        if self.sentence:
            sentence = printable(self.sentence)
            place += f" (sentence {sentence})" if place else f"sentence {sentence}"
        message = printable(self.message)
        return f"{place}: {message}" if place else message


class DataError(NerseryError):
    """Input that cannot be read as it is; carries all issues found, not only the first."""

    exit_code = 3

    def __init__(self, issues: str | Issue | Iterable[Issue], *, fix: str = "") -> None:
        if isinstance(issues, str):
            issues = Issue(issues)
        self.issues: tuple[Issue, ...] = (issues,) if isinstance(issues, Issue) else tuple(issues)
        self.fix = fix
        lines = [str(issue) for issue in self.issues] if len(self.issues) <= SHOWN_ISSUES else _shortened(self.issues)
        if len(self.issues) > 1:
            lines.insert(0, f"{len(self.issues)} issues:")
        if fix:
            lines.append(f"Fix: {printable(fix)}")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        """As other processes get it: rebuilt from its parts."""
        return partial(type(self), fix=self.fix), (self.issues,)


def _shortened(issues: Iterable[Issue]) -> list[str]:
    """The first of each message, with the number of the others; at last how many messages are left out."""
    alike: dict[tuple[str | None, str], list[Issue]] = {}
    for issue in issues:
        alike.setdefault((issue.file, issue.message), []).append(issue)
    groups = list(alike.values())
    lines = [
        f"{group[0]}" + (f"; also in {len(group) - 1:,} other places" if len(group) > 1 else "")
        for group in groups[:SHOWN_ISSUES]
    ]
    left = sum(map(len, groups[SHOWN_ISSUES:]))
    return [*lines, f"… and {left:,} more issues"] if left else lines


class ChangedInputError(DataError):
    """A file that was edited while a command that reads it again ran."""


class FormatError(DataError):
    """An output format that cannot hold what the corpus has, such as plain text for labels."""


class MethodError(DataError):
    """What a method answered for one sentence and nothing can be made of; the other sentences may go well."""

    exit_code = 1


class UnfittedError(NerseryError):
    """A method that is used before it has learnt what it needs."""


class ContractError(NerseryError):
    """A method that breaks the contract of its kind, whatever the item."""


def ended_by_exit(error: SystemExit) -> str:
    """What to say of a method that would end the process, and with it all that works in it."""
    return f"a method or a library called sys.exit({error.code!r:.60}) where it should raise an error"


DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They reorder the text around them, so that a message could seem to say something else."""


def printable(text: str) -> str:
    """A text on one line that does nothing to a terminal: control characters and line breaks are escaped.

    White space and the characters that scripts need to join and part letters stay.

    >>> printable("a\\x1b[2J\\nFix: b")
    'a\\\\x1b[2J\\\\nFix: b'
    """
    if text.isprintable():
        return text
    harmless = {c for c in {*text} - DIRECTIONS if c.isprintable() or unicodedata.category(c) in ("Cf", "Zs")}
    return "".join(c if c in harmless else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """A text of several lines, each `printable`.

    >>> printable_lines("a\\x1b[2J\\nFix: b").splitlines()
    ['a\\\\x1b[2J', 'Fix: b']
    """
    return "\n".join(map(printable, text.split("\n")))


def at(place: str, issues: Iterable[str]) -> list[str]:
    """Issues behind their place.

    >>> at("select", ["5 is no selector"])
    ['select: 5 is no selector']
    """
    return [f"{place}: {issue}" for issue in issues]


def checked_text(value: object, name: str) -> str:
    """A text as users of the library give it; a `SettingsError` if it is none."""
    if not isinstance(value, str):
        raise SettingsError(f"{name} is {value!r:.60}, expected text")
    return value


def require_choice(value: object, name: str, known: Iterable[str]) -> None:
    """Raise `SettingsError` for anything but one of the known values.

    >>> require_choice("weighted", "voting", ["majority", "weighted"])
    """
    known = list(known)
    if not isinstance(value, str):
        raise SettingsError(f"{name} is {value!r:.60}, expected one of {', '.join(known)}")
    if value not in known:
        raise SettingsError(f'{name} is "{value}"; {did_you_mean(value, known)}')


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to append to an error: all known names, and the one that is spelled or begins like this one, if any.

    >>> did_you_mean("agrement", ["agreement", "duplicates"]), did_you_mean("nothing", ["duplicates", "qa_prompting"])
    ('did you mean "agreement"? Known: agreement, duplicates', 'known: duplicates, qa_prompting')
    """
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1) or [other for other in known if name and other.startswith(name)]
    listed = ", ".join(known)
    if close:
        return f'did you mean "{close[0]}"? Known: {listed}'
    return f"known: {listed}" if known else ""
