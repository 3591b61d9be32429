"""The time of a grow job, over all calls that resume it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nersery.core.files import write_atomic

CAUTION = 1.25
"""Estimates are this much too long on purpose."""
CLOSING, CLOSING_SHARE = 20.0, 1 / 6
"""Seconds to write the results, and the most of a short budget that is kept for that."""
LARGEST_STEP = 3.0
"""One measurement changes the factor by at most this."""

BEAT = 5.0
"""Seconds between two notes of the time that is spent: a kill loses no more."""


@dataclass
class Budget:
    """Compares estimates with the time that is left, and corrects them by what earlier work took.

    Args:
        seconds: For the whole job.
        spent: By earlier calls.
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
        """An estimate, corrected for this machine at present."""
        return estimate * self.factor

    def learn(self, estimate: float, actual: float) -> None:
        """Correct later estimates: the mean of the last factor and the latest one."""
        latest = CAUTION * actual / max(estimate, 0.1)
        latest = min(max(latest, self.factor / LARGEST_STEP), self.factor * LARGEST_STEP)
        self.factor = (self.factor + latest) / 2

    @contextlib.contextmanager
    def noted(self, path: Path) -> Iterator[None]:
        """Within it, note the seconds since the job began in a file now and then."""
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
    """What `Budget.noted` has noted; 0 without such a file."""
    try:
        return float(path.read_text("utf-8"))
    except (OSError, ValueError):
        return 0.0
