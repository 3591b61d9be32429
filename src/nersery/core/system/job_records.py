"""The records of jobs in their folders, the differences between two records, and errors for folders of other jobs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nersery.core.errors import DiskError, SettingsError, beginning
from nersery.core.system.files import write_json
from nersery.core.system.locks import LOCK
from nersery.core.warnings import warn

MAX_SHOWN = 120
"""The most characters of a setting that a message shows."""
_DIGEST = re.compile("[0-9a-f]{64}")
"""Matches the hash of a file's content."""
_RECORDS = {"run.json": "run", "grow.json": "grow"}
"""The commands that write many files into a folder, by their records."""


def other_settings_message(folder: Path, content: str, difference: str, fix: str) -> str:
    """The message for a folder with content that was begun with other settings.

    Args:
        difference: See `differences`.
    """
    return f"{folder} holds {content} with other settings:\n{difference}\n{fix}"


def foreign_files_error(folder: Path, job: str, place: str = "output") -> SettingsError:
    """The error for a folder with files that a job did not write.

    Args:
        job: Name of the job, with its article.
        place: What the user should choose instead, e.g. another ``output``.
    """
    return SettingsError(
        f"{folder} holds files that are not part of {job}. Even --force does not overwrite them. Move them, or choose "
        f"another {place}"
    )


def already_exists_error(path: Path) -> SettingsError:
    """The error for an output that must not be overwritten."""
    return SettingsError(f"{path} exists already. Choose another name, or overwrite it (--force)")


def removed_folder_error(folder: Path) -> DiskError:
    """The error for a folder that was removed while a job used it; the job may have recreated a part of it."""
    return DiskError(
        f"{folder} was removed or moved while it was used. Delete what is left of it, and repeat the command; if you "
        "moved the folder, name its new place (--out)"
    )


def copy_of(record: Path) -> Path:
    """The copy of the record of a job, beside it."""
    return record.with_name(f"{record.name}.bak")


def write_job_record(record: Path, content: Mapping[str, Any]) -> None:
    """Write the record of a job, and its copy: if both are lost, so is all that the job has trained."""
    write_json(record, content)
    write_json(copy_of(record), content)


def has_record(record: Path) -> bool:
    """Whether there is a record of a job, or at least its copy."""
    return record.exists() or copy_of(record).exists()


def read_job_record(record: Path, *keys: str) -> dict[str, Any]:
    """The record of a job, with some keys; its copy, with a note, if it was removed or is damaged.

    Raises:
        SettingsError: If the copy is no better.
    """
    for path in (record, copy_of(record)):
        try:
            content = json.loads(path.read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            continue
        if isinstance(content, dict) and content.keys() >= {*keys}:
            if path != record:
                warn(f"{record} was removed or is damaged; its copy {path.name} is used")
            return content
    raise unreadable_record_error(record)


def unreadable_record_error(record: Path) -> SettingsError:
    """The error for a record that cannot be read: what that means, and what to do."""
    return SettingsError(
        f"{record} is damaged, or another version wrote it, so the job cannot resume. Restore {record.name} or its "
        f"copy {copy_of(record).name} from a backup, or choose another folder (--out). What this folder holds stays "
        "and can be used"
    )


def initial_files(record: str) -> tuple[str, str]:
    """The names of the files that a job leaves in its folder if it is killed before its record is written."""
    return LOCK, f"{record}.tmp"


def refuse_occupied(folder: Path, job: str, record: str) -> None:
    """Raise `SettingsError` if a path without the record of a job is a file, or a folder with other files."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file. Choose a folder (--out)")
    if other := next((name for name in _RECORDS if name != record and (folder / name).is_file()), ""):
        fix = "choose another folder (--out), or resume that job by its own command"
        raise SettingsError(f"{folder} holds a job of nersery {_RECORDS[other]}, not a {job}: {fix}")
    if folder.exists() and any(path.name not in initial_files(record) for path in folder.iterdir()):
        raise SettingsError(f"{folder} is not empty and holds no {job}. Choose another folder (--out)")


def differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> str:
    """The settings in which two nested mappings differ, one per line.

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
    """A value as text; a long one, such as a whole system, is shortened to its beginning."""
    text = "a file" if _DIGEST.fullmatch(str(value)) else repr(value)
    return beginning(text, MAX_SHOWN)
