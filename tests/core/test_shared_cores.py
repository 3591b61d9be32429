from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nersery.core import shared_cores
from nersery.core.shared_cores import CoreWatch, can_be_watched

LONGEST_WAIT = 20.0


def until(reached: Callable[[], bool]) -> bool:
    end = time.monotonic() + LONGEST_WAIT
    while not reached() and time.monotonic() < end:
        time.sleep(0.005)
    return reached()


class Cores:
    """Cores on which each thread waits a share of the time."""

    def __init__(self) -> None:
        self.share, self.calls = 0.0, 0
        self._waited, self._last = 0.0, time.monotonic()

    def waited(self) -> float:
        now = time.monotonic()
        self._waited, self._last = self._waited + self.share * (now - self._last), now
        self.calls += 1
        return self._waited


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
    assert until(lambda: watch.is_crowded)
    assert threading.active_count() == before + 1
    cores.share = 0.0
    assert until(lambda: not watch.is_crowded)
    assert threading.active_count() == before


def test_a_short_or_small_change_is_none(cores: Cores, watch: CoreWatch) -> None:
    cores.share = 0.1
    assert not until_calls(cores, 20, lambda: watch.is_crowded)
    cores.share = 0.5
    assert until(lambda: watch.is_crowded)
    cores.share = 0.1  # threads that sleep wait less
    assert not until_calls(cores, 20, lambda: not watch.is_crowded)


def until_calls(cores: Cores, count: int, reached: Callable[[], bool]) -> bool:
    """Whether it was reached within some intervals."""
    first = cores.calls
    assert until(lambda: reached() or cores.calls >= first + count)
    return reached()


def test_a_closed_watch_leaves_no_thread(cores: Cores) -> None:
    pytest.importorskip("torch")
    before = threading.active_count()
    watch = CoreWatch()
    cores.share = 0.5
    assert until(lambda: watch.is_crowded)
    watch.close()
    assert threading.active_count() == before


def test_without_numeric_libraries_there_is_nothing_to_do(cores: Cores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(shared_cores.sys.modules, "torch", raising=False)
    watch = CoreWatch()
    cores.share = 0.5
    assert not until_calls(cores, 20, lambda: watch.is_crowded)
    watch.close()


@pytest.mark.skipif(not can_be_watched(), reason="the system does not tell how long threads wait")
def test_waiting_is_counted_while_threads_come_and_go() -> None:
    spans = [shared_cores._waited()]
    for _ in range(5):
        thread = threading.Thread(target=lambda: None)
        thread.start()
        spans.append(shared_cores._waited())
        thread.join()
    assert all(span >= 0 for span in spans)
    assert max(later - earlier for earlier, later in itertools.pairwise(spans)) < LONGEST_WAIT


def test_other_systems_tell_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shared_cores, "TASKS", tmp_path)
    assert not can_be_watched()


@pytest.mark.parametrize(
    ("quota", "watched"), [("max 100000", True), ("-1", True), ("", True), ("150000 100000", False), ("200000", False)]
)
def test_a_quota_makes_threads_wait_unseen(
    quota: str, watched: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    task = tmp_path / str(os.getpid())
    task.mkdir()
    (task / "schedstat").write_text("1 2 3", "ascii")
    (tmp_path / "quota").write_text(quota, "ascii")
    monkeypatch.setattr(shared_cores, "TASKS", tmp_path)
    monkeypatch.setattr(shared_cores, "QUOTAS", (tmp_path / "missing", tmp_path / "quota"))
    assert can_be_watched() == watched
