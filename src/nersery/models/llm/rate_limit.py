"""The times of requests: limits per minute, pauses that the server asks for, and growing pauses after errors.

The client of openai could repeat requests itself. But it would pause one thread while the others run into the limit,
give up if a server asks for more than two minutes, sleep on when the job stops, and accept a web page as an answer.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

from nersery.core.errors import JobFailedError

MAX_PAUSE = 60.0
"""The most seconds of a pause that the server did not ask for."""
MAX_WAIT = 3600.0
"""The most seconds that a server may ask for."""


class RateLimiter:
    """Spaces the requests of several threads.

    Args:
        per_minute: Maximum requests in a minute; None: any number.
    """

    def __init__(self, per_minute: float | None) -> None:
        self._gap = 60 / per_minute if per_minute else 0.0
        self._next = 0.0
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def acquire(self) -> None:
        """Wait until the next request may be sent. If the job stops, a `JobFailedError` keeps it from being sent."""
        while not self._stopped.is_set():
            with self._lock:
                left = self._next - time.monotonic()
                if left <= 0:
                    self._next = time.monotonic() + self._gap
                    return
            self._stopped.wait(left)
        raise JobFailedError("the job stops")

    def pause(self, seconds: float, *, everyone: bool) -> None:
        """Wait before a request is repeated.

        Args:
            everyone: Whether other requests wait too, as after status 429.
        """
        if everyone:
            with self._lock:
                self._next = max(self._next, time.monotonic() + seconds)
        self._stopped.wait(seconds)

    def stop(self) -> None:
        """End all waiting, because the job stops."""
        self._stopped.set()


def retry_delay(attempt: int, headers: Mapping[str, str]) -> float:
    """Seconds to wait after an error: the time that the server asks for, or else about twice as long each time.

    >>> retry_delay(0, {"retry-after": "7"})
    7.0
    >>> date, later = "Mon, 01 Jan 2024 10:00:00 GMT", "Mon, 01 Jan 2024 10:00:09 GMT"
    >>> retry_delay(0, {"retry-after": later, "date": date})
    9.0
    >>> 4 <= retry_delay(3, {}) <= 8
    True
    >>> retry_delay(0, {"retry-after": "nan"}) <= 1
    True
    """
    wanted = _retry_after(headers)
    if wanted is not None:
        return min(max(wanted, 0.0), MAX_WAIT)
    return min(2.0**attempt, MAX_PAUSE) * random.SystemRandom().uniform(0.5, 1)  # `random` keeps its state


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds in the header Retry-After, which has a number or a date; None without a valid one."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
        return seconds if math.isfinite(seconds) else None
    except ValueError:
        pass
    # The server's own clock if possible, because the one here may be wrong by hours.
    for now in (headers.get("date", ""), format_datetime(datetime.now(UTC))):
        try:
            return (parsedate_to_datetime(value) - parsedate_to_datetime(now)).total_seconds()
        except (ValueError, TypeError, OverflowError):
            continue
    return None
