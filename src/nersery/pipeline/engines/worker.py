"""What a worker does: it makes its step, and puts batches through it."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from nersery import io
from nersery.core.errors import (
    NerseryError,
)
from nersery.core.outcome import Reject, Step, Tally
from nersery.core.progress import Progress
from nersery.core.warnings import NO_NOTES
from nersery.pipeline.error_policy import ErrorPolicy
from nersery.pipeline.job import BATCH_SIZE, outcomes_of
from nersery.pipeline.stage import (
    Answer,
    Failure,
    Item,
    Message,
    Ready,
    Row,
    Stage,
)


@dataclass(frozen=True)
class Orders(Generic[Row, Item]):
    """What a worker is told when it starts.

    Args:
        batch_size: Items handed to the step at once.
        folder: Where the training keeps its state.
        is_first: Whether no worker was ready before this one: it trains, and says what there is to say. The others go
            on from a copy of what it left, so that none waits for another.
        label: What the progress of the training is called.
        quiet: Show no progress and no notes.
    """

    stage: Stage[Row, Item]
    batch_size: int = BATCH_SIZE
    folder: Path | None = None
    is_first: bool = True
    label: str = "learn"
    quiet: bool = False


class Work(Generic[Row, Item]):
    """A worker's part of the job: a step, made once, and the batches that go through it."""

    def __init__(self, orders: Orders[Row, Item]) -> None:
        self._stage, self._batch_size = orders.stage, orders.batch_size
        self._policy = ErrorPolicy(self._prepared(orders), orders.stage.sentence_of)

    def _prepared(self, orders: Orders[Row, Item]) -> Step[Item]:
        NO_NOTES.set(orders.quiet or not orders.is_first)
        with _training(orders) as folder, Progress(orders.label, quiet=NO_NOTES.get()) as progress:
            return self._stage.fit(self._stage.load(), folder, progress)

    def answer(self, rows: Sequence[Row | Reject]) -> Answer:
        """What becomes of the rows; one that its step or the format cannot deal with is a reject."""
        output, rejects, tally = list[str](), list[str](), Tally()
        for made in outcomes_of(self._stage.items(rows), self._policy, batch_size=self._batch_size):
            line, outcome = self._policy.encoded(made, self._stage.encode, io.reject_line)
            tally.add(outcome)
            if isinstance(outcome, Reject):
                rejects.append(line)
                line = self._stage.blank
            output.append(line)
        return Answer(len(rows), "".join(output).encode(), "".join(rejects).encode(), tally)


@contextlib.contextmanager
def _training(orders: Orders[Any, Any]) -> Iterator[Path | None]:
    """The folder where a worker finds or keeps its training: its own, unless it is the first."""
    if orders.is_first or orders.folder is None:
        yield orders.folder
        return
    with tempfile.TemporaryDirectory(prefix="nersery-") as name:
        copy = Path(name) / "training"
        if orders.folder.is_dir():
            shutil.copytree(orders.folder, copy, copy_function=_link, ignore=shutil.ignore_patterns("lock"))
        yield copy


def _link(file: str, copy: str) -> None:
    """Give a file a second name, for trainings are large; whoever changes one puts another file in its place."""
    try:
        os.link(file, copy)
    except OSError:  # on another disk
        shutil.copy2(file, copy)


class Desk:
    """Where a worker's messages are made, whatever carries them.

    The libraries that compute get one thread, unless the user says otherwise: sums over several threads have other last
    digits, and the number of workers must not show in the result.

    Args:
        orders: Pickled `Orders`.
    """

    def __init__(self, orders: bytes) -> None:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # before unpickling, which imports them
        self._orders = orders
        self._work: Work[Any, Any] | None = None

    def prepare(self) -> Message:
        """Make the step."""
        try:
            self._work = Work(pickle.loads(self._orders))
        except Exception as error:
            return Failure(_portable(error))
        return Ready()

    def answer(self, rows: bytes) -> Message:
        """Put a pickled batch through it."""
        assert self._work is not None
        try:
            return self._work.answer(pickle.loads(rows))
        except Exception as error:
            return Failure(_portable(error))


def _portable(error: Exception) -> Exception:
    """An error that can be pickled; what is no fault of the user's comes with its traceback."""
    if isinstance(error, NerseryError | OSError):
        return error
    return RuntimeError("a worker failed:\n" + "".join(traceback.format_exception(error)))
