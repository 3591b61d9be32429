"""The checkpoint of a training. A killed training resumes from it and ends as if it had never stopped.

It is a folder::

    state.json              what the training depends on, its progress, and which of the files below are valid
    step-120.safetensors    weights, optimizer moments and random states after this step
    best-100.safetensors    the weights of the best evaluation so far
    final-300.safetensors   the weights of a finished training, which then replace all others

Each file is written under a new name before ``state.json`` is replaced atomically. Files that it does not name are
ignored.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from nersery.core.errors import NerseryError, SettingsError, is_lack_of_memory
from nersery.core.files import os_errors, write_atomic
from nersery.core.locks import LOCK, TURN, locked
from nersery.core.other_jobs import differences, other_settings
from nersery.models.training.snapshot import Tensors

CHECKPOINT_SECONDS = 60.0
"""Seconds between two checkpoints, unless writing would take too large a share of the time."""
LARGEST_SHARE = 0.05
"""The largest share of the time that may be spent on writing."""
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
    raise OtherTrainingError(other_settings(folder, "an unfinished training", "\n".join(lines), fix))


def is_foreign(folder: Path) -> bool:
    """Whether a folder or a subfolder holds files that do not belong to checkpoints."""
    names = {path.name for path in folder.rglob("*") if not path.is_dir()}
    return RECORD not in names and not all(map(OWN_FILES.fullmatch, names))


@contextlib.contextmanager
def opened(folder: Path | None, fingerprint: Mapping[str, Any]) -> Iterator[Checkpoint | None]:
    """Lock a folder and yield its checkpoint; None without a folder. A folder that stays empty is removed.

    Args:
        folder: Created if it does not exist.
        fingerprint: Everything the training depends on, as JSON values.

    Raises:
        SettingsError: If another process holds the lock.
    """
    if folder is None:
        yield None
        return
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder):
            yield Checkpoint(folder, fingerprint)
    finally:
        with contextlib.suppress(OSError):  # it is not empty
            folder.rmdir()


class Checkpoint:
    """The checkpoint in a folder; see `opened`."""

    def __init__(self, folder: Path, fingerprint: Mapping[str, Any]) -> None:
        self._folder, self._record = folder, folder / RECORD
        self._fingerprint: dict[str, Any] = json.loads(json.dumps(fingerprint))
        self._parts: list[str] = []
        self._saved, self._cost = time.monotonic(), 0.0

    @property
    def is_due(self) -> bool:
        """Whether a checkpoint is due."""
        return time.monotonic() - self._saved >= max(CHECKPOINT_SECONDS, self._cost / LARGEST_SHARE)

    def load(self, adopt: Callable[[dict[str, Any], dict[str, Tensors]], None]) -> None:
        """Pass the saved facts and tensors to ``adopt``, if there are any.

        Raises:
            OtherTrainingError: If they belong to another training.
            BrokenStateError: If they cannot be read.
        """
        if (state := read_state(self._folder, self._fingerprint)) is not None:
            with readable(self._folder):
                adopt(state["facts"], {name: load_file(self._path(name)) for name in state["parts"]})
                self._parts = state["parts"]
        self._remove_others()

    def save(self, facts: Mapping[str, Any], parts: Mapping[str, Tensors]) -> None:
        """Replace the checkpoint. A part whose name is in the last checkpoint is not written again.

        Raises:
            OSError: If the disk is full. The previous checkpoint stays valid.
        """
        started = time.monotonic()
        for name, tensors in parts.items():
            if name not in self._parts:
                _write(self._path(name), tensors)
        names = list(parts)
        state = {"fingerprint": self._fingerprint, "facts": facts, "parts": names}
        write_atomic(self._record, json.dumps(state, ensure_ascii=False, indent=1))
        self._parts = names
        self._remove_others()
        self._saved = time.monotonic()
        self._cost = self._saved - started

    def _path(self, part: str) -> Path:
        return self._folder / f"{part}.safetensors"

    def _remove_others(self) -> None:
        """Remove parts that ``state.json`` does not name, and incomplete files that a kill left."""
        kept = {LOCK, TURN, RECORD, *(self._path(name).name for name in self._parts)}
        for path in self._folder.iterdir():
            if path.name not in kept and OWN_FILES.fullmatch(path.name):
                path.unlink()


def _write(path: Path, tensors: Tensors) -> None:
    """Write and fsync a file, so that ``state.json`` never names a file that a loss of power has damaged."""
    with os_errors(path):
        save_file(dict(_apart(tensors.items())), path)
    with path.open("r+b") as stream:
        os.fsync(stream.fileno())


def _apart(tensors: Iterable[tuple[str, Tensor]]) -> Iterator[tuple[str, Tensor]]:
    """The tensors on the CPU, copied if they share storage, because safetensors refuses shared storage."""
    seen = set()
    for name, tensor in tensors:
        plain = tensor.detach().cpu().contiguous()
        storage = plain.untyped_storage()
        if storage.data_ptr() in seen or storage.nbytes() != plain.nbytes:
            plain = plain.clone()
        seen.add(storage.data_ptr())
        yield name, plain
