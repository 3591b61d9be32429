"""Replace folders atomically."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path

from nersery.core.errors import SettingsError
from nersery.core.system.files import naming_the_file, refuse_unwritable
from nersery.core.system.locks import LOCK, locked

_IN_STAGING = {LOCK, "new", "old", "gone"}


def check_replaceable(folder: Path, mark: str, what: str, own: Sequence[str], *, force: bool) -> None:
    """Raise `SettingsError` if a folder must not be overwritten; a folder with other files never may be.

    Args:
        mark: Name of the file that identifies such a folder.
        what: Name of the folder's content in messages.
        own: Patterns of all file names that the folder may hold.
    """
    refuse_unwritable(folder)
    current = Path.cwd()
    if folder.resolve() in (current, *current.parents):
        raise SettingsError(f"{folder} is the current folder, which the {what} would replace. Choose another folder")
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file, expected the folder to write the {what} to")
    if folder.exists() and not force:
        raise SettingsError(f"{folder} exists already. Choose another folder, or overwrite it (--force)")
    if folder.exists() and any(folder.iterdir()) and not (folder / mark).exists():
        raise SettingsError(f"{folder} holds no {what}, so even --force does not overwrite it. Choose another folder")
    names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    if others := [name for name in names if not any(fnmatchcase(name, pattern) for pattern in own)]:
        raise SettingsError(
            f"{folder} holds {', '.join(others[:5])}, which is not part of the {what} and would be lost. "
            "Move it, or choose another folder"
        )


def real_folder(folder: Path) -> Path:
    """A folder with a name beside which others can be made. A link is resolved, so replacing its folder keeps it."""
    return folder.resolve() if folder.is_symlink() or folder.name in ("", "..") else folder


@contextlib.contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """Yield a new folder that replaces ``folder`` when the block ends. It is made first, to fail before the work."""
    folder = real_folder(folder)
    with _staging_folder(folder) as staging:
        new = staging / "new"
        new.mkdir()
        with naming_the_file(folder):
            yield new
        _swap(new, folder, staging)


def replace_folder(new: Path, folder: Path) -> None:
    """Replace a folder by a finished one. If the process is killed, either the old or the new folder is complete."""
    folder = real_folder(folder)
    with _staging_folder(folder) as staging:
        _swap(new, folder, staging)


@contextlib.contextmanager
def _staging_folder(folder: Path) -> Iterator[Path]:
    """Yield a locked folder beside another, to hold first its successor, then itself; remove leftovers of kills."""
    staging = folder.with_name(f"{folder.name}.part-{secrets.token_hex(4)}")
    staging.mkdir(parents=True)
    with locked(staging):
        # unlike `iterdir`, `glob` finds nothing, without an error, in a folder that may be written to but not read
        for leftover in folder.parent.glob(f"{escape(folder.name)}.part-{'[0-9a-f]' * 8}"):
            if leftover != staging:
                with contextlib.suppress(SettingsError, OSError):  # another process is at work there
                    if {path.name for path in leftover.iterdir()} <= _IN_STAGING:
                        with locked(leftover):
                            _clear(leftover, folder)
        try:
            yield staging
        finally:
            _clear(staging, folder)


def _swap(new: Path, folder: Path, staging: Path) -> None:
    """Replace the folder by two renames, because a single rename cannot replace a folder with files.

    After a kill between the two, `_clear` undoes the first.
    """
    if folder.exists():
        os.replace(folder, staging / "old")
    os.replace(new, folder)


def _clear(staging: Path, folder: Path) -> None:
    """Remove what is no longer needed; move an old folder back to its place if no new one replaced it."""
    old = staging / "old"
    if old.exists():
        os.replace(old, staging / "gone" if folder.exists() else folder)
    shutil.rmtree(staging, ignore_errors=True)
