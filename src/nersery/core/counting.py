"""Counts and durations, formatted for people."""

from __future__ import annotations

MISSING = "–"
"""Shown in place of an unknown number."""


def count(value: float | None) -> str:
    """A count with thousands separators.

    >>> count(12345)
    '12,345'
    """
    return MISSING if value is None else f"{round(value):,}"


def plural(number: int, noun: str) -> str:
    """A count with its noun in the singular or plural.

    >>> plural(1, "seed"), plural(1200, "sentence"), plural(2, "entity")
    ('1 seed', '1,200 sentences', '2 entities')
    """
    nouns = f"{noun.removesuffix('y')}ies" if noun.endswith("ity") else f"{noun}s"
    return f"{count(number)} {noun if number == 1 else nouns}"


def in_minutes(seconds: float | None) -> str:
    """A duration in seconds, minutes or hours.

    >>> in_minutes(42.4), in_minutes(95), in_minutes(7300)
    ('42 s', '1.6 min', '2.0 h')
    """
    if seconds is None:
        return MISSING
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
