"""Memory during a training, and free memory that the training leaves."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Iterator

from nersery.core.system.process_settings import is_main_program

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's ``mallopt``."""
MAX_BLOCK = 32 << 20
"""The largest threshold that ``mallopt`` allows, in bytes. Larger blocks are mapped one by one."""


@contextlib.contextmanager
def kept_memory() -> Iterator[None]:
    """Keep freed memory in a process of nersery's own within the context, and give it back afterwards.

    Each step frees weights in bf16, activations and gradients, and the next step needs the same memory again. glibc
    would return it to the system in between, and 10,000 page faults per step take 8 % of the step's time.
    """
    _set_thresholds(2**31 - 1)
    try:
        yield
    finally:
        _set_thresholds(2 * MAX_BLOCK)  # glibc's own choice after large blocks
        release_memory()


def release_memory() -> None:
    """Give back free memory, in a process of nersery's own: batches of many shapes leave glibc's heap full of holes.

    A run of ten systems grew to 5 GB, of which 3.4 GB were such holes.
    """
    if is_main_program():
        gc.collect()
        _call("malloc_trim", 0)


def _set_thresholds(trim: int) -> None:
    """Let up to ``trim`` free bytes stay in the process."""
    if is_main_program():
        _call("mallopt", MMAP_THRESHOLD, MAX_BLOCK)  # glibc stops adapting it once the other one is set
        _call("mallopt", TRIM_THRESHOLD, trim)


def _call(function: str, *args: int) -> None:
    """Call a function of glibc. macOS, musl and Windows do not have it."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        getattr(ctypes.CDLL(None), function)(*args)
