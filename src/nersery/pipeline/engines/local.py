"""Workers as processes of this machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from queue import SimpleQueue
from threading import Thread

from nersery.pipeline.engines.worker import Desk
from nersery.pipeline.stage import Failure, Message, WorkerDiedError

SECONDS_TO_END = 10.0


class LocalEngine:
    """Starts processes; a script that uses it needs ``if __name__ == "__main__":``, since each imports it."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")

    def start(self, orders: bytes) -> LocalWorker:
        """A new process; see `nersery.pipeline.stage.Engine`."""
        return LocalWorker(self._context, orders)

    def wait(self, workers: Sequence[LocalWorker], seconds: float | None) -> list[LocalWorker]:
        """Those who have said something or died."""
        by_connection = {id(worker.connection): worker for worker in workers}
        spoken = wait([worker.connection for worker in workers], seconds)
        return [by_connection[id(connection)] for connection in spoken]

    def close(self) -> None:
        """There is nothing to give back."""


class LocalWorker:
    """A process at the other end of a pipe."""

    def __init__(self, context: SpawnContext, orders: bytes) -> None:
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, orders), daemon=True)
        with _deaf_to_ctrl_c():
            self._process.start()
        theirs.close()

    def send(self, rows: bytes) -> None:
        """Hand over a batch; the worker takes it off the pipe even while it works."""
        with contextlib.suppress(OSError):  # it died, as `receive` will tell
            self.connection.send_bytes(rows)

    def receive(self) -> Message:
        """The next message.

        Raises:
            WorkerDiedError: With the signal or the exit code.
        """
        try:
            message: Message = self.connection.recv()
        except (EOFError, OSError):
            self._process.join(SECONDS_TO_END)
            raise WorkerDiedError(_ending(self._process.exitcode)) from None
        return message

    def stop(self) -> None:
        """Kill the process."""
        self.connection.close()
        self._process.kill()
        self._process.join()


@contextlib.contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """What is started meanwhile does not hear of Ctrl-C, not even while it starts: whoever started it does."""
    resource_tracker.ensure_running()  # its own start, which a process' start would bring about, ends any such deafness
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ending(code: int | None) -> str:
    if code is None:
        return "it closed its pipe and went on"
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    memory = ", as for want of memory" if name == "SIGKILL" else ""
    return f"killed by signal {-code} ({name}{memory})"


def _serve(connection: Connection, orders: bytes) -> None:
    """What a worker does: answer batches until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # should a library let signals through again
    inbox: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_take, args=(connection, inbox), daemon=True).start()
    desk = Desk(orders)
    ready = desk.prepare()
    with contextlib.suppress(OSError):  # nobody listens any more, and that ends it
        connection.send(ready)
        while not isinstance(ready, Failure):
            connection.send(desk.answer(inbox.get()))


def _take(connection: Connection, inbox: SimpleQueue[bytes]) -> None:
    """Take batches off the pipe; at its end, whatever the worker is doing is for nobody."""
    try:
        while True:
            inbox.put(connection.recv_bytes())
    except (EOFError, OSError):
        os._exit(0)
