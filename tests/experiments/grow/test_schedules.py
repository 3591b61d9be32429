"""The schedules of the trainings of a grow job."""

from __future__ import annotations

from nersery.experiments.grow.schedules import ENOUGH, SCHEDULES
from nersery.taggers.transformer import TransformerTagger


def test_a_short_training_has_a_higher_rate_and_a_long_one_the_default() -> None:
    default = TransformerTagger(model="any").head_learning_rate
    rates = [schedule.settings["head_learning_rate"] for schedule in SCHEDULES]
    assert rates[0] == default < rates[-1]
    assert rates == sorted(rates)


def test_every_poor_schedule_is_short_and_one_that_is_enough_is_not() -> None:
    assert not ENOUGH.is_short
    assert all(schedule.is_short for schedule in SCHEDULES if schedule.is_poor)
