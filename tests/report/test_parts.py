"""Scores over seeds, as in a report."""

from __future__ import annotations

import statistics

import pytest
from pydantic import ValidationError

from nersery.report.model import Report
from nersery.report.parts import Measure


def test_a_measure_has_mean_spread_and_values() -> None:
    found = Measure.of([0.36, 0.38, 0.41])
    assert found.mean == pytest.approx(0.3833333)
    assert found.std == pytest.approx(0.0251661)
    assert found.values == [0.36, 0.38, 0.41]
    assert str(found) == "38.3 ± 2.5"


def test_one_seed_has_no_spread() -> None:
    found = Measure.of(iter([0.3781]))
    assert found.std is None
    assert str(found) == "37.8"


def test_refuses_a_measure_without_seeds() -> None:
    with pytest.raises(statistics.StatisticsError, match="at least one"):
        Measure.of([])


def test_two_seeds_have_a_spread() -> None:
    assert Measure.of([0.2, 0.4]).std == pytest.approx(0.02**0.5)


def test_refuses_a_misspelt_key_at_any_depth() -> None:
    with pytest.raises(ValidationError, match=r"systems\.0\.f1\.meen"):
        Report.model_validate({"systems": [{"f1": {"meen": 0.5}}]})
