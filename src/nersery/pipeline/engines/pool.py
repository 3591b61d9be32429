"""Hands batches to workers and gives their answers in order; a worker that dies costs no row.

The batch that a dead worker was at goes to another one. If that dies of it too, the batch is halved, until the row that
kills is alone: it is rejected with the reason, and the job goes on.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Generic

from nersery import io
from nersery.core.errors import printable
from nersery.core.outcome import Reject, Tally
from nersery.pipeline.engines.worker import Orders
from nersery.pipeline.error_policy import FAILED, MOST_FAILED, JobFailedError
from nersery.pipeline.stage import (
    Answer,
    AnyWorker,
    Engine,
    Failure,
    Item,
    Ready,
    Row,
    WorkerDiedError,
)

TRIES = 2
"""How many workers may die of a batch before it is halved, and of a row before it is rejected."""
MOST_BAD_STARTS = 3
"""How many workers in a row may die before they are ready."""
MOST_DEATHS = 100
AHEAD = 2
"""Batches that lie with a worker, so that it has the next one at hand."""


@dataclass
class _Piece(Generic[Row]):
    """A batch, or a part of one."""

    rows: Sequence[Row | Reject]
    tries: int = TRIES
    answer: Answer | None = None
    halves: tuple[_Piece[Row], ...] = ()

    def whole_answer(self) -> Answer | None:
        """The answer to all of it, once that is there."""
        if not self.halves:
            return self.answer
        first, second = (half.whole_answer() for half in self.halves)
        return first + second if first is not None and second is not None else None

    def halve(self) -> tuple[_Piece[Row], ...]:
        middle = len(self.rows) // 2
        parts = (self.rows[:middle], self.rows[middle:])
        self.halves = tuple(_Piece(part, TRIES if len(part) == 1 else 1) for part in parts)
        return self.halves


@dataclass(eq=False)
class _Hand(Generic[AnyWorker, Row]):
    """A worker and what lies with it, the piece that it is at first."""

    worker: AnyWorker
    is_ready: bool = False
    pieces: deque[_Piece[Row]] = field(default_factory=deque)


class Pool(Generic[AnyWorker, Row, Item]):
    """Workers at one stage, started as they are needed.

    Args:
        engine: Starts the workers; closed with the pool.
        orders: What the first worker is told.
        workers: How many may be at work at a time.
        say: Is told what happens to workers.
    """

    def __init__(
        self, engine: Engine[AnyWorker], orders: Orders[Row, Item], workers: int, say: Callable[[str], None]
    ) -> None:
        self._engine, self._orders, self._most, self._say = engine, orders, workers, say
        self._hands: list[_Hand[AnyWorker, Row]] = []
        self._todo: deque[_Piece[Row]] = deque()
        self._bad_starts = self._deaths = self._failed = 0

    def __enter__(self) -> Pool[AnyWorker, Row, Item]:
        """The pool itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop all workers at once, whatever they are doing."""
        for hand in self._hands:
            hand.worker.stop()
        self._engine.close()

    def answers(self, batches: Iterable[Sequence[Row | Reject]]) -> Iterator[Answer]:
        """One answer for each batch, in order; batches are taken as workers can take them.

        Raises:
            JobFailedError: When too many workers die or too many rows fail.
            NerseryError: Whatever keeps the workers from their work.
        """
        source, waiting = iter(batches), deque[_Piece[Row]]()
        window, has_more = self._most * AHEAD + 1, True
        while has_more or waiting:
            if has_more and len(waiting) < window:
                rows = next(source, None)
                if rows is None:
                    has_more = False
                else:
                    waiting.append(_Piece(rows))
                    self._todo.append(waiting[-1])
            self._hand_out()
            while waiting and (answer := waiting[0].whole_answer()) is not None:
                waiting.popleft()
                self._count_failures(answer.tally)
                yield answer
            if waiting:
                self._listen(0 if has_more and len(waiting) < window else None)

    def _hand_out(self) -> None:
        """Give each worker what it can take, the idle ones first, and start those that are missing."""
        while self._todo:
            free = [hand for hand in self._hands if hand.is_ready and len(hand.pieces) < AHEAD]
            if not free:
                break
            hand = min(free, key=lambda hand: len(hand.pieces))
            hand.pieces.append(self._todo.popleft())
            hand.worker.send(pickle.dumps(hand.pieces[-1].rows, pickle.HIGHEST_PROTOCOL))
        while self._todo and len(self._hands) < (1 if self._orders.is_first else self._most):
            self._hands.append(_Hand(self._engine.start(pickle.dumps(self._orders))))

    def _listen(self, seconds: float | None) -> None:
        """Take what workers have said."""
        by_worker = {id(hand.worker): hand for hand in self._hands if hand.pieces or not hand.is_ready}
        for worker in self._engine.wait([hand.worker for hand in by_worker.values()], seconds):
            hand = by_worker[id(worker)]
            try:
                message = worker.receive()
            except WorkerDiedError as death:
                self._bury(hand, str(death))
                continue
            if isinstance(message, Failure):
                raise message.error
            if isinstance(message, Ready):
                hand.is_ready, self._bad_starts = True, 0
                self._orders = replace(self._orders, is_first=False)
            else:
                hand.pieces.popleft().answer = message

    def _bury(self, hand: _Hand[AnyWorker, Row], reason: str) -> None:
        """Put back what lay with a dead worker."""
        hand.worker.stop()
        self._hands.remove(hand)
        if not hand.is_ready:
            self._bad_starts += 1
            if self._bad_starts == MOST_BAD_STARTS:
                raise JobFailedError(
                    f"{MOST_BAD_STARTS} workers in a row died before they were ready, the last one: {reason}. If that "
                    "was for want of memory, take fewer workers or a smaller model"
                )
            self._say(f"a worker died before it was ready: {reason}; another one takes its place")
            return
        self._todo.extendleft(reversed(hand.pieces))
        if hand.pieces:
            self._todo.popleft()
            self._todo.extendleft(reversed(self._after_death(hand.pieces[0], reason)))

    def _after_death(self, piece: _Piece[Row], reason: str) -> Sequence[_Piece[Row]]:
        """What is to be done again of the piece that a worker died of, perhaps by chance."""
        self._deaths += 1
        place = f"at {len(piece.rows)} rows from {self._name(piece.rows[0])} on"
        if self._deaths == MOST_DEATHS:
            raise JobFailedError(
                f"{MOST_DEATHS} workers died, the last one {place}: {reason}. Finished shards are kept: the same "
                "command goes on from there"
            )
        piece.tries -= 1
        if piece.tries:
            self._say(f"a worker died {place}: {reason}; they are done again")
            return [piece]
        if len(piece.rows) > 1:
            self._say(f"a worker died {place}: {reason}; they are done again in halves")
            return piece.halve()
        self._say(f"{TRIES} workers died {place}: {reason}; it is rejected")
        piece.answer = self._rejected(piece.rows[0], f"{FAILED}a worker died of it: {reason}")
        return []

    def _rejected(self, row: Row | Reject, reason: str) -> Answer:
        reject = Reject(reason, self._sentence_of(row))
        tally = Tally()
        tally.add(reject)
        return Answer(1, self._orders.stage.blank.encode(), io.reject_line(reject).encode(), tally)

    def _sentence_of(self, row: Row | Reject) -> Any:
        return row.sentence if isinstance(row, Reject) else self._orders.stage.sentence_of(row)

    def _name(self, row: Row | Reject) -> str:
        sentence = self._sentence_of(row)
        return printable(sentence.id) if sentence is not None and sentence.id else "a row without a name"

    def _count_failures(self, tally: Tally) -> None:
        failed = {reason: count for reason, count in tally.reasons.items() if reason.startswith(FAILED)}
        self._failed += sum(failed.values())
        if self._failed > MOST_FAILED:
            raise JobFailedError(
                f"more than {MOST_FAILED:,} rows failed, the last for this reason: {[*failed][-1]}. That many are no "
                "odd rows: mend the method or its input. Finished shards are kept"
            )
