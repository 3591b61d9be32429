"""Notes to the user about something that is not an error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import TypeVar

from nersery.core.errors import printable
from nersery.core.wording import worded

T = TypeVar("T")

NO_NOTES: ContextVar[bool] = ContextVar("NO_NOTES", default=False)
"""Whether notes are suppressed; the commands set it for ``--quiet``."""
NO_ADVICE: ContextVar[bool] = ContextVar("NO_ADVICE", default=False)
"""Whether `advise` is silent: `nersery grow` chooses the models itself."""
_HEARD: ContextVar[list[str] | None] = ContextVar("_HEARD", default=None)


def print_error(text: str, end: str = "\n") -> None:
    """Print on standard error. If nobody reads there, or its disk is full, that ends no job and fails no item."""
    with suppress(OSError):
        print(worded(text), end=end, file=sys.stderr, flush=True)


def remark(text: str) -> None:
    """Print a line that is no result on standard error, unless notes are suppressed; it does nothing to a terminal."""
    if not NO_NOTES.get():
        print_error(printable(text))


def note(message: str) -> None:
    """Print a note, each time; see `remark`. An empty one is none."""
    if message:
        remark(f"note: {message}")


_note_once = cache(note)


def warn(message: str) -> None:
    """Print a note on standard error, once per message in a process."""
    if (messages := _HEARD.get()) is not None:
        messages.append(message)
    _note_once(message)


def forget_notes() -> None:
    """Let `warn` print again what it has printed."""
    _note_once.cache_clear()


def advise(message: str) -> None:
    """Print a note once that another model or setting is mostly better, unless something else chooses it."""
    if not NO_ADVICE.get():
        warn(message)


def without_advice() -> AbstractContextManager[None]:
    """Print no advice within."""
    return setting(NO_ADVICE, True)


@contextmanager
def heard() -> Iterator[list[str]]:
    """The messages of `warn` within, printed or not."""
    messages: list[str] = []
    with setting(_HEARD, messages):
        yield messages


@contextmanager
def without_notes() -> Iterator[None]:
    """A context that prints no notes; they are printed if they are due again afterwards."""
    try:
        with setting(NO_NOTES, True):
            yield
    finally:
        forget_notes()


@contextmanager
def setting(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Within it, a context variable has that value."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
