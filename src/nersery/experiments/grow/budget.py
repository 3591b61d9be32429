"""The time of a grow job, over all calls that resume it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nersery.core.system.files import write_atomic

CAUTION = 1.25
"""The factor by which estimates are too long on purpose."""
CLOSING, CLOSING_SHARE = 20.0, 1 / 6
"""Seconds that are kept for writing the results, and the maximum share of a short budget for that."""
MAX_STEP = 3.0
"""One measurement changes the correction factor by at most this ratio."""

BEAT = 5.0
"""Seconds between two notes of the time spent. A kill loses no more than this."""


@dataclass
class Budget:
    """Compares estimates with the time that is left, and corrects them by what earlier work took.

    Args:
        seconds: Seconds for the whole job.
        spent: Seconds that earlier calls spent.
    """

    seconds: float
    spent: float = 0.0
    factor: float = CAUTION
    _began: float = field(default_factory=time.monotonic)

    @property
    def used(self) -> float:
        """Seconds since the job began."""
        return self.spent + time.monotonic() - self._began

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.seconds - self.used

    @property
    def closing(self) -> float:
        """Seconds to keep for writing the results, not corrected yet."""
        return min(CLOSING, CLOSING_SHARE * self.seconds)

    def expected(self, estimate: float) -> float:
        """An estimate, corrected for the present speed of this machine."""
        return estimate * self.factor

    def learn(self, estimate: float, actual: float) -> None:
        """Correct later estimates: the new factor is the mean of the previous one and the latest measurement."""
        latest = CAUTION * actual / max(estimate, 0.1)
        latest = min(max(latest, self.factor / MAX_STEP), self.factor * MAX_STEP)
        self.factor = (self.factor + latest) / 2

    @contextlib.contextmanager
    def noted(self, path: Path) -> Iterator[None]:
        """Regularly note the seconds since the job began in a file, while the context is open."""
        ended = threading.Event()

        def note() -> None:
            while not ended.wait(BEAT):
                with contextlib.suppress(OSError):  # a full disk, or a folder that was removed, stops the work itself
                    write_atomic(path, f"{self.used:.1f}\n")

        thread = threading.Thread(target=note, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def noted_seconds(path: Path) -> float:
    """The seconds that `Budget.noted` has noted; 0 if there is no such file."""
    try:
        return float(path.read_text("utf-8"))
    except (OSError, ValueError):
        return 0.0
