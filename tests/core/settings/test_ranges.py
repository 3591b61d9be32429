from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest

from nersery.core.errors import SettingsError
from nersery.core.registry import check_values
from nersery.core.settings.ranges import Count, Negative, Positive, Range, Rate, RateBelowOne, range_issues


@dataclass
class Settings:
    rate: Rate = 0.0
    dropout: RateBelowOne | None = None
    copies: Count = 1
    price: Positive = 1.0
    score: Negative = -1.0


def test_all_numbers_out_of_range_are_named_at_once() -> None:
    with pytest.raises(SettingsError) as error:
        check_values(Settings(rate=1.5, dropout=1.0, copies=0, price=0.0, score=0.0))
    assert str(error.value).split("\n") == [
        "rate is 1.5, expected a number in [0, 1]",
        "dropout is 1, expected a number in [0, 1)",
        "copies is 0, expected 1 or more",
        "price is 0, expected a number above 0",
        "score is 0, expected a number below 0",
    ]


def test_a_range_of_whole_numbers_is_worded_as_one() -> None:
    (issue,) = range_issues("workers", Annotated[int, Range(1, 9)], "2")
    assert issue == "workers is '2', expected a whole number in [1, 9]"


@pytest.mark.parametrize("rate", [0, 1, 0.5, np.float32(0.5), np.int64(1)])
def test_numbers_within_a_range(rate: float) -> None:
    assert [*range_issues("rate", Rate, rate)] == []
    check_values(Settings(rate=rate, dropout=0.0))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "1", [1], pytest.param(10**400, id="huge")])
def test_a_range_contains_only_finite_numbers(value: object) -> None:
    assert value not in Range()


@pytest.mark.parametrize("value", [2.0, 2.5, True, "2"])
def test_a_count_is_a_whole_number(value: object) -> None:
    with pytest.raises(SettingsError, match=rf"^copies is {value!r}, expected a whole number of 1 or more$"):
        check_values(Settings(copies=value))  # type: ignore[arg-type]
    check_values(Settings(copies=np.int64(2)))  # type: ignore[arg-type]


def test_shows_a_number_without_rounding() -> None:
    assert [*range_issues("rate", Rate, 1.0000001)] == ["rate is 1.0000001, expected a number in [0, 1]"]
