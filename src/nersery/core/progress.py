"""Progress of long jobs on standard error: a line that is updated in a terminal, a new line now and then in a log."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar

from nersery.core.errors import OutOfTimeError, printable, printable_lines
from nersery.core.warnings import is_in_terminal, print_error, set_in_context

LOG_SECONDS = 15.0
_DEADLINE: ContextVar[float] = ContextVar("_DEADLINE", default=float("inf"))
_OUTPUT: ContextVar[Callable[[str], None] | None] = ContextVar("_OUTPUT", default=None)


def shown_by(show: Callable[[str], None]) -> AbstractContextManager[None]:
    """Pass each line of progress to a function instead of standard error within this context."""
    return set_in_context(_OUTPUT, show)


def print_line(text: str, end: str = "") -> None:
    """Print a text on standard error: over the last line in a terminal, as a new line in a log."""
    start, end = ("\r\x1b[K", end) if is_in_terminal() else ("", "\n")
    print_error(f"{start}{printable_lines(text)}", end)  # the text may hold names of systems and files


def time_limit(seconds: float) -> AbstractContextManager[None]:
    """Stop a job within this context with `OutOfTimeError` at its next step once the time is up."""
    return set_in_context(_DEADLINE, min(_DEADLINE.get(), time.monotonic() + seconds))


class Progress:
    """Counts and shows the finished items of a job.

    Args:
        label: Name of the job, e.g. ``train``.
        total: Number of items, if known.
        quiet: Show nothing.
    """

    def __init__(self, label: str, total: int | None = None, *, quiet: bool = False) -> None:
        self.label, self.total, self.quiet = label, total, quiet
        self.done = self.resumed = 0
        self.note = ""
        self._outer: Progress | None = None
        self._started = time.monotonic()
        self._shown = self._started
        self._last_logged = -1
        self._interval = 0.2 if is_in_terminal() else LOG_SECONDS

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        """Show the final state, unless the job had no items and no known total."""
        if not self.quiet and (self.done or self.total is not None):
            self._show(end="\n")
        if self._outer is not None:
            self._outer._started += time.monotonic() - self._started

    def advance(self, items: int = 1, *, resumed: bool = False, note: str = "") -> None:
        """Count items as done. ``resumed`` items were done by an earlier call and do not count towards the speed."""
        self.done += items
        self.resumed += items if resumed else 0
        self.note = note or self.note
        if time.monotonic() > _DEADLINE.get():
            raise OutOfTimeError(f"{self.label}: the time is up")
        if not self.quiet and time.monotonic() - self._shown >= self._interval:
            self._shown = time.monotonic()
            self._show(end="" if is_in_terminal() else "\n")

    def within(self, what: str, total: int) -> Progress:
        """A new `Progress` for a part of the job in which something else is counted.

        In a ``with`` statement, the time that it takes does not count towards the speed of this one.
        """
        inner = Progress(f"{self.label}, {what}", total, quiet=self.quiet)
        inner._outer = self
        return inner

    def _show(self, end: str) -> None:
        seconds = time.monotonic() - self._started
        speed = (self.done - self.resumed) / seconds if seconds > 0 else 0.0
        count = f"{self.done}/{self.total}" if self.total else str(self.done)
        left = ""
        if self.total and speed and self.done < self.total:
            left = f", {(self.total - self.done) / speed:.0f} s left"
        rate = f"{speed:,.0f}" if speed >= 100 else f"{speed:.3g}"
        text = printable(f"{self.label}: {count}, {rate}/s{left}{', ' + self.note if self.note else ''}")
        if show := _OUTPUT.get():
            show(text)
        elif is_in_terminal() or self.done != self._last_logged:  # do not repeat a line in a log
            self._last_logged = self.done
            print_line(text, end)
