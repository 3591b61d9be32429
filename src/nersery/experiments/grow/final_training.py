"""The training of the best system on all sentences, after the search of a grow job."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nersery.core.errors import NerseryError, OutOfTimeError
from nersery.core.progress import time_limit
from nersery.core.system.files import remove_folder
from nersery.experiments.grow.schedules import Schedule, with_schedule
from nersery.experiments.grow.search import Search
from nersery.report.system_names import label_of


@dataclass
class FinalTraining:
    """Trains the best system of a search on all sentences. Its seed is the one after the folds.

    Args:
        record: The record of the job. Its entry ``final`` has the system and schedule of this training once it began.
        planned: The schedule that was planned for it.
    """

    search: Search
    record: dict[str, Any]
    planned: Schedule
    say: Callable[[str], None]

    def execute(self) -> int | None:
        """Train the best system, and gold only to compare on a test file. Sets the schedule of the run's recipe.

        Returns:
            The seed of this training; None if the time was too short.

        Raises:
            NerseryError: If no system has a tagger.
        """
        search, best, budget = self.search, self.search.best(), self.search.budget
        if best is None:
            raise self._nothing_trained()
        search_recipe, seed = search.run.recipe, search.fold_count
        schedule = self._schedule(best.name)
        search.save()
        recipe = search.run.recipe = with_schedule(search_recipe, schedule)
        system = recipe.system(best.name)
        is_short = math.prod(schedule) < math.prod(self.planned)
        why = f", instead of {self.planned}: the search left no more time" if is_short else ""
        self.say(f"all sentences · {label_of(best.name)}: {schedule}{why}")
        baselines = [recipe.baseline] if search.run.corpora["test"] else []
        try:
            with time_limit(budget.left - budget.expected(budget.closing) / 2):
                for name in dict.fromkeys(one.name for one in [*recipe.chain(system), *baselines]):
                    search.run.run_system(seed, recipe.system(name))
        except KeyboardInterrupt:
            search.run.recipe = search_recipe  # the result is then the tagger of a fold
            raise
        except OutOfTimeError:
            if not search.run.path(seed, system, "tagger").exists():
                search.run.recipe = search_recipe
                return None
        return seed

    def adopt(self, best: str) -> int | None:
        """The seed of this training if the best system has finished it. Sets the schedule of the run's recipe."""
        search, begun = self.search, self.record.get("final", {})
        seed, system = search.fold_count, search.run.recipe.system(best)
        if begun.get("system") != best or not search.run.path(seed, system, "tagger").exists():
            return None
        search.run.recipe = with_schedule(search.run.recipe, Schedule(*begun["schedule"]))
        return seed

    def _schedule(self, best: str) -> Schedule:
        """The schedule that an earlier call began, unless another system is best now."""
        search, begun = self.search, self.record.get("final", {})
        if begun.get("system") != best:
            schedule = search.longest_schedule(search.run.recipe.system(best))
            if begun and begun["schedule"] != [*schedule]:  # what was trained by it cannot be compared
                remove_folder(search.run.folder / f"seed-{search.fold_count}")
            self.record["final"] = {"system": best, "schedule": [*schedule]}
        return Schedule(*self.record["final"]["schedule"])

    def _nothing_trained(self) -> NerseryError:
        advice = f" and name another folder (--out): this one keeps its short trainings, of {self.planned}"
        minutes = f"{self.search.budget.seconds / 60:g}"
        return NerseryError(
            f"{minutes} minutes were too short to train one tagger. Allow more time (--minutes)"
            + (advice if self.planned.is_poor else "; the same command then resumes")
        )
