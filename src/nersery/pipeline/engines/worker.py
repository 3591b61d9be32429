"""The work in a worker process: fit the method once, then apply it to batches."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from nersery import io
from nersery.core.errors import NerseryError
from nersery.core.outcome import Reject, Tally
from nersery.core.progress import Progress
from nersery.core.system.locks import LOCK
from nersery.core.system.process_settings import THREADS
from nersery.core.warnings import NO_NOTES
from nersery.core.wording import is_command_line, set_command_line
from nersery.models.pretrained.torch_state import torch_defaults
from nersery.pipeline.engines.base import Answer, Message, Ready
from nersery.pipeline.error_policy import ErrorPolicy
from nersery.pipeline.job import BATCH_SIZE, outcomes_of
from nersery.pipeline.stage import Item, Row, Stage


@dataclass(frozen=True)
class WorkerTask(Generic[Row, Item]):
    """Everything that a worker needs to start.

    Args:
        batch_size: Items handed to the method at once.
        folder: The folder for the state of the training.
        is_first: Whether no worker was ready before this one. The first worker trains and prints notes. The others
            load a copy of its state, so that no worker waits for another.
        label: Progress label of the training.
        quiet: Show no progress and no notes.
        of_command: Whether a command makes the task. Its messages then name options, see `nersery.core.wording`.
    """

    stage: Stage[Row, Item]
    batch_size: int = BATCH_SIZE
    folder: Path | None = None
    is_first: bool = True
    label: str = "learn"
    quiet: bool = False
    of_command: bool = field(default_factory=is_command_line)


class BatchRunner(Generic[Row, Item]):
    """Fits the method of a stage once, and applies it to batches."""

    def __init__(self, task: WorkerTask[Row, Item]) -> None:
        self._stage, self._batch_size = task.stage, task.batch_size
        set_command_line(task.of_command)
        NO_NOTES.set(task.quiet or not task.is_first)
        with _training_folder(task) as folder, Progress(task.label, quiet=NO_NOTES.get()) as progress:
            function = self._stage.fit(self._stage.load(), folder, progress)
        self._policy = ErrorPolicy(function, self._stage.sentence_of)

    def answer(self, items: Sequence[Item | Reject]) -> Answer:
        """The result of a batch. An item that the method or the format cannot process is rejected."""
        output, rejects, tally = list[str](), list[str](), Tally()
        for result in outcomes_of(items, self._policy, batch_size=self._batch_size):
            line, outcome = self._policy.encoded(result, self._stage.encode, io.reject_line)
            tally.add(outcome)
            if isinstance(outcome, Reject):
                rejects.append(line)
                line = self._stage.blank
            output.append(line)
        return Answer(len(items), "".join(output).encode(), "".join(rejects).encode(), tally)


@contextlib.contextmanager
def _training_folder(task: WorkerTask[Any, Any]) -> Iterator[Path | None]:
    """The folder of a worker's training: the shared folder for the first worker, a copy for the others.

    If the first worker has left no folder, the method keeps no state in it, but may look for files beside it.
    """
    if task.is_first or task.folder is None or not task.folder.is_dir():
        yield task.folder
        return
    with tempfile.TemporaryDirectory(prefix="nersery-") as name:
        copy = Path(name) / "training"
        shutil.copytree(task.folder, copy, copy_function=_link, ignore=shutil.ignore_patterns(LOCK))
        yield copy


def _link(file: str, copy: str) -> None:
    """Hard-link a file, because trainings are large. This is safe: files are replaced, never modified."""
    try:
        os.link(file, copy)
    except OSError:  # on another disk
        shutil.copy2(file, copy)


class MessageHandler:
    """Makes the messages of a worker, independently of the transport.

    Numeric libraries use one thread unless the user sets another number. Sums over several threads differ in their last
    digits, and the result must not depend on the number of workers.

    Args:
        task: Pickled `WorkerTask`.
    """

    def __init__(self, task: bytes) -> None:
        os.environ[THREADS] = os.environ.get(THREADS) or "1"  # before unpickling, which imports them
        self._task = task
        self._runner: BatchRunner[Any, Any] | None = None

    @torch_defaults()
    def prepare(self) -> Message:
        """Fit the method."""
        try:
            self._runner = BatchRunner(pickle.loads(self._task))
        except Exception as error:
            return picklable(error)
        return Ready()

    @torch_defaults()
    def answer(self, rows: bytes) -> Message:
        """Process a pickled batch."""
        assert self._runner is not None
        try:
            return self._runner.answer(pickle.loads(rows))
        except Exception as error:
            return picklable(error)


def picklable(error: Exception) -> Exception:
    """The error in a form that can be pickled. An unexpected error becomes a `RuntimeError` with its traceback."""
    if isinstance(error, NerseryError | OSError):
        return error
    return RuntimeError("a worker failed:\n" + "".join(traceback.format_exception(error)))
