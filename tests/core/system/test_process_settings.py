from __future__ import annotations

import os
import subprocess
import sys

import pytest

from nersery.core.errors import SettingsError
from nersery.core.system import process_settings
from nersery.core.system.process_settings import THREADS, wanted_threads
from nersery.core.system.shared_cores import can_be_watched


@pytest.fixture
def watches(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The watches that would have been started."""
    started: list[object] = []

    class Watch:
        def __init__(self) -> None:
            started.append(self)

        def close(self) -> None: ...

    monkeypatch.setattr(process_settings.gc, "set_threshold", lambda *_: None)
    monkeypatch.setattr(process_settings, "_is_tuned", [])
    monkeypatch.setattr(process_settings, "CoreWatch", Watch)
    monkeypatch.setattr(process_settings, "cores", lambda: 8)
    monkeypatch.setattr(process_settings, "can_be_watched", lambda: True)
    monkeypatch.setattr(process_settings.atexit, "register", lambda *_: None)
    return started


@pytest.mark.parametrize(
    ("given", "expected", "watched"),
    [
        ({}, "20000", True),
        ({"OMP_NUM_THREADS": "8"}, "20000", True),
        ({"OMP_NUM_THREADS": "2"}, "2000", False),  # a second team would not make more threads than cores
        ({"GOMP_SPINCOUNT": "20000", "OMP_NUM_THREADS": "1"}, "2000", False),  # from a parent process
        ({"GOMP_SPINCOUNT": "7"}, "7", False),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, None, False),
    ],
)
def test_sets_how_long_threads_spin_unless_the_user_does(
    given: dict[str, str], expected: str | None, watched: bool, watches: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", dict(given))
    process_settings.tune_process()
    assert (os.environ.get("GOMP_SPINCOUNT"), bool(watches)) == (expected, watched)


def test_threads_sleep_soon_if_waiting_times_are_unknown(
    watches: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_settings, "can_be_watched", lambda: False)
    monkeypatch.setattr(os, "environ", {})
    process_settings.tune_process()
    assert (os.environ["GOMP_SPINCOUNT"], watches) == ("2000", [])


@pytest.mark.parametrize(("value", "threads"), [(None, None), ("", None), ("4", 4), ("4,2", 4), (" 2 ", 2)])
def test_reads_the_number_of_threads_like_openmp(
    value: str | None, threads: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(THREADS) if value is None else monkeypatch.setenv(THREADS, value)
    assert wanted_threads() == threads


@pytest.mark.parametrize("value", ["0", "-1", "many", ","])
def test_refuses_an_invalid_number_of_threads(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS, value)
    with pytest.raises(SettingsError, match="expected a whole number of 1 or more"):
        wanted_threads()


def test_a_command_sets_spinning_before_importing_numeric_libraries() -> None:
    """A waiting policy would override it: training takes 1.6 times as long if threads never spin."""
    code = "from nersery.cli import main; main.with_commands = lambda: lambda: print(os.environ.get('GOMP_SPINCOUNT'))"
    code = f"import os; {code}; print(os.environ.get('OMP_WAIT_POLICY')); main._run()"
    ours = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "OMP_NUM_THREADS")
    changed = {name: value for name, value in os.environ.items() if name not in ours}
    done = subprocess.run([sys.executable, "-c", code], env=changed, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", "20000" if can_be_watched() else "2000"]
