from __future__ import annotations

import pytest

from nersery.experiments.grow.budget import Budget


@pytest.mark.parametrize(("seconds", "kept"), [(60.0, 10.0), (120.0, 20.0), (3600.0, 20.0)])
def test_a_short_job_reserves_less_time_for_its_results(seconds: float, kept: float) -> None:
    assert Budget(seconds).closing == kept
