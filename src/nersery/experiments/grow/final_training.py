"""The training on all sentences: as long as the time that the search has left allows."""

from __future__ import annotations

import copy
from dataclasses import replace

from nersery.experiments.grow.schedules import SCHEDULES, Schedule
from nersery.experiments.grow.search import CLOSING, Search
from nersery.experiments.recipe import Recipe

SHARE = 0.8
"""Of the time that is left, because a training that is cut off is lost."""


def with_schedule(recipe: Recipe, schedule: Schedule) -> Recipe:
    """A recipe whose taggers are trained by that schedule."""
    steps, batch_size = schedule
    settings = {**recipe.tagger.settings, "steps": steps, "batch_size": batch_size}
    return replace(recipe, tagger=replace(recipe.tagger, settings=settings))


def longest_schedule(search: Search, system: str) -> Schedule:
    """The longest schedule, by which a system can be trained in the time that is left; at least that of the search."""
    settings = search.run.recipe.tagger.settings
    own = settings["steps"], settings["batch_size"]
    free = SHARE * (search.budget.left - search.budget.expected(CLOSING))
    for schedule in SCHEDULES[: SCHEDULES.index(own)] if own in SCHEDULES else ():
        recipe = with_schedule(search.run.recipe, schedule)
        run = copy.copy(search.run)
        run.recipe = recipe
        trial = replace(search, run=run, run_time=replace(search.run_time, recipe=recipe))
        if search.budget.expected(trial.final_cost(recipe.system(system))) <= free:
            return schedule
    return own
