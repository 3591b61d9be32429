"""Numbers in temporary files."""

import errno
import shutil
import tempfile
import warnings

import numpy as np
import pytest

from nersery.core.errors import DiskError
from nersery.crosslingual.hmm import temporary_array
from nersery.crosslingual.hmm.temporary_array import TemporaryArray, check_room


@pytest.mark.parametrize("room", [8, 1 << 20])
def test_reads_what_was_written(monkeypatch, room):
    monkeypatch.setattr(temporary_array, "IN_MEMORY", room)
    stored = TemporaryArray(np.float32)
    stored.write(0, np.arange(6.0).reshape(2, 3).T)  # row by row, in any order in memory
    stored.write(6, np.array([7, 8]))
    stored.write(1, np.array([9.5]))
    assert stored.read(0, 8).tolist() == [0, 9.5, 1, 4, 2, 5, 7, 8]
    assert stored.read(3, 0).tolist() == []
    assert stored.read(2, 1).dtype == np.float32


@pytest.mark.parametrize("room", [8, 1 << 20])
def test_files_are_closed_without_a_warning(monkeypatch, room, recwarn):
    monkeypatch.setattr(temporary_array, "IN_MEMORY", room)
    warnings.simplefilter("always")
    stored = TemporaryArray(np.int64)
    stored.write(0, np.zeros(8))
    smaller = TemporaryArray(np.int32, over=stored)
    del stored
    assert smaller.read(0, 2).tolist() == [0, 0]
    del smaller
    assert not recwarn.list


def test_a_full_disk_is_named(monkeypatch):
    class Full:
        def seek(self, place):
            raise OSError(errno.ENOSPC, "No space left on device")

    stored = TemporaryArray(np.int64)
    monkeypatch.setattr(stored, "_file", Full())
    with pytest.raises(OSError, match="No space left") as caught:
        stored.write(0, np.zeros(1))
    assert caught.value.filename == tempfile.gettempdir()


@pytest.mark.parametrize("room", [8, 1 << 20])
def test_smaller_numbers_can_overwrite_larger_ones(monkeypatch, room):
    monkeypatch.setattr(temporary_array, "IN_MEMORY", room)
    large = TemporaryArray(np.int64)
    small = TemporaryArray(np.int32, over=large)
    large.write(0, np.arange(10))
    for start in range(0, 10, 2):
        small.write(start, 10 * large.read(start, 2))
    small.truncate(10)
    assert small.read(0, 10).tolist() == [*range(0, 100, 10)]
    assert large._file.seek(0, 2) == 40


def test_too_little_room_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10**9, 0, 2 * 10**8))
    check_room(2 * 10**8)
    with pytest.raises(DiskError) as caught:
        check_room(3 * 10**8)
    assert str(caught.value) == (
        f"temporary files need at least 300 MB in {tempfile.gettempdir()}, which has 200 MB free. "
        "Free some space there, or set the environment variable TMPDIR to another folder"
    )
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10**9, 10**9, 0))
    check_room(1000)  # small arrays need no file
