"""How figures are written for readers: fractions as percent points, with a real minus sign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MISSING = "–"
"""What stands where a figure is not known."""


def percent(value: float | None) -> str:
    """A fraction in percent points with one decimal.

    >>> percent(0.4831), percent(None)
    ('48.3', '–')
    """
    return MISSING if value is None else _minus(f"{_tenths(value):.1f}")


def signed(value: float | None) -> str:
    """A difference of fractions in percent points, with its sign.

    >>> signed(0.021), signed(-0.0402), signed(0.0)
    ('+2.1', '−4.0', '0.0')
    """
    return MISSING if value is None else _minus(f"{_tenths(value):+.1f}") if _tenths(value) else "0.0"


def spread(measure: Mapping[str, Any] | None) -> str:
    """Mean and standard deviation over seeds; the mean alone where one seed gives no spread.

    >>> spread({"mean": 0.4831, "std": 0.0061}), spread({"mean": 0.4831, "std": None})
    ('48.3 ± 0.6', '48.3')
    """
    if not measure:
        return MISSING
    deviation = measure.get("std")
    return percent(measure.get("mean")) + (f" ± {percent(deviation)}" if deviation is not None else "")


def words(measure: Mapping[str, Any] | None) -> str:
    """Mean and standard deviation of a number of words, as `spread`.

    >>> words({"mean": 5.671, "std": 0.02}), words({"mean": 0.0, "std": None}), words(None)
    ('5.67 ± 0.02', '0.00', '–')
    """
    if not measure or measure.get("mean") is None:
        return MISSING
    deviation = measure.get("std")
    return f"{measure['mean']:.2f}" + (f" ± {deviation:.2f}" if deviation is not None else "")


def interval(comparison: Mapping[str, Any] | None) -> str:
    """The interval of a difference, in percent points.

    >>> interval({"low": -0.004, "high": 0.031})
    '−0.4 to 3.1'
    """
    if not comparison or comparison.get("low") is None or comparison.get("high") is None:
        return MISSING
    return f"{percent(comparison['low'])} to {percent(comparison['high'])}"


def p_value(value: float | None) -> str:
    """A p-value with two significant digits.

    >>> p_value(0.0234), p_value(0.00002), p_value(0.5)
    ('0.023', '< 0.001', '0.5')
    """
    if value is None:
        return MISSING
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def told_p(value: float) -> str:
    """A p-value as sentences have it.

    >>> told_p(0.0234), told_p(0.00002)
    ('p = 0.023', 'p < 0.001')
    """
    return f"p {p_value(value)}" if value < 0.001 else f"p = {p_value(value)}"


def count(value: float | None) -> str:
    """A number of things, with thousands separated.

    >>> count(12345)
    '12,345'
    """
    return MISSING if value is None else f"{round(value):,}"


def counts(values: Sequence[float]) -> str:
    """One number of things a seed: the number, or the range where the seeds differ.

    >>> counts([100, 100]), counts([955, 962, 960])
    ('100', '955 to 962')
    """
    if not values:
        return MISSING
    low, high = min(values), max(values)
    return count(low) if low == high else f"{count(low)} to {count(high)}"


def plural(number: int, noun: str) -> str:
    """A number of things with its noun.

    >>> plural(1, "seed"), plural(1200, "sentence")
    ('1 seed', '1,200 sentences')
    """
    return f"{count(number)} {noun}" + ("" if number == 1 else "s")


def _tenths(value: float) -> float:
    return round(100 * value, 1) + 0.0  # + 0.0 turns -0.0 into 0.0


def _minus(text: str) -> str:
    return text.replace("-", "−")
