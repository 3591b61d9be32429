"""Let waiting threads spin if cores are free, and sleep if other processes need the cores.

Threads that compute together wait for each other hundreds of times in a training step. A spinning thread continues at
once; a sleeping one must be woken. If another process has taken the core of one thread, the others spin in vain.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

TASKS = Path("/proc/self/task")
"""The folder in which Linux reports how long each thread of this process has waited for a core."""
QUOTAS = Path("/sys/fs/cgroup/cpu.max"), Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
"""The files with the processor time that a container may use per period, for both versions of control groups."""
INTERVAL = 0.25
CROWDED, FREE = 0.1, 0.05
"""How long the longest-waiting thread waits per second, in seconds. It is 0.2 to 0.7 beside a busy process, and up to
0.03 on free cores."""
CALM = 8
"""Intervals on free cores before threads spin again. The number is high because sleeping threads wait less."""
SHARED_BY_TWO = 100_000
"""The size of a sum that PyTorch computes in more than one thread."""


def can_be_watched() -> bool:
    """Whether the system reports how long threads wait for a core, and no quota makes them wait."""
    try:
        schedstat = (TASKS / str(os.getpid()) / "schedstat").read_bytes()
    except OSError:
        return False
    is_counted = not schedstat.startswith(b"0 ")
    return is_counted and not any(map(_is_limited, QUOTAS))


class CoreWatch:
    """Watches how long the threads of this process wait for a core, until `close`.

    While GNU OpenMP has more threads than cores, its waiting threads sleep at once. A second team of threads, which
    itself sleeps, switches this on and off. The environment variable `GOMP_SPINCOUNT` cannot, as it is read only once.
    """

    def __init__(self) -> None:
        self._ended, self._team_may_go = threading.Event(), threading.Event()
        self._team: threading.Thread | None = None  # while there is one, waiting threads sleep
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching. Threads that still run when Python exits could crash it."""
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # signals are for the main thread
        waited, last, calm = _waited(), time.monotonic(), 0
        while not self._ended.wait(INTERVAL):
            before, began, waited, last = waited, last, _waited(), time.monotonic()
            share = _longest_wait(before, waited) / (last - began)
            calm = calm + 1 if share < FREE else 0
            if share > CROWDED:
                self._start_team()
            elif calm >= CALM:
                self._end_team()
        self._end_team()

    def _start_team(self) -> None:
        if self._team is None and "torch" in sys.modules:
            self._team_may_go.clear()
            self._team = threading.Thread(target=self._hold_team, daemon=True)
            self._team.start()

    def _hold_team(self) -> None:
        import torch  # waits if the main thread is importing it

        torch.ones(SHARED_BY_TWO, device="cpu").sum()
        self._team_may_go.wait()

    def _end_team(self) -> None:
        if self._team is not None:
            self._team_may_go.set()
            self._team.join()
            self._team = None


def _longest_wait(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """The seconds that the longest-waiting thread waited between two measurements."""
    return max((seconds - before.get(thread, seconds) for thread, seconds in after.items()), default=0.0)


def _is_limited(quota: Path) -> bool:
    try:
        return quota.read_text("ascii").split()[0] not in ("max", "-1")
    except (OSError, IndexError):
        return False


def _waited() -> dict[str, float]:
    """For each thread of this process, the seconds in which it was ready to run but had no core."""
    waited = {}
    try:
        threads = os.listdir(TASKS)
    except OSError:  # too many open files
        return {}
    for thread in threads:
        with contextlib.suppress(OSError):  # the thread has ended
            waited[thread] = int((TASKS / thread / "schedstat").read_bytes().split()[1]) / 1e9
    return waited
