"""How long a tagger is trained in a grow job."""

from __future__ import annotations

from dataclasses import replace

from nersery.experiments.recipe import Recipe

Schedule = tuple[int, int]
"""Training steps, and sentences in each."""
SCHEDULES: tuple[Schedule, ...] = (
    (600, 16),
    (450, 16),
    (300, 16),
    (300, 8),
    (200, 8),
    (150, 8),
    (100, 8),
    (100, 4),
    (60, 4),
    (30, 4),
    (10, 4),
)
"""From the best to the shortest. In the same time, many small steps beat few large ones, but steps of four sentences
suffer from wrong labels; see docs/results.md.
"""
STAGE_STEPS = 100
"""Of a second training on gold alone; fewer leave too much of the wrong labels."""
FEWEST_STEPS = 60
"""Fewer are taken only if not even gold only could be trained with this number."""
HALF: Schedule = (300, 16)
"""The training on all sentences is not made shorter than this for a second fold; see docs/results.md."""
ENOUGH: Schedule = (300, 8)
"""Usually enough for a good tagger."""
POOR = SCHEDULES.index((100, 8))
"""From this one on, the result is poor."""


def described(schedule: Schedule) -> str:
    """For readers."""
    steps, sentences = schedule
    return f"{steps} steps with {sentences} sentences"


def with_schedule(recipe: Recipe, schedule: Schedule) -> Recipe:
    """A recipe whose taggers are trained by that schedule."""
    steps, sentences = schedule
    settings = {**recipe.tagger.settings, "steps": steps, "batch_size": sentences}
    return replace(recipe, tagger=replace(recipe.tagger, settings=settings))
