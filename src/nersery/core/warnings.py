"""Notes to the user about something that is not an error."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from functools import cache

NO_NOTES: ContextVar[bool] = ContextVar("NO_NOTES", default=False)
"""Whether notes are suppressed; the commands set it for ``--quiet``."""


def note(message: str) -> None:
    """Print a note on standard error."""
    if not NO_NOTES.get():
        print(f"note: {message}", file=sys.stderr)


warn = cache(note)
"""Print a note on standard error, once per message in a process."""
