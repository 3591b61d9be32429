"""Numbers in a temporary file, for what grows with the text."""

from __future__ import annotations

from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from nersery.core.files import naming_the_full_disk

IN_MEMORY = 1 << 20
"""In bytes; arrays up to this size need no file."""


class TemporaryArray:
    """Numbers of one kind; only what is read or written is in memory. The file has no name and vanishes with this.

    Not a memory map, because the pages of one count as memory of the process.
    """

    def __init__(self, kind: DTypeLike) -> None:
        self._kind = np.dtype(kind)
        self._file = SpooledTemporaryFile(IN_MEMORY, prefix="nersery-")  # noqa: SIM115 - closed with the array

    def read(self, start: int, count: int) -> NDArray[Any]:
        """Some of the numbers, which were written before."""
        found = np.empty(count, self._kind)
        self._file.seek(start * self._kind.itemsize)
        self._file.readinto(found.view(np.uint8).data)
        return found

    def write(self, start: int, numbers: NDArray[Any]) -> None:
        """Put numbers in their place, one row after the other."""
        with naming_the_full_disk(Path(gettempdir())):
            self._file.seek(start * self._kind.itemsize)
            self._file.write(np.ascontiguousarray(numbers, self._kind).data)
