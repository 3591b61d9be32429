"""What an engine, a worker and their messages are. The pool uses any engine through these interfaces.

Each worker gets a pickled stage and fits its method once. Workers receive batches of rows and return results as bytes.
A worker writes no output and keeps no state, so it may die at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from nersery.core.outcome import Tally


@dataclass(frozen=True)
class Answer:
    """The result of a batch.

    Args:
        rows: Number of rows in the batch.
        output: The results, encoded by the stage, in the order of the rows.
        rejects: The rejects as JSONL.
    """

    rows: int
    output: bytes
    rejects: bytes
    tally: Tally


class Ready:
    """The message of a worker that is ready."""


@dataclass(frozen=True)
class Note:
    """A note of a worker. The main process prints it once, however many workers send it."""

    text: str


@dataclass(frozen=True)
class PythonWarning:
    """A warning of Python in a worker, and the line of code that it came from. The main process shows it."""

    text: str
    category: type[Warning]
    file: str
    line: int


Message = Ready | Answer | Note | PythonWarning | str | Exception
"""A worker's message. Text is a line of progress. An error is one that every other batch and worker would raise too."""


class WorkerDiedError(Exception):
    """The process of a worker ended. The text describes how.

    Args:
        with_its_node: Whether its whole machine was lost, so that the worker itself is not the cause.
    """

    def __init__(self, reason: str, *, with_its_node: bool = False) -> None:
        super().__init__(reason)
        self.with_its_node = with_its_node


class EngineLostError(Exception):
    """The engine can no longer start workers. The text gives the reason."""


class Worker(Protocol):
    """A process that reports once that it is ready, then returns one result per batch, in order.

    Before each of these messages it may send lines of progress.
    """

    def send(self, rows: bytes) -> None:
        """Send a pickled batch. This has no effect if the worker is dead."""

    def receive(self) -> Message:
        """Wait for the next message. Raises `WorkerDiedError` if the worker died before sending one."""

    def stop(self) -> None:
        """Kill the worker."""


AnyWorker = TypeVar("AnyWorker", bound=Worker)


class Engine(Protocol[AnyWorker]):
    """Starts workers somewhere."""

    def start(self, task: bytes) -> AnyWorker:
        """Start a new worker.

        Args:
            task: Pickled `nersery.pipeline.engines.worker.WorkerTask`.
        """

    def wait(self, workers: Sequence[AnyWorker], seconds: float | None) -> Sequence[AnyWorker]:
        """Wait for workers that sent a message or died: at most ``seconds`` for the first one, with None without limit.

        Raises:
            EngineLostError: If no worker ever will.
        """

    def close(self) -> None:
        """Release what the engine holds."""
