"""Columns of the report's tables: how a value is written for readers, and how for CSV."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nersery.report.number_format import count, counts, in_minutes, p_value, percent, signed


def points(fraction: float | None) -> float | None:
    """A fraction in percent points with all digits that may matter.

    >>> points(0.48312345), points(None)
    (48.3123, None)
    """
    return None if fraction is None else round(100 * fraction, 4)


def _itself(value: Any) -> tuple[Any, ...]:
    return (value,)


@dataclass(frozen=True)
class Kind:
    """How the values of a column are written.

    Args:
        shown: For readers.
        plain: For CSV: a value for each of the parts.
        parts: What the headings in CSV end with.
        style: How the page marks it: ``type`` as a chip, ``gap`` shaded, ``interval`` with a bar, ``text`` aligned.
    """

    shown: Callable[[Any], str] = str
    plain: Callable[[Any], tuple[Any, ...]] = _itself
    parts: tuple[str, ...] = ("",)
    style: str = ""


def _mean_and_deviation(measure: Any) -> tuple[Any, ...]:
    return points(measure.mean), points(measure.std)


TEXT = Kind(style="text")
NAME = Kind(style="name")
TYPE = Kind(style="type")
COUNT = Kind(count)
COUNTS = Kind(counts, lambda values: (" ".join(map(str, values)),))
"""A number for each seed."""
POINTS = Kind(percent, lambda value: (points(value),))
GAIN = Kind(signed, lambda value: (points(value),))
P_VALUE = Kind(p_value)
DURATION = Kind(in_minutes, lambda seconds: (seconds and round(seconds, 1),), (" (s)",))
MEASURE = Kind(str, _mean_and_deviation, ("", " std"))
GAP = Kind(lambda pair: str(pair[0]), lambda pair: _mean_and_deviation(pair[0]), ("", " std"), "gap")
"""A measure, and the mean that it is compared with or None."""
LENGTH = Kind(lambda one: one.in_words, lambda one: (one.mean, one.std), ("", " std"))
INTERVAL = Kind(
    lambda one: one.interval, lambda one: (points(one.low), points(one.high)), (" low", " high"), "interval"
)


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Args:
        remark: A sentence below the table that defines the number.
    """

    heading: str
    kind: Kind = COUNT
    remark: str = ""
