"""The file ``state.json`` in the folder of a training: what the training depends on, and its progress.

It does not import torch, because much that looks at such folders trains nothing.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from nersery.core.errors import NerseryError, SettingsError, is_lack_of_memory
from nersery.core.system.job_records import differences, other_settings_message

RECORD = "state.json"
OWN_FILES = re.compile(r"state\.json(\.tmp)?|(step|best|final)-\d+\.safetensors|\.tmp\w+|lock|turn")
"""The files of a checkpoint, and incomplete files that a kill leaves. safetensors first writes to ``.tmp…``."""
SHOWN_DIFFERENCES = 10


class OtherTrainingError(SettingsError):
    """The state in a folder is that of another training."""


class BrokenStateError(NerseryError):
    """The state in a folder cannot be read."""


@contextlib.contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Turn errors into a `BrokenStateError` while the state in a folder is read within the context."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, OSError, SafetensorError) as error:
        if is_lack_of_memory(error):
            raise
        raise BrokenStateError(
            f"the state of the training in {folder} cannot be read ({error}), perhaps because of a loss of power. "
            f"Delete the folder {folder} to start the training again"
        ) from error


def read_state(folder: Path, fingerprint: Mapping[str, Any]) -> dict[str, Any] | None:
    """The content of a folder's ``state.json``; None if the folder has no such file.

    Args:
        fingerprint: What the requested training depends on, as JSON values.

    Raises:
        OtherTrainingError: If the state belongs to another training.
        BrokenStateError: If the state cannot be read.
    """
    if not (folder / RECORD).exists():
        return None
    with readable(folder):
        state: dict[str, Any] = json.loads((folder / RECORD).read_text("utf-8"))
        _refuse_other(folder, state["fingerprint"], json.loads(json.dumps(fingerprint)))
    return state


def training_seconds(folder: Path) -> float | None:
    """The seconds that the training in a folder took until its last checkpoint, over all calls; None if unknown."""
    if not (folder / RECORD).exists():
        return None
    with readable(folder):
        return json.loads((folder / RECORD).read_text("utf-8"))["facts"].get("seconds")


def _refuse_other(folder: Path, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    if stored == wanted:
        return
    lines = differences(stored, wanted).split("\n")
    if len(lines) > SHOWN_DIFFERENCES:
        lines[SHOWN_DIFFERENCES:] = [f"  … and {len(lines) - SHOWN_DIFFERENCES} more differences"]
    fix = f"Repeat it with those settings to resume, or delete the folder {folder} to start again"
    raise OtherTrainingError(other_settings_message(folder, "an unfinished training", "\n".join(lines), fix))


def is_foreign(folder: Path) -> bool:
    """Whether a folder or a subfolder holds files that do not belong to checkpoints."""
    names = {path.name for path in folder.rglob("*") if not path.is_dir()}
    return RECORD not in names and not all(map(OWN_FILES.fullmatch, names))
