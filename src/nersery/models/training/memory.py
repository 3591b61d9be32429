"""Memory during a training, and what it leaves behind."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Iterator

from nersery.core.own_process import is_own_process

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's ``mallopt``."""
LARGEST_BLOCK = 32 << 20
"""What ``mallopt`` allows at most; larger blocks are mapped one by one."""


@contextlib.contextmanager
def kept_memory() -> Iterator[None]:
    """Within it, a process of nersery's own keeps the memory that it frees; afterwards it gives it back.

    Each step frees weights in bf16, activations and gradients, and the next one takes as much again. glibc would return
    them to the system in between, and 10,000 page faults a step take 8 % of its time.
    """
    _set_thresholds(2**31 - 1)
    try:
        yield
    finally:
        _set_thresholds(2 * LARGEST_BLOCK)  # glibc's own choice after large blocks
        give_back()


def give_back() -> None:
    """In a process of nersery's own, give back what is free: batches of many shapes leave glibc's heap full of holes.

    A run of ten systems grew to 5 GB, of which 3.4 GB were such holes.
    """
    if is_own_process():
        gc.collect()
        _call("malloc_trim", 0)


def _set_thresholds(trim: int) -> None:
    """Let up to this many free bytes stay in the process."""
    if is_own_process():
        _call("mallopt", MMAP_THRESHOLD, LARGEST_BLOCK)  # glibc stops to adapt it once the other one is set
        _call("mallopt", TRIM_THRESHOLD, trim)


def _call(function: str, *args: int) -> None:
    """Call a function of glibc; macOS, musl and Windows do not have it."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        getattr(ctypes.CDLL(None), function)(*args)
