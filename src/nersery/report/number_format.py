"""Numbers for readers: fractions in percent points, with a real minus sign."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nersery.core.counting import MISSING, count


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


def p_value(value: float | None) -> str:
    """A p-value with two significant digits.

    >>> p_value(0.0234), p_value(0.00002), p_value(0.5)
    ('0.023', '< 0.001', '0.5')
    """
    if value is None:
        return MISSING
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def unbroken(text: str) -> str:
    """Text in which no line can break between a number and its percent sign.

    >>> unbroken("95 % interval")
    '95\\xa0% interval'
    """
    return re.sub(r"(?<=\d) %", "\u00a0%", text)


def p_text(value: float) -> str:
    """A p-value within a sentence.

    >>> p_text(0.0234), p_text(0.00002)
    ('p = 0.023', 'p < 0.001')
    """
    return f"p {p_value(value)}" if value < 0.001 else f"p = {p_value(value)}"


def counts(values: Sequence[float]) -> str:
    """Counts for all seeds as text: one number, or the range if the seeds differ.

    >>> counts([100, 100]), counts([955, 962, 960])
    ('100', '955 to 962')
    """
    if not values:
        return MISSING
    low, high = min(values), max(values)
    return count(low) if low == high else f"{count(low)} to {count(high)}"


def millions(number: int) -> str:
    """A number of parameters for readers.

    >>> millions(22_713_216), millions(41_300)
    ('22.7 M', '0.04 M')
    """
    value = number / 1e6
    return f"{value:,.0f} M" if value >= 100 else f"{value:.1f} M" if value >= 0.1 else f"{value:.2f} M"


def _tenths(value: float) -> float:
    return round(100 * value, 1) + 0.0  # + 0.0 turns -0.0 into 0.0


def _minus(text: str) -> str:
    return text.replace("-", "−")
