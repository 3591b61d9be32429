"""Memory that a training leaves behind, given back to the system."""

from __future__ import annotations

import ctypes
import gc

from nersery.core.own_process import is_own_process


def give_back() -> None:
    """In a process of nersery's own, give back what is free: batches of many shapes leave glibc's heap full of holes.

    A run of ten systems grew to 5 GB, of which 3.4 GB were such holes. Where the C library has no ``malloc_trim``,
    nothing is done.
    """
    if not is_own_process():
        return
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # macOS, musl, Windows
        return
