"""Locks of folders and files, which the system releases when a process is killed."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from nersery.core.errors import SettingsError
from nersery.core.warnings import note, warn

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
"""What file systems without locks answer."""
LOCK = "lock"
"""The file by which `locked` locks a folder."""
TURN = "turn"
"""The file by which `turn` does."""


def locked(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Lock a folder against other processes; the system releases the lock of a killed process.

    A file system without locks, such as some network disks, is noted.

    Raises:
        SettingsError: If another process holds the lock, or something else has its name.
    """
    return _locked(folder, LOCK, wait=False)


def turn(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Wait until no other process has its turn in a folder, which is created, and removed if it is empty in the end.

    It is noted that one waits.
    """
    return _locked(folder, TURN, wait=True)


@contextlib.contextmanager
def _locked(folder: Path, name: str, *, wait: bool) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows has no flock; two jobs on one file are then the user's own care
        yield
        return
    file = folder / name
    while True:
        if wait:
            folder.mkdir(parents=True, exist_ok=True)
        with _open_lock(file) as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not wait:
                    raise SettingsError(
                        f"another process is writing {folder}. Wait for it, or choose another output"
                    ) from None
                note(f"another process is at work in {folder}; waiting for it")
                fcntl.flock(stream, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise
                warn(f"the file system of {folder} has no locks: start no second command that writes there")
            if not is_at(stream, file):  # whoever held the lock removed the file after we had opened it
                continue
            try:
                yield
            finally:
                if is_at(stream, file):  # and not, after our job, the lock of the next one
                    file.unlink()
                if wait:
                    with contextlib.suppress(OSError):  # there is something in it
                        folder.rmdir()
            return


def _open_lock(file: Path) -> IO[bytes]:
    """Open the file of a lock, which is empty; a link is not followed, and a file of somebody else stays as it is."""
    try:
        status = file.lstat()
    except FileNotFoundError:
        status = None
    if status is not None and (not stat.S_ISREG(status.st_mode) or status.st_size):
        raise SettingsError(
            f"{file} is in the place of nersery's lock, which is an empty file. Move it, or choose another output"
        )
    return file.open("ab")


def is_at(stream: IO[bytes], path: Path) -> bool:
    """Whether an open file still lies under a name."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False


def try_lock(stream: IO[bytes]) -> bool:
    """Whether a file could be locked for this process, as long as it is open."""
    try:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
