"""Numbers in a temporary file, for data that grows with the text."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from nersery.core.errors import DiskError
from nersery.core.system.files import naming_the_file

IN_MEMORY = 1 << 20
"""In bytes; arrays up to this size need no file."""


def check_room(size: int) -> None:
    """Check that the folder of temporary files has room, before hours are spent on filling it.

    Args:
        size: Size of the files, in bytes.

    Raises:
        DiskError: If there is too little room.
    """
    folder = gettempdir()
    free = shutil.disk_usage(folder).free
    if size > max(free, IN_MEMORY):
        raise DiskError(
            f"temporary files need at least {size / 1e6:,.0f} MB in {folder}, which has {free / 1e6:,.0f} MB free. "
            "Free some space there, or set the environment variable TMPDIR to another folder"
        )


class _ClosedFile(SpooledTemporaryFile[bytes]):
    """Closes itself without the `ResourceWarning`, which is an error in tests of users."""

    def __del__(self) -> None:
        self.close()


class TemporaryArray:
    """Numbers of one data type in a file. Only the numbers that are being read or written are in memory.

    The file has no name and disappears with this object. It is not a memory map, because its pages would count as
    memory of the process.

    Args:
        over: Numbers whose file is overwritten. Those that are still to be read must lie behind the written bytes.
    """

    def __init__(self, dtype: DTypeLike, over: TemporaryArray | None = None) -> None:
        self._dtype = np.dtype(dtype)
        self._file: _ClosedFile = _ClosedFile(IN_MEMORY, prefix="nersery-") if over is None else over._file

    def read(self, start: int, count: int) -> NDArray[Any]:
        """Read some of the numbers that were written before."""
        numbers = np.empty(count, self._dtype)
        self._file.seek(start * self._dtype.itemsize)
        self._file.readinto(numbers.view(np.uint8).data)
        return numbers

    def truncate(self, count: int) -> None:
        """Free the disk space of all but the first numbers."""
        self._file.truncate(count * self._dtype.itemsize)

    def write(self, start: int, numbers: NDArray[Any]) -> None:
        """Write numbers at their place, one row after the other."""
        with naming_the_file(Path(gettempdir())):
            self._file.seek(start * self._dtype.itemsize)
            self._file.write(np.ascontiguousarray(numbers, self._dtype).data)
