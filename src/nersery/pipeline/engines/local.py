"""Workers as processes of this machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from queue import SimpleQueue
from threading import Thread

from nersery.core.errors import SettingsError
from nersery.core.progress import shown_by
from nersery.core.system.process_settings import THREADS, tune_process
from nersery.core.warnings import passed_on
from nersery.pipeline.engines.base import Message, Note, PythonWarning, WorkerDiedError
from nersery.pipeline.engines.worker import MessageHandler

SECONDS_TO_END = 10.0
SAFE_PATH = "PYTHONSAFEPATH"
"""Keeps a new process from importing a file of the current folder, such as signal.py, in place of a module of Python.
Once it has started, multiprocessing gives it the ``sys.path`` of its parent."""


def refuse_where_none_can_start(instead: str) -> None:
    """Raise `SettingsError` if multiprocessing cannot start processes from this one, before there is work to lose.

    Args:
        instead: What to use in place of workers.
    """
    main, parent = sys.modules.get("__mp_main__"), multiprocessing.parent_process()
    if parent is None and getattr(main, "__name__", "") == "__mp_main__":  # the name of a script that a worker imports
        raise SettingsError(
            "each worker imports this script, so it must not start workers on import. Put the code that starts them "
            'under if __name__ == "__main__":'
        )
    if multiprocessing.current_process().daemon:
        raise SettingsError(
            "this process cannot start others, because it is daemonic, like those of multiprocessing.Pool. Use "
            f"{instead}, or a concurrent.futures.ProcessPoolExecutor in place of the pool"
        )


class LocalEngine:
    """Starts processes. Each imports the main script, which therefore needs ``if __name__ == "__main__":``.

    Args:
        threads: Threads of each process. None keeps the number that the environment sets, or else one.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._variables = {SAFE_PATH: "1"} | ({} if threads is None else {THREADS: str(threads)})

    def start(self, task: bytes) -> LocalWorker:
        """Start a new process; see `nersery.pipeline.engines.base.Engine`."""
        with _environment(self._variables):
            return LocalWorker(self._context, task)

    def wait(self, workers: Sequence[LocalWorker], seconds: float | None) -> list[LocalWorker]:
        """See `nersery.pipeline.engines.base.Engine`."""
        by_connection = {id(worker.connection): worker for worker in workers}
        ready = wait([worker.connection for worker in workers], seconds)
        return [by_connection[id(connection)] for connection in ready]

    def close(self) -> None:
        """Nothing to release."""


class LocalWorker:
    """A process at the other end of a pipe, with its own folder for temporary files, so that a kill leaves none."""

    def __init__(self, context: SpawnContext, task: bytes) -> None:
        self.connection, child_end = context.Pipe()
        self._folder = tempfile.TemporaryDirectory(prefix="nersery-", ignore_cleanup_errors=True)
        self._process = context.Process(target=_serve, args=(child_end, task, self._folder.name), daemon=True)
        with _ignoring_ctrl_c():
            self._process.start()
        child_end.close()

    def send(self, rows: bytes) -> None:
        """Send a batch; the worker reads the pipe even while it is busy."""
        with contextlib.suppress(OSError):  # it died; `receive` reports that
            self.connection.send_bytes(rows)

    def receive(self) -> Message:
        """The next message. Raises `WorkerDiedError` with the signal or the exit code if the process has ended."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            self._process.join(SECONDS_TO_END)
            raise WorkerDiedError(_cause_of_death(self._process.exitcode)) from None

    def stop(self) -> None:
        """Kill the process, and remove its temporary files."""
        self.connection.close()
        self._process.kill()
        self._process.join()
        self._folder.cleanup()


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set these environment variables in processes started within this block.

    They must be set from the start, because a new process imports the main script, perhaps with torch, before `_serve`.
    """
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _ignoring_ctrl_c() -> Iterator[None]:
    """Keep Ctrl-C from processes started within this block, even while they start. Their parent handles it."""
    resource_tracker.ensure_running()  # starting it later would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _cause_of_death(code: int | None) -> str:
    if code is None:
        return "it closed its pipe but is still running"
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    memory = ", perhaps out of memory" if name == "SIGKILL" else ""
    return f"killed by signal {-code} ({name}{memory})"


def _serve(connection: Connection, task: bytes, folder: str) -> None:
    """Main function of a worker process: process batches until the pipe closes."""
    del os.environ[SAFE_PATH]  # a program that this process starts may need its own folder
    tempfile.tempdir = folder
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # in case a library unblocks signals
    tune_process()
    # A thread empties the pipe all the time. With a full pipe, both ends could wait for each other forever.
    inbox: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_read_pipe, args=(connection, inbox, folder), daemon=True).start()
    handler = MessageHandler(task)

    def send_warning(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object, **__: object
    ) -> None:
        known = category if category.__module__ == "builtins" else UserWarning  # others may not exist in the parent
        connection.send(PythonWarning(str(message), known, filename, lineno))

    warnings.showwarning = send_warning
    with (
        contextlib.suppress(OSError),  # the parent closed the pipe
        shown_by(connection.send),
        passed_on(lambda text: connection.send(Note(text))),
    ):
        ready = handler.prepare()
        connection.send(ready)
        if isinstance(ready, Exception):
            return
        while True:
            connection.send(handler.answer(inbox.get()))


def _read_pipe(connection: Connection, inbox: SimpleQueue[bytes], folder: str) -> None:
    """Read batches from the pipe. When it closes, end the process at once, because nobody needs its results."""
    try:
        while True:
            inbox.put(connection.recv_bytes())
    except (EOFError, OSError):
        shutil.rmtree(folder, ignore_errors=True)  # the parent may have been killed
        os._exit(0)
