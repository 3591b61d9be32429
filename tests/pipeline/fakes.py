"""A stage that any worker can import quickly, and workers that are not processes."""

from __future__ import annotations

import os
import pickle
import random
import signal
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nersery import Sentence, io
from nersery.core.errors import MissingResourceError
from nersery.core.outcome import BatchFunction, Outcome, Reject
from nersery.core.progress import Progress
from nersery.core.warnings import NO_NOTES, warn
from nersery.pipeline.engines.base import Answer, Message, WorkerDiedError
from nersery.pipeline.engines.worker import BatchRunner, MessageHandler, WorkerTask
from nersery.pipeline.stage import Stage

REJECTED = {"reject", "fail", "kill", "nan"}


def die() -> None:
    """End this worker without a message."""
    if InlineWorker.is_in_this_process:
        from tests.killing import KilledError  # with pytest, which would delay the start of real workers by a half

        raise KilledError
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Capitals(Stage[Sentence, Sentence]):
    """Writes words in capitals, and obeys the words ``reject``, ``fail``, ``kill``, ``kill-once``, ``sleep``;
    ``company`` waits for a second worker.

    Args:
        folder: The folder in which each start and each death by ``kill-once`` leaves a file.
        missing: The resource that is missing.
    """

    folder: str = ""
    missing: str = ""

    def load(self) -> str:
        if self.missing == "life":
            die()
        if self.missing:
            raise MissingResourceError(f"there is no {self.missing}")
        return self.folder

    def fit(self, method: str, folder: Path | None, progress: Progress | None) -> BatchFunction[Sentence]:
        if method:
            (Path(method) / f"start-{os.getpid()}-{time.monotonic_ns()}").touch()
        return self.step

    def step(self, batch: Sequence[Sentence]) -> list[Outcome]:
        return [self.outcome(sentence) for sentence in batch]

    def outcome(self, sentence: Sentence) -> Outcome:
        words = set(sentence.words)
        if "reject" in words:
            return Reject("asked for", sentence)
        if "fail" in words:
            raise ValueError("a poisoned row")
        if "sleep" in words:
            time.sleep(0.02)
        while "company" in words and len([*Path(self.folder).glob("start-*")]) < 2:
            time.sleep(0.02)
        if "kill" in words or ("kill-once" in words and self._is_first(sentence.id)):
            die()
        scores = {"odd": float("nan")} if "nan" in words else {}
        return replace(sentence, words=tuple(word.upper() for word in sentence.words), scores=scores)

    def _is_first(self, id: str) -> bool:
        mark = Path(self.folder) / f"died-{id}"
        if mark.exists():
            return False
        mark.touch()
        return True


@dataclass(frozen=True)
class Noting(Capitals):
    """Every worker prints the same note."""

    def fit(self, method: str, folder: Path | None, progress: Progress | None) -> BatchFunction[Sentence]:
        NO_NOTES.set(False)
        warn("this model reads lower case only")
        return super().fit(method, folder, progress)


@dataclass(frozen=True)
class OddRows(Capitals):
    """Warns of each sentence in other words, by a warning of Python."""

    def outcome(self, sentence: Sentence) -> Outcome:
        warnings.warn(f"{sentence.id} is odd", stacklevel=1)
        return super().outcome(sentence)


def rows(count: int, **odd: str) -> list[Sentence]:
    """Sentences, some of which have an odd word: ``rows(9, at3="kill")``."""
    return [Sentence(("word", odd.get(f"at{number}", "here")), id=f"s{number}") for number in range(count)]


def expected(sentences: Sequence[Sentence]) -> bytes:
    """The lines of the results, without the rejected sentences."""
    encode = io.writer("jsonl").encode
    kept = (sentence for sentence in sentences if not REJECTED & {*sentence.words})
    return "".join(encode(Sentence(tuple(map(str.upper, s.words)), id=s.id)) for s in kept).encode()


class Inline:
    """An engine whose workers are not processes and answer in random order."""

    def __init__(self, seed: int = 0) -> None:
        self.started: list[InlineWorker] = []
        self.closed = False
        self._rng = random.Random(seed)

    def start(self, task: bytes) -> InlineWorker:
        self.started.append(InlineWorker(task))
        return self.started[-1]

    def wait(self, workers: Sequence[InlineWorker], seconds: float | None) -> list[InlineWorker]:
        assert workers, "nobody will ever answer"
        return [] if seconds == 0 and self._rng.random() < 0.5 else [self._rng.choice(list(workers))]

    def close(self) -> None:
        self.closed = True


class InlineWorker:
    """A worker that does its work when its message is received."""

    is_in_this_process = False

    def __init__(self, task: bytes) -> None:
        InlineWorker.is_in_this_process = True
        self.task: WorkerTask[Any, Any] = pickle.loads(task)
        self._handler, self._inbox = MessageHandler(task), deque[bytes]()
        self._is_ready = self.stopped = False
        self.most_waiting = 0

    def send(self, rows: bytes) -> None:
        self._inbox.append(rows)
        self.most_waiting = max(self.most_waiting, len(self._inbox))

    def receive(self) -> Message:
        from tests.killing import KilledError

        try:
            if self._is_ready:
                return self._handler.answer(self._inbox.popleft())
            self._is_ready = True
            return self._handler.prepare()
        except KilledError:
            raise WorkerDiedError("killed") from None

    def stop(self) -> None:
        self.stopped = True


def answers(batches: Iterable[Sequence[Any]]) -> Iterator[Answer]:
    """The answers of a pool, without a pool."""
    work = BatchRunner(WorkerTask(Capitals()))
    return map(work.answer, batches)
