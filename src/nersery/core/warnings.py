"""Print notes for the user about something that is not an error."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import TextIO, TypeVar

from nersery.core.errors import beginning, printable
from nersery.core.wording import worded

T = TypeVar("T")

NO_NOTES: ContextVar[bool] = ContextVar("NO_NOTES", default=False)
"""Whether notes are suppressed; the commands set it for ``--quiet``."""
MAX_WARNING_LENGTH = 200
"""The most characters of a warning of Python that the command shows."""
NO_ADVICE: ContextVar[bool] = ContextVar("NO_ADVICE", default=False)
"""Whether `advise` prints nothing, because `nersery grow` chooses models and notes missing definitions itself."""
_COLLECTED: ContextVar[list[str] | None] = ContextVar("_COLLECTED", default=None)
_HANDLER: ContextVar[Callable[[str], None] | None] = ContextVar("_HANDLER", default=None)


def print_error(text: str, end: str = "\n") -> None:
    """Print on standard error, if there is one. A closed pipe or a full disk ends no job and fails no item."""
    if sys.stderr is not None:  # as for a service; `print` would take standard output in its place
        with suppress(OSError):
            print(worded(text), end=end, file=sys.stderr, flush=True)


def is_in_terminal() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def remark(text: str) -> None:
    """Print a line on standard error, made safe for terminals, unless notes are suppressed."""
    if not NO_NOTES.get():
        print_error(printable(text))


def note(message: str) -> None:
    """Print a note at every call, unless it is empty; see `remark`."""
    if message:
        remark(f"note: {message}")


_note_once = cache(note)


def warn(message: str) -> None:
    """Print a note on standard error, only once per message and process."""
    if (messages := _COLLECTED.get()) is not None:
        messages.append(message)
    if (pass_on := _HANDLER.get()) is None:
        _note_once(message)
    elif message and not NO_NOTES.get():
        pass_on(message)


def passed_on(pass_on: Callable[[str], None]) -> AbstractContextManager[None]:
    """Pass each message of `warn` to a function instead of standard error within this context."""
    return set_in_context(_HANDLER, pass_on)


def forget_notes() -> None:
    """Let `warn` print messages again that it has already printed."""
    _note_once.cache_clear()


def advise(message: str) -> None:
    """Print a note, once, that another model or setting is usually better, except within `without_advice`."""
    if not NO_ADVICE.get():
        warn(message)


def without_advice() -> AbstractContextManager[None]:
    """Suppress the notes of `advise` within this context."""
    return set_in_context(NO_ADVICE, True)


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Collect the messages of `warn` within this context, printed or not."""
    messages: list[str] = []
    with set_in_context(_COLLECTED, messages):
        yield messages


@contextmanager
def without_notes() -> Iterator[None]:
    """Suppress notes within this context. Afterwards, `warn` prints its messages again if they recur."""
    try:
        with set_in_context(NO_NOTES, True):
            yield
    finally:
        forget_notes()


@contextmanager
def counted_warnings() -> Iterator[None]:
    """Print only the first of Python's warnings from each line of code within this context, and count the others.

    Python prints all whose texts differ, so a method or library that names the sentence would fill the terminal.
    """
    first, counts, before = dict[str, str](), Counter[str](), warnings.showwarning

    def count(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        place = f"{filename}:{lineno}"
        counts[place] += 1
        if counts[place] == 1:
            first[place] = beginning(f"{category.__name__}: {message}", MAX_WARNING_LENGTH)
            print_error(printable(f"warning: {place}: {first[place]}"))

    warnings.showwarning = count
    try:
        yield
    finally:
        warnings.showwarning = before
        for place, text in first.items():
            if counts[place] > 1:
                print_error(printable(f"warning: {place}: {counts[place] - 1:,} more, the first was {text}"))


@contextmanager
def set_in_context(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set a context variable within this context."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
