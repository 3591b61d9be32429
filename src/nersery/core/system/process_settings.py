"""Process-wide settings for the command line and its workers. Library calls never change them."""

from __future__ import annotations

import atexit
import gc
import os

from nersery.core.errors import SettingsError, shown
from nersery.core.system.shared_cores import CoreWatch, can_be_watched

FEW_COLLECTIONS = 100_000
"""New objects between two garbage collections. Rows are many small objects without cycles. With Python's default of
some hundreds, a fifth of the time would be spent in collections."""
_is_tuned: list[bool] = []

SPINS, FEW_SPINS, WATCHED_SPINS = "GOMP_SPINCOUNT", "2000", "20000"
"""How often a thread looks for work before it sleeps. Numeric libraries read this once, when they are imported; their
default is 300,000. Without a `CoreWatch`, few spins cost less beside another process; see docs/results.md."""
THREADS = "OMP_NUM_THREADS"
"""The environment variable for the number of threads; numeric libraries read it once, when they are imported."""


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def wanted_threads() -> int | None:
    """The number of threads that the user sets, if any. In a list such as ``4,2``, the first counts, as in OpenMP.

    Raises:
        SettingsError: If the value is not a positive whole number.
    """
    value = os.environ.get(THREADS, "")
    first = value.partition(",")[0].strip()
    if value.strip() and not (first.isdecimal() and int(first)):
        raise SettingsError(f"{THREADS} is {shown(value)}, expected a whole number of 1 or more")
    return int(first) if first else None


def tune_process() -> None:
    """Tune this process. Call this only if nersery is its main program, before numeric libraries are imported."""
    if "OMP_WAIT_POLICY" not in os.environ and os.environ.get(SPINS) in (None, WATCHED_SPINS):  # or set by a parent
        uses_all_cores = os.environ.get(THREADS, "").strip() in ("", str(cores()))
        is_watched = uses_all_cores and can_be_watched()
        os.environ[SPINS] = WATCHED_SPINS if is_watched else FEW_SPINS
        if is_watched:
            atexit.register(CoreWatch().close)
    gc.set_threshold(FEW_COLLECTIONS, *gc.get_threshold()[1:])
    _is_tuned.append(True)


def is_main_program() -> bool:
    """Whether nersery is the main program of this process."""
    return bool(_is_tuned)
