"""What the engine asks of a stage and of those who run workers, and what a worker does with its batches.

A stage is a value that travels: each worker makes a step of its own from it, once. Batches of rows go out to the
workers, and what they became comes back as bytes. A worker writes nothing and keeps nothing, so it may die at any time.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import tempfile
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from nersery import io
from nersery.data import Entity, Sentence
from nersery.errors import MissingResourceError, NerseryError, SettingsError, printable
from nersery.loop import BATCH_SIZE, Outcome, Reject, Step, Tally, run
from nersery.progress import NO_NOTES, Progress

Row = TypeVar("Row")
Item = TypeVar("Item")

FAILED = "failed: "
"""How the reason of a row begins that its step could not deal with."""
LONGEST_REASON = 200


_JSONL = io.writer("jsonl")


class Stage(ABC, Generic[Row, Item]):
    """A way from rows to sentences, or to whatever else can be written, in one process or in many.

    A subclass is a dataclass in a module that a worker can import; its fields can be pickled.
    """

    extension: ClassVar[str] = "jsonl"
    """Of the files it fills."""
    blank: ClassVar[str] = ""
    """Text in the place of a reject, for an output that goes line by line with other files."""

    @abstractmethod
    def load(self) -> Any:
        """Build the method, and refuse what is not there before any other work is done.

        Raises:
            MissingResourceError: Naming it.
        """

    @abstractmethod
    def fit(self, method: Any, folder: Path | None, progress: Progress | None) -> Step[Item]:
        """Let the method learn what it has to learn, and give its step.

        Args:
            method: What `load` gave.
            folder: Where a training keeps its state; from a finished one the method goes on without training.
        """

    def items(self, rows: Iterable[Row | Reject]) -> Iterable[Item | Reject]:
        """The items of the step; as a rule they are the rows."""
        return rows  # type: ignore[return-value]

    def sentence_of(self, row: Row | Item) -> Sentence | None:
        """What a reject shows of a row or an item that failed."""
        return row if isinstance(row, Sentence) else None

    def encode(self, made: Any) -> str:
        """What the step has made, as text with its line breaks.

        Raises:
            DataError: When the format cannot hold it.
        """
        return _JSONL.encode(made)


@dataclass(frozen=True)
class Answer:
    """What became of a batch.

    Args:
        rows: How many there were in it.
        output: As the stage encodes it, in the order of the rows.
        rejects: Lines of JSONL.
    """

    rows: int
    output: bytes = b""
    rejects: bytes = b""
    tally: Tally = field(default_factory=Tally)

    def __add__(self, other: Answer) -> Answer:
        """What became of two batches that follow each other."""
        tally = Tally(self.tally.read, self.tally.written, self.tally.reasons.copy())
        tally.include(other.tally)
        return Answer(self.rows + other.rows, self.output + other.output, self.rejects + other.rejects, tally)


@dataclass(frozen=True)
class Failure:
    """Why a worker cannot go on: something that no other batch and no other worker would make better."""

    error: Exception


class Ready:
    """Says that a worker has its step."""


Message = Ready | Answer | Failure


class WorkerDiedError(Exception):
    """The process of a worker is gone; the text says how it ended."""


class Worker(Protocol):
    """A process that says once that it is ready, then answers each batch, in the order in which they were sent."""

    def send(self, rows: bytes) -> None:
        """Hand over a pickled batch; a dead worker takes it without a word."""

    def receive(self) -> Message:
        """The next message; waits for it.

        Raises:
            WorkerDiedError: When there is none to come.
        """

    def stop(self) -> None:
        """End it, whatever it is doing."""


AnyWorker = TypeVar("AnyWorker", bound=Worker)


class Engine(Protocol[AnyWorker]):
    """Starts workers somewhere."""

    def start(self, orders: bytes) -> AnyWorker:
        """A new worker.

        Args:
            orders: Pickled `Orders`.
        """

    def wait(self, workers: Sequence[AnyWorker], seconds: float | None) -> Sequence[AnyWorker]:
        """Those who have said something, or died; waits for one as long as is allowed, None without end."""

    def close(self) -> None:
        """Give back all that the engine holds."""


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
        self._step = self._prepared(orders)

    def _prepared(self, orders: Orders[Row, Item]) -> Step[Item]:
        NO_NOTES.set(orders.quiet or not orders.is_first)
        with _training(orders) as folder, Progress(orders.label, quiet=NO_NOTES.get()) as progress:
            return self._stage.fit(self._stage.load(), folder, progress)

    def answer(self, rows: Sequence[Row | Reject]) -> Answer:
        """What becomes of the rows; one that its step or the format cannot deal with is a reject."""
        output, rejects, tally = list[str](), list[str](), Tally()
        for made in run(self._stage.items(rows), self._survive, batch_size=self._batch_size):
            line, outcome = self._encoded(made)
            tally.add(outcome)
            if isinstance(outcome, Reject):
                rejects.append(line)
                line = self._stage.blank
            output.append(line)
        return Answer(len(rows), "".join(output).encode(), "".join(rejects).encode(), tally)

    def _survive(self, batch: Sequence[Item]) -> Sequence[Outcome]:
        """The step; where it fails, it is tried on either half, down to the items that it fails for."""
        try:
            return self._step(batch)
        except (SettingsError, MissingResourceError):
            raise  # every other item would fail for that too
        except Exception as error:
            if len(batch) == 1:
                return [Reject(reason_of(error), self._stage.sentence_of(batch[0]))]
        half = len(batch) // 2
        return [*self._survive(batch[:half]), *self._survive(batch[half:])]

    def _encoded(self, made: Outcome) -> tuple[str, Outcome]:
        try:
            return io.reject_line(made) if isinstance(made, Reject) else self._stage.encode(made), made
        except NerseryError as error:
            sentence = made.sentence if isinstance(made, Reject) else made
            reject = Reject(reason_of(error), _unscored(sentence) if isinstance(sentence, Sentence) else None)
        return io.reject_line(reject), reject


@contextlib.contextmanager
def _training(orders: Orders[Any, Any]) -> Iterator[Path | None]:
    """The folder where a worker finds or keeps its training: its own, unless it is the first."""
    if orders.is_first or orders.folder is None:
        yield orders.folder
        return
    with tempfile.TemporaryDirectory(prefix="nersery-") as name:
        copy = Path(name) / "training"
        if orders.folder.is_dir():
            shutil.copytree(orders.folder, copy)
        yield copy


def _unscored(sentence: Sentence) -> Sentence:
    """The sentence without the numbers in it, which may be what cannot be written."""
    return replace(sentence, scores={}, entities=tuple(Entity(*label) for label in sentence.labels))


def reason_of(error: Exception) -> str:
    """Why an item is rejected, on one line."""
    text = printable(f"{type(error).__name__}: {error}")
    return FAILED + (text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}…")


class Desk:
    """Where a worker's messages are made, whatever carries them.

    Args:
        orders: Pickled `Orders`.
        threads: How many threads the libraries of a worker may use; to be told before they are imported.
    """

    def __init__(self, orders: bytes, threads: int) -> None:
        os.environ["OMP_NUM_THREADS"] = str(threads)
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


def fair_threads(workers: int) -> int:
    """How many threads each of so many workers may use, that together they fill this machine; or what the user says."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdigit() and int(asked) else max(1, (os.cpu_count() or 1) // workers)


def _portable(error: Exception) -> Exception:
    """An error that can be pickled; what is no fault of the user's comes with its traceback."""
    if isinstance(error, NerseryError | OSError):
        return error
    return RuntimeError("a worker failed:\n" + "".join(traceback.format_exception(error)))
