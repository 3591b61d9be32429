"""Messages for folders that belong to another job."""

from __future__ import annotations

from pathlib import Path

from nersery.core.errors import SettingsError
from nersery.core.locks import LOCK


def other_settings(folder: Path, content: str, difference: str, fix: str) -> str:
    """The message for a folder whose content was begun with other settings.

    Args:
        difference: See `nersery.core.files.differences`.
    """
    return f"{folder} holds {content} with other settings:\n{difference}\n{fix}"


def foreign_files(folder: Path, job: str, place: str = "output") -> SettingsError:
    """The error for a folder with files that no job has written.

    Args:
        job: What they are no part of.
        place: What to choose instead.
    """
    return SettingsError(
        f"{folder} holds files of no {job}, which even --force does not overwrite. Move them, or choose another {place}"
    )


def already_exists(path: Path) -> SettingsError:
    """The error for an output that must not be overwritten."""
    return SettingsError(f"{path} exists already. Choose another name, or allow to overwrite it (--force)")


def beginnings(record: str) -> tuple[str, str]:
    """The files that a job leaves in its folder if it is killed before its record is written."""
    return LOCK, f"{record}.tmp"


def refuse_occupied(folder: Path, job: str, record: str) -> None:
    """Raise `SettingsError` if a folder without the record of a job is a file or holds others."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file. Choose a folder (--out)")
    if folder.exists() and any(path.name not in beginnings(record) for path in folder.iterdir()):
        raise SettingsError(f"{folder} is not empty and holds no {job}. Choose another folder (--out)")
