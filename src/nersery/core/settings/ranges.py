"""The numbers that a setting accepts, declared with its type: ``rate: Rate = 0.3``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from types import NoneType
from typing import Annotated, Any, get_args

from nersery.core.errors import shown
from nersery.core.random import is_whole


@dataclass(frozen=True)
class Range:
    """Finite numbers from ``low`` to ``high``.

    Args:
        without: The bounds that are excluded.

    >>> str(Range(0, 1, without=(1,))), str(Range(1)), 1.5 in Range(0, 1)
    ('a number in [0, 1)', '1 or more', False)
    """

    low: float = -math.inf
    high: float = math.inf
    without: tuple[float, ...] = ()

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, Real):
            return False
        try:
            number = float(value)
        except OverflowError:  # a whole number of hundreds of digits
            return False
        return math.isfinite(number) and self.low <= number <= self.high and value not in self.without

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"a number above {self.low:g}" if self.without else f"{self.low:g} or more"
        if self.low == -math.inf:
            return f"a number below {self.high:g}"
        begin, end = ("(" if self.low in self.without else "["), (")" if self.high in self.without else "]")
        return f"a number in {begin}{self.low:g}, {self.high:g}{end}"


Rate = Annotated[float, Range(0, 1)]
RateAboveZero = Annotated[float, Range(0, 1, without=(0,))]
RateBelowOne = Annotated[float, Range(0, 1, without=(1,))]
RateBetween = Annotated[float, Range(0, 1, without=(0, 1))]
Positive = Annotated[float, Range(0, without=(0,))]
Negative = Annotated[float, Range(high=0, without=(0,))]
NotNegative = Annotated[float, Range(0)]
Count = Annotated[int, Range(1)]
CountOrZero = Annotated[int, Range(0)]


def range_issues(name: str, hint: Any, value: Any) -> Iterator[str]:
    """Yield the issues of a setting's number. None is valid if the type of the setting includes it.

    Args:
        hint: The type with its annotations, such as ``Count | None``.
    """
    if value is None and NoneType in get_args(hint):
        return
    for part in (hint, *get_args(hint)):
        for limits in getattr(part, "__metadata__", ()):
            needs_whole = part.__origin__ is int and not is_whole(value)
            if isinstance(limits, Range) and (needs_whole or value not in limits):
                is_whole_float = isinstance(value, float) and value.is_integer() and not needs_whole
                text = f"{value:g}" if is_whole_float else shown(value)
                expected = str(limits)
                if needs_whole:
                    whole = expected.replace("a number", "a whole number")
                    expected = f"a whole number of {expected}" if whole == expected else whole
                yield f"{name} is {text}, expected {expected}"
