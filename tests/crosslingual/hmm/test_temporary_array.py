"""Numbers in temporary files."""

import errno
import tempfile

import numpy as np
import pytest

from nersery.crosslingual.hmm import temporary_array
from nersery.crosslingual.hmm.temporary_array import TemporaryArray


@pytest.mark.parametrize("room", [8, 1 << 20])
def test_reads_what_was_written(monkeypatch, room):
    monkeypatch.setattr(temporary_array, "IN_MEMORY", room)
    stored = TemporaryArray(np.float32)
    stored.write(0, np.arange(6.0).reshape(2, 3).T)  # row by row, whatever its order in memory
    stored.write(6, np.array([7, 8]))
    stored.write(1, np.array([9.5]))
    assert stored.read(0, 8).tolist() == [0, 9.5, 1, 4, 2, 5, 7, 8]
    assert stored.read(3, 0).tolist() == []
    assert stored.read(2, 1).dtype == np.float32


def test_a_full_disk_is_named(monkeypatch):
    class Full:
        def seek(self, place):
            raise OSError(errno.ENOSPC, "No space left on device")

    stored = TemporaryArray(np.int64)
    monkeypatch.setattr(stored, "_file", Full())
    with pytest.raises(OSError, match="No space left") as caught:
        stored.write(0, np.zeros(1))
    assert caught.value.filename == tempfile.gettempdir()
