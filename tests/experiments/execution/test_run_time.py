"""How long systems will take, by the steps of their trainings."""

from __future__ import annotations

from typing import Any

import pytest

from nersery.experiments.execution.run_time import steps_of
from nersery.experiments.systems import MethodSettings


@pytest.mark.parametrize(
    ("method", "settings", "sentences", "steps"),
    [
        ("transformer", {}, 100, 300),
        ("transformer", {}, 16_000, 3000),
        ("transformer", {"steps": 40}, 100, 40),
        ("transformer", {"epochs": 2, "batch_size": 8}, 100, 26),
        ("bilstm_crf", {}, 100, 800),
        ("bilstm_crf", {}, 16_000, 8000),
    ],
)
def test_steps_are_those_of_the_tagger(method: str, settings: dict[str, Any], sentences: int, steps: int) -> None:
    assert steps_of(MethodSettings(method, settings, "tagger"), sentences) == steps
