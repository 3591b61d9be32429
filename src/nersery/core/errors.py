"""What can go wrong for a user, each with the exit code that a script sees.

Every message says what happened and where, what was expected, and how to fix it.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

SHOWN_PROBLEMS = 20
"""How many problems of one file a message prints; the rest is counted."""


class NerseryError(Exception):
    """A fault that the user can mend; its text is meant to be read by them."""

    exit_code = 1


class SettingsError(NerseryError):
    """A setting, recipe or name that cannot be used."""

    exit_code = 2


class MissingResourceError(NerseryError):
    """Something that must be installed or named first: a model, WordNet, an optional package."""

    exit_code = 4


class DiskError(NerseryError):
    """Something that could not be written, where more is to be said than the system does."""

    exit_code = 5


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault in one place of an input."""

    message: str
    file: str | None = None
    line: int | None = None
    sentence: str | None = None

    def __str__(self) -> str:
        """The problem behind its place, e.g. ``train.conll:17 (sentence 3): …``, safe to show in a terminal."""
        place = printable(self.file or "")
        if self.line is not None:
            place += f":{self.line}" if place else f"line {self.line}"
        if self.sentence is not None:
            sentence = printable(self.sentence)
            place += f" (sentence {sentence})" if place else f"sentence {sentence}"
        message = printable(self.message)
        return f"{place}: {message}" if place else message


class DataError(NerseryError):
    """Input that cannot be read as it is; carries all problems found, not only the first."""

    exit_code = 3

    def __init__(self, problems: str | Problem | Iterable[Problem], *, fix: str = "") -> None:
        if isinstance(problems, str):
            problems = Problem(problems)
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        self.fix = fix
        super().__init__(_summary(self.problems, fix))

    def __reduce__(self) -> tuple[Any, ...]:
        """As other processes get it: made anew from its parts."""
        return partial(type(self), fix=self.fix), (self.problems,)


def _summary(problems: Sequence[Problem], fix: str) -> str:
    lines = [str(problem) for problem in problems[:SHOWN_PROBLEMS]]
    if len(problems) > SHOWN_PROBLEMS:
        lines.append(f"… and {len(problems) - SHOWN_PROBLEMS} more problems")
    if len(problems) > 1:
        lines.insert(0, f"{len(problems)} problems:")
    if fix:
        lines.append(f"Fix: {printable(fix)}")
    return "\n".join(lines)


_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They reorder the text around them, so that a message could seem to say something else."""


def printable(text: str) -> str:
    """A text on one line that does nothing to a terminal: control characters and line breaks are escaped.

    White space and the characters that scripts need to join and part letters stay.

    >>> printable("a\\x1b[2J\\nFix: b")
    'a\\\\x1b[2J\\\\nFix: b'
    """
    if text.isprintable():
        return text
    return "".join(
        character if _is_harmless(character) else character.encode("unicode_escape").decode() for character in text
    )


def _is_harmless(character: str) -> bool:
    if character.isprintable():
        return True
    return unicodedata.category(character) in ("Cf", "Zs") and character not in _DIRECTIONS


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to append to an error: the closest known name, and all of them when there are few.

    >>> did_you_mean("agrement", ["agreement", "duplicates"])
    'did you mean "agreement"? Known: agreement, duplicates'
    """
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    listed = ", ".join(known)
    if close:
        return f'did you mean "{close[0]}"? Known: {listed}'
    return f"known: {listed}" if known else ""
