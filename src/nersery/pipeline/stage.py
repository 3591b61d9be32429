"""What the engine asks of a stage, and of those who run workers.

A stage is a value that travels: each worker makes a step of its own from it, once. Batches of rows go out to the
workers, and what they became comes back as bytes. A worker writes nothing and keeps nothing, so it may die at any time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from nersery import io
from nersery.core.outcome import Reject, Step, Tally
from nersery.core.progress import Progress
from nersery.core.sentence import Sentence

Row = TypeVar("Row")
Item = TypeVar("Item")


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
            folder: Where a training keeps its state; from a finished one the method goes on without training. Files
                in it are replaced and never written over, for workers share them.
        """

    def counts_rows(self, method: Any) -> bool:
        """Whether all rows are read and counted before the first one is processed."""
        return True

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
            orders: Pickled `nersery.pipeline.engines.worker.Orders`.
        """

    def wait(self, workers: Sequence[AnyWorker], seconds: float | None) -> Sequence[AnyWorker]:
        """Those who have said something, or died; waits for one as long as is allowed, None without end."""

    def close(self) -> None:
        """Give back all that the engine holds."""
