"""Sends batches to workers and yields their results in order. No row is lost if a worker dies.

The batch that a dead worker was processing goes to another worker. If that worker dies too, the batch is halved until
the row that kills workers is alone. That row is rejected with the reason, and the job continues.
"""

from __future__ import annotations

import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic

from nersery import io
from nersery.core.errors import JobFailedError, SettingsError
from nersery.core.outcome import Reject, Tally
from nersery.core.progress import print_line
from nersery.core.warnings import warn
from nersery.pipeline.engines.base import Answer, AnyWorker, Engine, Note, PythonWarning, Ready, WorkerDiedError
from nersery.pipeline.engines.worker import WorkerTask
from nersery.pipeline.error_policy import FAILED, MAX_FAILED
from nersery.pipeline.stage import Item, Row, sentence_name

TRIES = 2
"""The number of dead workers after which a batch is halved, or a single row is rejected."""
MAX_BAD_STARTS = 3
"""The number of consecutive workers that die before they are ready at which the job fails."""
MAX_DEATHS = 100
AHEAD = 2
"""Batches sent to each worker in advance, so that it never waits for the next one."""


@dataclass(eq=False)
class _Batch(Generic[Row]):
    """A batch, or half of a larger one."""

    rows: Sequence[Row | Reject]
    tries_left: int = TRIES
    answer: Answer | None = None


@dataclass(eq=False)
class _Slot(Generic[AnyWorker, Row]):
    """A worker and the batches sent to it. It processes the first of them."""

    worker: AnyWorker
    is_ready: bool = False
    batches: deque[_Batch[Row]] = field(default_factory=deque)


def _pickled(task: object) -> bytes:
    """The task for a worker. Raise `SettingsError` if it cannot be sent, because of a user's method or settings."""
    try:
        return pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise SettingsError(
            f"workers cannot be sent the method: {error}. Define its class and functions at the top level of a module "
            "or script, or leave out --shards"
        ) from error


class Pool(Generic[AnyWorker, Row, Item]):
    """Runs a stage on workers, which it starts on demand.

    Args:
        engine: Starts the workers. It is closed with the pool.
        task: The task of the first worker.
        workers: The maximum number of workers at a time.
        report: Receives a note about each worker that dies.
        ahead: Batches sent to each worker in advance, so that it never waits for the next one.
        show: Receives the workers' lines of progress, each with the batch that its worker processes, if any.
    """

    def __init__(
        self,
        engine: Engine[AnyWorker],
        task: WorkerTask[Row, Item],
        workers: int,
        report: Callable[[str], None],
        *,
        ahead: int = AHEAD,
        show: Callable[[str, Sequence[Row | Reject]], None] = lambda text, _: print_line(text),
    ) -> None:
        self._engine, self._task, self._worker_limit, self._report = engine, task, workers, report
        self._ahead, self._show = ahead, show
        self._slots: list[_Slot[AnyWorker, Row]] = []
        self._todo: deque[_Batch[Row]] = deque()
        self._waiting: list[_Batch[Row]] = []  # for an answer or to be yielded, in order
        self._bad_starts = self._deaths = self._failed = 0

    def __enter__(self) -> Pool[AnyWorker, Row, Item]:
        return self

    def __exit__(self, *error: object) -> None:
        for slot in self._slots:
            slot.worker.stop()
        self._engine.close()

    def answers(self, batches: Iterable[Sequence[Row | Reject]]) -> Iterator[Answer]:
        """Yield the results in order, one for each batch or for each part of a batch that killed workers.

        Batches are read only as fast as workers process them.

        Raises:
            JobFailedError: If too many workers die or too many rows fail.
            NerseryError: If no worker can continue.
        """
        source, waiting = iter(batches), self._waiting
        window, has_more = self._worker_limit * self._ahead + 1, True
        while has_more or waiting:
            if has_more and len(waiting) < window:
                rows = next(source, None)
                if rows is None:
                    has_more = False
                else:
                    self._add(rows)
            self._assign()
            while waiting and (answer := waiting[0].answer) is not None:
                del waiting[0]
                self._count_failures(answer.tally)
                yield answer
            if waiting:  # if there is room for another batch, only check for answers, else wait for one
                self._receive(0 if has_more and len(waiting) < window else None)

    def answers_in_any_order(
        self, next_batch: Callable[[], Sequence[Row | Reject] | None]
    ) -> Iterator[tuple[Sequence[Row | Reject], Answer]]:
        """Yield batches or parts of them with their results as they finish, for batches that depend on earlier ones.

        Args:
            next_batch: Returns a batch that may start now, or None. It is called whenever a worker has nothing to do.

        Raises:
            JobFailedError: If too many workers die.
            NerseryError: If no worker can continue.
        """
        while True:
            while len(self._waiting) < self._worker_limit and (rows := next_batch()) is not None:
                self._add(rows)
            if not self._waiting:
                return
            self._assign()
            for batch in self._waiting:
                if batch.answer is not None:
                    self._waiting.remove(batch)
                    yield batch.rows, batch.answer
                    break
            else:
                self._receive(None)

    def _add(self, rows: Sequence[Row | Reject]) -> None:
        self._waiting.append(_Batch(rows))
        self._todo.append(self._waiting[-1])

    def _assign(self) -> None:
        """Assign batches to workers, idle workers first. Start a worker for each remaining batch, up to the limit."""
        while self._todo:
            free = [slot for slot in self._slots if slot.is_ready and len(slot.batches) < self._ahead]
            if not free:
                break
            slot = min(free, key=lambda slot: len(slot.batches))
            slot.batches.append(self._todo.popleft())
            slot.worker.send(pickle.dumps(slot.batches[-1].rows, pickle.HIGHEST_PROTOCOL))
        room = (1 if self._task.is_first else self._worker_limit) - len(self._slots)
        starting = sum(not slot.is_ready for slot in self._slots)
        for _ in range(min(room, len(self._todo) - starting)):
            self._slots.append(_Slot(self._engine.start(_pickled(self._task))))

    def _receive(self, seconds: float | None) -> None:
        by_worker = {id(slot.worker): slot for slot in self._slots if slot.batches or not slot.is_ready}
        for worker in self._engine.wait([slot.worker for slot in by_worker.values()], seconds):
            slot = by_worker[id(worker)]
            try:
                message = worker.receive()
            except WorkerDiedError as death:
                self._replace_dead(slot, death)
                continue
            if isinstance(message, Exception):
                raise message
            if isinstance(message, Note):
                warn(message.text)
            elif isinstance(message, PythonWarning):
                warnings.warn_explicit(message.text, message.category, message.file, message.line)
            elif isinstance(message, str):
                self._show(message, slot.batches[0].rows if slot.batches else ())
            elif isinstance(message, Ready):
                slot.is_ready, self._bad_starts = True, 0
                self._task = replace(self._task, is_first=False)
            else:
                slot.batches.popleft().answer = message

    def _replace_dead(self, slot: _Slot[AnyWorker, Row], death: WorkerDiedError) -> None:
        slot.worker.stop()
        self._slots.remove(slot)
        reason = str(death)
        if not slot.is_ready:
            self._bad_starts += not death.with_its_node
            if self._bad_starts == MAX_BAD_STARTS:
                raise JobFailedError(
                    f"{MAX_BAD_STARTS} workers in a row died before they were ready, the last one: {reason}. Each "
                    'worker imports the script: it must be a file, and start workers under if __name__ == "__main__". '
                    "If memory was short, use fewer workers or a smaller model"
                )
            self._report(f"a worker died before it was ready: {reason}; another one replaces it")
            return
        # The worker was processing its first batch. The others only waited: they go back to the front in order.
        self._todo.extendleft(reversed(slot.batches))
        if slot.batches:
            self._todo.popleft()
            self._todo.extendleft(reversed(self._batches_to_retry(slot.batches[0], reason)))

    def _batches_to_retry(self, batch: _Batch[Row], reason: str) -> Sequence[_Batch[Row]]:
        """The batches to repeat after a worker died of one: the same batch after a first death, perhaps by chance."""
        self._deaths += 1
        row, stage = batch.rows[0], self._task.stage
        name = sentence_name(row.sentence) if isinstance(row, Reject) else stage.row_name(row)
        is_one = len(batch.rows) == 1
        location = f"at {name}" if is_one else f"at {len(batch.rows)} rows starting with {name}"
        if self._deaths == MAX_DEATHS:
            raise JobFailedError(
                f"{MAX_DEATHS} workers died, the last one {location}: {reason}. Finished shards are kept: the same "
                "command resumes"
            )
        batch.tries_left -= 1
        if batch.tries_left:
            self._report(f"a worker died {location}: {reason}; {'it is' if is_one else 'they are'} retried")
            return [batch]
        if not is_one:
            self._report(f"a worker died {location}: {reason}; they are retried in halves")
            return self._halved(batch)
        self._report(f"{TRIES} workers died {location}: {reason}; it is rejected")
        sentence = row.sentence if isinstance(row, Reject) else stage.sentence_of(row)
        reject, tally = Reject(f"{FAILED}a worker died of it: {reason}", sentence), Tally()
        tally.add(reject)
        batch.answer = Answer(1, stage.blank.encode(), io.reject_line(reject).encode(), tally)
        return []

    def _halved(self, batch: _Batch[Row]) -> Sequence[_Batch[Row]]:
        """Replace a batch by its halves, and return them."""
        middle, place = len(batch.rows) // 2, self._waiting.index(batch)
        # A half is tried once, because its batch has already killed workers. A single row gets a second chance.
        halves = [_Batch(part, TRIES if len(part) == 1 else 1) for part in (batch.rows[:middle], batch.rows[middle:])]
        self._waiting[place : place + 1] = halves
        return halves

    def _count_failures(self, tally: Tally) -> None:
        failed = {reason: count for reason, count in tally.reasons.items() if reason.startswith(FAILED)}
        self._failed += sum(failed.values())
        if self._failed > MAX_FAILED:
            raise JobFailedError(
                f"more than {MAX_FAILED:,} rows failed, the last for this reason: {[*failed][-1]}. Fix the "
                "method or its input. Finished shards are kept"
            )
