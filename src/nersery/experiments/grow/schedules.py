"""How long a tagger is trained in a grow job."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from nersery.experiments.recipe import Recipe


class Schedule(NamedTuple):
    """The number of steps of a training, and of sentences in each step."""

    steps: int
    batch_size: int

    @classmethod
    def of(cls, recipe: Recipe) -> Schedule:
        """The schedule of a recipe's taggers."""
        return cls(*(recipe.tagger.settings[name] for name in cls._fields))

    def __str__(self) -> str:
        return f"{self.steps} steps with {self.batch_size} sentences"

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a tagger that is trained by this schedule."""
        rate = HEAD_RATE if math.prod(self) > math.prod(ENOUGH) else SHORT_HEAD_RATE
        return {**self._asdict(), "head_learning_rate": rate}

    @property
    def is_short(self) -> bool:
        """Whether a longer training makes a clearly better tagger."""
        return self in SCHEDULES[SCHEDULES.index(ENOUGH) + 1 :]

    @property
    def is_poor(self) -> bool:
        """Whether a tagger trained by this schedule is poor."""
        return self in SCHEDULES[SCHEDULES.index(LONGEST_POOR) :]


SCHEDULES = (
    Schedule(600, 16),
    Schedule(450, 16),
    Schedule(300, 16),
    Schedule(300, 8),
    Schedule(200, 8),
    Schedule(150, 8),
    Schedule(100, 8),
    Schedule(100, 4),
    Schedule(60, 4),
    Schedule(30, 4),
    Schedule(10, 4),
)
"""From the best to the shortest. In the same time, many small steps beat few large ones, but steps of four sentences
suffer from wrong labels; see ``benchmarks/short_trainings.toml``.
"""
HEAD_RATE, SHORT_HEAD_RATE = 2e-3, 4e-3
"""Learning rates of the head in long and short trainings. After 200 steps with 8 sentences, taggers with a new head on
the multilingual encoder score 2.5 to 6.4 F1 more with the higher rate (``benchmarks/head_rates.py``, four data sets).
Taggers that start from a name tagger, or with the English encoder, score about the same.
"""
STAGE_STEPS = 100
"""Steps of a second training on gold alone; fewer leave too much of the wrong labels."""
MIN_STEPS = 60
"""Minimum number of steps. Fewer are taken only if not even gold only could be trained with this number."""
MIN_FOR_SECOND_FOLD = Schedule(300, 16)
"""The training on all sentences is not made shorter than this for a second fold; see docs/results.md."""
ENOUGH = Schedule(300, 8)
"""Usually enough for a good tagger."""
LONGEST_POOR = Schedule(100, 8)
"""Taggers that are trained by this schedule or a shorter one are poor."""


def with_schedule(recipe: Recipe, schedule: Schedule) -> Recipe:
    """A recipe whose taggers are trained by a schedule."""
    return replace(recipe, tagger=recipe.tagger.with_changes(schedule.settings))


def schedule_text(search: Schedule, final: Schedule) -> str:
    """The schedules of the search and of the training on all sentences, for a note.

    >>> schedule_text(Schedule(300, 8), Schedule(600, 16))
    'each training of the search has 300 steps with 8 sentences, the one on all sentences 600 steps with 16 sentences'
    """
    text = f"each training has {search}"
    if final != search:
        text = f"each training of the search has {search}, the one on all sentences {final}"
    return text if final == SCHEDULES[0] else f"{text}, instead of {SCHEDULES[0]}"


def with_last(notes: Iterable[str], recipe: Recipe, planned: Schedule, last: Schedule) -> list[str]:
    """The notes of a plan with the schedule of the training on all sentences in place of the planned one.

    Args:
        recipe: The recipe of the search.
    """
    search = Schedule.of(recipe)
    return [note.replace(schedule_text(search, planned), schedule_text(search, last)) for note in notes]
