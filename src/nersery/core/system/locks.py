"""Locks on folders and files. The system releases them when a process is killed."""

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
"""The error codes of file systems without locks."""
LOCK = "lock"
"""Name of the file with which `locked` locks a folder."""
WAITING_LOCK = "turn"
"""Name of the file with which `lock_when_free` locks a folder."""


def locked(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Lock a folder against other processes; the system releases the lock of a killed process.

    A note is printed if the file system has no locks, like some network disks.

    Raises:
        SettingsError: If another process holds the lock, or something else has its name.
    """
    return _locked(folder, LOCK, wait=False)


def lock_when_free(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Lock a folder once no other process does. Create the folder, and remove it at the end if it is empty.

    A note is printed if this process has to wait.
    """
    return _locked(folder, WAITING_LOCK, wait=True)


@contextlib.contextmanager
def _locked(folder: Path, name: str, *, wait: bool) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows has no flock; there, users must not run two jobs on one file
        yield
        return
    file = folder / name
    while True:
        with _open_lock_in(file) if wait else _open_lock(file) as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not wait:
                    raise SettingsError(
                        f"another process is writing {folder}. Wait for it, or choose another output"
                    ) from None
                note(f"another process is working in {folder}; waiting for it")
                fcntl.flock(stream, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise OSError(error.errno, error.strerror, str(file)) from error
                warn(f"the file system of {folder} has no locks: do not start a second command that writes there")
            if not is_at(stream, file):  # the process that held the lock removed the file after we had opened it
                continue
            try:
                yield
            finally:
                if is_at(stream, file):  # otherwise, this would remove the lock of the next job
                    with contextlib.suppress(OSError):  # in a folder that cannot be written now; it would hide why
                        file.unlink()
                if wait:
                    with contextlib.suppress(OSError):  # the folder is not empty
                        folder.rmdir()
            return


def _open_lock_in(file: Path) -> IO[bytes]:
    """Make the folder and open the file, again whenever a process that ends its work removes the folder meanwhile."""
    folder = file.parent
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            if os.path.lexists(folder) and not folder.is_dir():
                raise
            continue
        with contextlib.suppress(FileNotFoundError):
            return _open_lock(file)


def _open_lock(file: Path) -> IO[bytes]:
    """Open the file of a lock, which is empty. Refuse anything else, such as a link or somebody else's file."""
    try:
        status = file.lstat()
    except FileNotFoundError:
        status = None
    if status is not None and (not stat.S_ISREG(status.st_mode) or status.st_size):
        raise SettingsError(
            f"{file} has the name of nersery's lock, but is not an empty file. Move it, or choose another output"
        )
    return file.open("ab")


def is_at(stream: IO[bytes], path: Path) -> bool:
    """Whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False


def try_lock(stream: IO[bytes]) -> bool:
    """Try to lock a file for this process until it is closed; return whether that succeeded."""
    try:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
