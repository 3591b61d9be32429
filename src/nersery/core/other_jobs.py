"""Messages for folders that belong to another job, and what differs between two records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nersery.core.errors import DiskError, SettingsError
from nersery.core.locks import LOCK

MOST_SHOWN = 120
"""Characters of a setting in a message."""
_DIGEST = re.compile("[0-9a-f]{64}")
"""A hash of a file's content."""


def other_settings(folder: Path, content: str, difference: str, fix: str) -> str:
    """The message for a folder whose content was begun with other settings.

    Args:
        difference: See `differences`.
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


def removed(folder: Path) -> DiskError:
    """The error for a folder that somebody has removed while a job used it; a part of it may be there again."""
    return DiskError(f"{folder} was removed while it was used. Delete what is left of it, and repeat the command")


def beginnings(record: str) -> tuple[str, str]:
    """The files that a job leaves in its folder if it is killed before its record is written."""
    return LOCK, f"{record}.tmp"


def refuse_occupied(folder: Path, job: str, record: str) -> None:
    """Raise `SettingsError` if a folder without the record of a job is a file or holds others."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file. Choose a folder (--out)")
    if folder.exists() and any(path.name not in beginnings(record) for path in folder.iterdir()):
        raise SettingsError(f"{folder} is not empty and holds no {job}. Choose another folder (--out)")


def differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> str:
    """The settings in which two nested mappings differ, one a line.

    >>> print(differences({"seed": 1, "data": {"size": 100}}, {"seed": 1, "data": {"size": 200}}))
      data.size: was 100, now 200
    >>> print(differences({"rows": ["raw " + "0" * 64, 1]}, {"rows": ["raw " + "1" * 64, 1]}))
      rows: the content has changed
    """
    lines = []
    for key in sorted({*old, *new}):
        if key in old and key in new and old[key] == new[key]:
            continue
        if isinstance(old.get(key), Mapping) and isinstance(new.get(key), Mapping):
            lines.append(differences(old[key], new[key], f"{prefix}{key}."))
        elif key in old and key in new and _DIGEST.sub("", repr(old[key])) == _DIGEST.sub("", repr(new[key])):
            lines.append(f"  {prefix}{key}: the content has changed")
        else:
            old_text, new_text = (_shown(record[key]) if key in record else "nothing" for record in (old, new))
            lines.append(f"  {prefix}{key}: was {old_text}, now {new_text}")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    """A value, or its beginning if it is a long one, such as a whole system."""
    text = "a file" if _DIGEST.fullmatch(str(value)) else repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]} …"
