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
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from nersery.core.system.files import os_errors, write_atomic
from nersery.core.system.locks import LOCK, WAITING_LOCK, locked
from nersery.models.training.snapshot import Tensors
from nersery.models.training.training_state import OWN_FILES, RECORD, read_state, readable

CHECKPOINT_SECONDS = 60.0
"""Seconds between two checkpoints, unless writing would take too large a share of the time."""
MAX_SHARE = 0.05
"""The largest share of the time that may be spent on writing."""


@contextlib.contextmanager
def open_checkpoint(folder: Path | None, fingerprint: Mapping[str, Any]) -> Iterator[Checkpoint | None]:
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
    """The checkpoint in a folder; see `open_checkpoint`."""

    def __init__(self, folder: Path, fingerprint: Mapping[str, Any]) -> None:
        self._folder, self._record = folder, folder / RECORD
        self._fingerprint: dict[str, Any] = json.loads(json.dumps(fingerprint))
        self._parts: list[str] = []
        self._saved, self._cost = time.monotonic(), 0.0

    @property
    def is_due(self) -> bool:
        """Whether a checkpoint is due."""
        return time.monotonic() - self._saved >= max(CHECKPOINT_SECONDS, self._cost / MAX_SHARE)

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
        kept = {LOCK, WAITING_LOCK, RECORD, *(self._path(name).name for name in self._parts)}
        for path in self._folder.iterdir():
            if path.name not in kept and OWN_FILES.fullmatch(path.name):
                path.unlink()


def _write(path: Path, tensors: Tensors) -> None:
    """Write and fsync a file, so that ``state.json`` never names a file that a loss of power has damaged."""
    with os_errors(path):
        save_file(dict(_with_own_storage(tensors.items())), path)
    with path.open("r+b") as stream:
        os.fsync(stream.fileno())


def _with_own_storage(tensors: Iterable[tuple[str, Tensor]]) -> Iterator[tuple[str, Tensor]]:
    """The tensors on the CPU, copied if they share storage, because safetensors refuses shared storage."""
    seen = set()
    for name, tensor in tensors:
        plain = tensor.detach().cpu().contiguous()
        storage = plain.untyped_storage()
        if storage.data_ptr() in seen or storage.nbytes() != plain.nbytes:
            plain = plain.clone()
        seen.add(storage.data_ptr())
        yield name, plain
