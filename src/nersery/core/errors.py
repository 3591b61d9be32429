"""Errors for users. Each class has the exit code that a command returns.

Every message has four parts: what happened, where, what was expected, and how to fix it.
"""

from __future__ import annotations

import difflib
import errno
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from nersery.core.counting import plural
from nersery.core.wording import set_of_recipe, worded

SHOWN_ISSUES = 20
"""The number of issues of one file that a message prints; the others are only counted."""


class NerseryError(Exception):
    """An error that the user can fix; the text is written for the user."""

    exit_code = 1
    of_recipe = False

    def __str__(self) -> str:
        """The text with options for users of the commands, or parameters for users of the library."""
        return worded(self.text, of_recipe=self.of_recipe)

    @property
    def text(self) -> str:
        """The text for files. It names options of commands, so that a command and the library write the same files."""
        return super().__str__()


@contextmanager
def about_recipe() -> Iterator[None]:
    """Let errors and notes within this context keep TOML, because their readers write a recipe."""
    before = set_of_recipe(True)
    try:
        yield
    except NerseryError as error:
        error.of_recipe = True
        raise
    finally:
        set_of_recipe(before)


class SettingsError(NerseryError):
    """A setting, recipe or name that cannot be used."""

    exit_code = 2


class MissingResourceError(NerseryError):
    """Something that must be installed or named first: a model, WordNet, an optional package."""

    exit_code = 4


class DiskError(NerseryError):
    """Something that could not be written, if the message says more than that of the system."""

    exit_code = 5


class JobFailedError(NerseryError):
    """A job that cannot continue; finished work is kept."""


class OutOfTimeError(NerseryError):
    """A time limit that was reached; finished work is kept. See `nersery.core.progress.time_limit`."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One issue at one place in an input."""

    message: str
    file: str | None = None
    line: int | None = None
    sentence: str | None = None
    kind: str = ""
    fixes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The place and the message, e.g. ``train.conll:17 (sentence 3): …``; safe to show in a terminal."""
        place = printable(self.file or "")
        if self.line is not None:
            place += f":{self.line}" if place else f"line {self.line}"
        if self.sentence:
            sentence = printable(self.sentence)
            place += f" (sentence {sentence})" if place else f"sentence {sentence}"
        message = printable(self.message)
        return f"{place}: {message}" if place else message


class DataError(NerseryError):
    """Input that cannot be read as it is. Holds all issues that were found, not only the first."""

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
        """Pickle the parts, from which another process rebuilds the error."""
        return partial(type(self), fix=self.fix), (self.issues,)


def _shortened(issues: Iterable[Issue]) -> list[str]:
    """Each distinct message once, with the number of its repetitions, then the number of issues left out."""
    alike: dict[tuple[str | None, str], list[Issue]] = {}
    for issue in issues:
        alike.setdefault((issue.file, issue.message), []).append(issue)
    groups = list(alike.values())
    lines = [
        f"{group[0]}" + (f"; also in {plural(len(group) - 1, 'other place')}" if len(group) > 1 else "")
        for group in groups[:SHOWN_ISSUES]
    ]
    left = sum(map(len, groups[SHOWN_ISSUES:]))
    return [*lines, f"… and {plural(left, 'more issue')}"] if left else lines


class ChangedInputError(DataError):
    """A file that was edited during a command that reads it several times."""


class FormatError(DataError):
    """An output format that cannot store the content of the corpus, such as plain text for labels."""


class WaitingError(DataError):
    """Work that waits for a person; finished work is kept.

    Args:
        commands: The commands with which the person does what is missing.
    """

    def __init__(self, issues: Issue | Iterable[Issue], *, commands: Iterable[str]) -> None:
        self.commands = tuple(commands)
        super().__init__(issues, fix=f"before you repeat this command, run {'; '.join(self.commands)}")

    def __reduce__(self) -> tuple[Any, ...]:
        """See `DataError`."""
        return partial(type(self), commands=self.commands), (self.issues,)


def first_failure(errors: Sequence[Exception]) -> Exception:
    """The first error that is not a `WaitingError`, or else one that names what all of them wait for."""
    waits = [error for error in errors if isinstance(error, WaitingError)]
    if len(waits) < len(errors):
        return next(error for error in errors if not isinstance(error, WaitingError))
    issues = dict.fromkeys(issue for error in waits for issue in error.issues)
    return WaitingError(issues, commands=dict.fromkeys(command for error in waits for command in error.commands))


class MethodError(DataError):
    """An unusable result of a method for one sentence; other sentences may succeed."""

    exit_code = 1


class UnfittedError(NerseryError):
    """A method that is used before it is fitted."""


class ContractError(NerseryError):
    """A method that breaks the contract of its kind for every item."""


def ended_by_exit(error: SystemExit) -> str:
    """The message for a method that would end the process, and with it all other work in the process."""
    return f"a method or a library called sys.exit({shown(error.code)}) instead of raising an error"


def is_lack_of_memory(error: BaseException) -> bool:
    """Whether an error of Python, the system, PyTorch or safetensors says that there is not enough memory."""
    if isinstance(error, RuntimeError):
        return (
            re.search(
                r"out of memory|(?:can't|cannot) allocate memory|not enough memory|could not create a primitive",
                str(error),
                re.I,
            )
            is not None
        )
    if isinstance(error, ImportError | OSError) and "failed to map segment" in str(error):  # of a library
        return "Operation not permitted" not in str(error)  # as from a disk that allows no programs
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)


DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that reorder the text around them, so that a message could appear to say something else."""


def printable(text: str) -> str:
    """A text on one line that is safe to show in a terminal: control characters and line breaks are escaped.

    Spaces are kept, and so are the characters with which scripts join and separate letters.

    >>> printable("a\\x1b[2J\\nFix: b")
    'a\\\\x1b[2J\\\\nFix: b'
    """
    if text.isprintable():
        return text
    harmless = {c for c in {*text} - DIRECTIONS if c.isprintable() or unicodedata.category(c) in ("Cf", "Zs")}
    return "".join(c if c in harmless else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """A text whose lines are each made `printable`.

    >>> printable_lines("a\\x1b[2J\\nFix: b").splitlines()
    ['a\\\\x1b[2J', 'Fix: b']
    """
    return "\n".join(map(printable, text.split("\n")))


def at(place: str, issues: Iterable[str]) -> list[str]:
    """Each issue with its place in front.

    >>> at("select", ["5 is not a selector"])
    ['select: 5 is not a selector']
    """
    return [f"{place}: {issue}" for issue in issues]


def shown(value: object, length: int = 60) -> str:
    """The beginning of the `repr` of a value for a message, with … if the rest is left out.

    >>> shown([1, 2, 3], 5), shown(10**10_000)
    ('[1, 2 …', '<int>')
    """
    try:
        text = re.sub(r"\s*\n\s*", " ", repr(value))  # tables and arrays have several lines
    except Exception:  # such as that of a whole number with more digits than Python converts
        text = f"<{type(value).__name__}>"
    return beginning(text, length)


def beginning(text: str, length: int = 60) -> str:
    """The beginning of a text for a message, with … if the rest is left out.

    >>> beginning("Ada Lovelace", 3), beginning("Ada", 3)
    ('Ada …', 'Ada')
    """
    return text if len(text) <= length else f"{text[:length].rstrip()} …"


def checked_text(value: object, name: str) -> str:
    """Return a text that a user of the library gave, or raise `SettingsError` if it is not a string."""
    if not isinstance(value, str):
        raise SettingsError(f"{name} is {shown(value)}, expected text")
    return value


def require_choice(value: object, name: str, known: Iterable[str]) -> None:
    """Raise `SettingsError` for anything but one of the known values.

    >>> require_choice("weighted", "voting", ["majority", "weighted"])
    """
    known = list(known)
    if not isinstance(value, str):
        raise SettingsError(f"{name} is {shown(value)}, expected one of {', '.join(known)}")
    if value not in known:
        raise SettingsError(f'{name} is "{value}"; {did_you_mean(value, known)}')


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to append to an error: all known names, and one that is similar to this name or starts with it, if any.

    >>> did_you_mean("agrement", ["agreement", "duplicates"]), did_you_mean("nothing", ["duplicates", "qa_prompting"])
    ('did you mean "agreement"? Known: agreement, duplicates', 'known: duplicates, qa_prompting')
    """
    known = list(known)
    same = [other for other in known if other.casefold() == name.casefold()]
    close = same or difflib.get_close_matches(name, known, n=1)
    close = close or [other for other in known if name and other.startswith(name)]
    listed = ", ".join(known)
    if close:
        return f'did you mean "{close[0]}"? Known: {listed}'
    return f"known: {listed}" if known else ""
