import io
import sys

import pytest

from nersery.core.progress import Progress, print_line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in seconds, that `Progress` sees."""
    now = [0.0]
    monkeypatch.setattr("nersery.core.progress.time.monotonic", lambda: now[0])
    return now


def test_speed_excludes_resumed_items(clock: list[float], capsys: pytest.CaptureFixture[str]):
    with Progress("train", total=100) as progress:
        progress.advance(40, resumed=True)
        clock[0] = 10.0
        progress.advance(20, note="loss 0.5")
        assert (progress.done, progress.resumed) == (60, 40)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "train: 60/100, 2/s, 20 s left, loss 0.5\n"


def test_speed_excludes_parts_in_which_something_else_is_counted(
    clock: list[float], capsys: pytest.CaptureFixture[str]
):
    with Progress("learn", total=30) as progress:
        with progress.within("judge", 100) as part:
            clock[0] = 10.0
            part.advance(100)
        clock[0] = 12.0
        progress.advance(10)
    assert capsys.readouterr().err == "learn, judge: 100/100, 10/s\nlearn: 10/30, 5/s, 4 s left\n"


def test_a_log_gets_a_line_now_and_then(clock: list[float], capsys: pytest.CaptureFixture[str]):
    with Progress("read") as progress:
        for clock[0] in range(1, 41):
            progress.advance()
    assert capsys.readouterr().err == "read: 15, 1/s\nread: 30, 1/s\nread: 40, 1/s\n"


@pytest.mark.parametrize(("seconds", "items", "line"), [(2.0, 4400, "4400, 2,200/s"), (20.0, 3, "3, 0.15/s")])
def test_a_log_gets_no_duplicate_line(
    seconds: float, items: int, line: str, clock: list[float], capsys: pytest.CaptureFixture[str]
):
    with Progress("read") as progress:
        clock[0] = seconds
        progress.advance(items)
    assert capsys.readouterr().err == f"read: {line}\n"


def test_a_terminal_gets_one_line_that_changes(clock: list[float], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress("read", total=2) as progress:
        for clock[0] in (1.0, 2.0):
            progress.advance()
    shown = ["read: 1/2, 1/s, 1 s left", "read: 2/2, 1/s", "read: 2/2, 1/s"]
    assert sys.stderr.getvalue() == "".join(f"\r\x1b[K{text}" for text in shown) + "\n"


@pytest.mark.usefixtures("clock")
def test_quiet_counts_and_shows_nothing(clock: list[float], capsys: pytest.CaptureFixture[str]):
    with Progress("read", quiet=True) as progress:
        clock[0] = 99.0
        progress.advance(3)
    assert progress.done == 3
    assert capsys.readouterr() == ("", "")


def test_names_cannot_control_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("system \u202e", total=1) as progress:
        progress.advance()
    print_line("first\nsecond")
    name, *lines = capsys.readouterr().err.splitlines()
    assert name.startswith("system \\u202e: 1/1")
    assert lines == ["first", "second"]
