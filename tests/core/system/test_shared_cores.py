from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nersery.core.system import shared_cores
from nersery.core.system.shared_cores import CoreWatch, can_be_watched

MAX_WAIT = 20.0


def wait_until(reached: Callable[[], bool]) -> bool:
    end = time.monotonic() + MAX_WAIT
    while not reached() and time.monotonic() < end:
        time.sleep(0.005)
    return reached()


class Cores:
    """Cores on which a thread waits for a share of the time."""

    def __init__(self) -> None:
        self.share, self.calls = 0.0, 0
        self._waited, self._last = 0.0, time.monotonic()

    def waited(self) -> dict[str, float]:
        now = time.monotonic()
        self._waited, self._last = self._waited + self.share * (now - self._last), now
        self.calls += 1
        return {"waiting": self._waited, "running": 0.0}


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> Cores:
    cores = Cores()
    monkeypatch.setattr(shared_cores, "_waited", cores.waited)
    monkeypatch.setattr(shared_cores, "INTERVAL", 0.005)
    return cores


@pytest.fixture
def watch(cores: Cores) -> Iterator[CoreWatch]:
    pytest.importorskip("torch")
    watch = CoreWatch()
    yield watch
    watch.close()


def test_threads_sleep_while_other_processes_need_the_cores(cores: Cores, watch: CoreWatch) -> None:
    before = threading.active_count()
    cores.share = 0.5
    assert wait_until(lambda: watch._team is not None)
    assert threading.active_count() == before + 1
    cores.share = 0.0
    assert wait_until(lambda: watch._team is None)
    assert threading.active_count() == before


def test_ignores_a_small_change(cores: Cores, watch: CoreWatch) -> None:
    cores.share = 0.07
    assert not reached_within(cores, 20, lambda: watch._team is not None)
    cores.share = 0.5
    assert wait_until(lambda: watch._team is not None)
    cores.share = 0.07  # threads that sleep wait less
    assert not reached_within(cores, 20, lambda: watch._team is None)


def reached_within(cores: Cores, count: int, reached: Callable[[], bool]) -> bool:
    """Whether the condition is reached within some intervals."""
    first = cores.calls
    assert wait_until(lambda: reached() or cores.calls >= first + count)
    return reached()


def test_a_closed_watch_leaves_no_thread(cores: Cores) -> None:
    pytest.importorskip("torch")
    before = threading.active_count()
    watch = CoreWatch()
    cores.share = 0.5
    assert wait_until(lambda: watch._team is not None)
    watch.close()
    assert threading.active_count() == before


def test_without_numeric_libraries_there_is_nothing_to_do(cores: Cores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(shared_cores.sys.modules, "torch", raising=False)
    watch = CoreWatch()
    cores.share = 0.5
    assert not reached_within(cores, 20, lambda: watch._team is not None)
    watch.close()


@pytest.mark.skipif(not can_be_watched(), reason="the system does not tell how long threads wait")
def test_measures_waiting_of_each_thread_while_threads_start_and_end() -> None:
    ended, began = threading.Event(), time.monotonic()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    during = shared_cores._waited()
    ended.set()
    thread.join()
    assert {str(os.getpid()), str(thread.native_id)} <= during.keys()
    assert 0 <= during[str(thread.native_id)] < time.monotonic() - began
    assert wait_until(lambda: str(thread.native_id) not in shared_cores._waited())


def test_cannot_watch_other_systems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shared_cores, "TASKS", tmp_path)
    assert not can_be_watched()


@pytest.mark.parametrize(
    ("quota", "schedstat", "watched"),
    [
        ("max 100000", "1 2 3\n", True),
        ("-1", "1 2 3\n", True),
        ("", "1 2 3\n", True),
        ("150000 100000", "1 2 3\n", False),
        ("200000", "1 2 3\n", False),
        ("-1", "0 0 0\n", False),  # the kernel does not count
    ],
)
def test_does_not_watch_if_a_quota_hides_waiting(
    quota: str, schedstat: str, watched: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    task = tmp_path / str(os.getpid())
    task.mkdir()
    (task / "schedstat").write_text(schedstat, "ascii")
    (tmp_path / "quota").write_text(quota, "ascii")
    monkeypatch.setattr(shared_cores, "TASKS", tmp_path)
    monkeypatch.setattr(shared_cores, "QUOTAS", (tmp_path / "missing", tmp_path / "quota"))
    assert can_be_watched() == watched
