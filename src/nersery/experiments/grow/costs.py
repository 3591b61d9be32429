"""How long the systems of a grow job take, without work that is done already."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from nersery.experiments.execution.run_time import RunTime
from nersery.experiments.grow.schedules import Schedule, with_schedule
from nersery.experiments.runner import Run
from nersery.experiments.systems import System


@dataclass(frozen=True)
class Costs:
    """Estimated seconds of the systems of a run.

    Args:
        run: The run. Its recipe has a seed for each fold, and one more for all sentences.
    """

    run: Run
    run_time: RunTime

    @property
    def _fold_count(self) -> int:
        """The number of folds. The seed with this number trains on all sentences."""
        return self.run.recipe.sample.folds or 0

    def on_fold(self, system: System, fold: int) -> float:
        """Seconds to make, train and score a system and its bases on a fold."""
        return self._seconds(self.run_time, system, fold)

    def on_all(self, system: System, schedule: Schedule | None = None) -> float:
        """The same seconds on all sentences, after the system was tried on a fold.

        Gold only is included if its tagger is needed: for labels, or for comparison on a test file.

        Args:
            schedule: Schedule of the trainings; None takes that of the search.
        """
        recipe, times = self.run.recipe, self.run_time
        if schedule:
            times = replace(times, recipe=with_schedule(times.recipe, schedule))
        asks = any(part.asks_for_tagger and not part.base for part in recipe.chain(system))
        is_needed = system is not recipe.baseline and (asks or self.run.corpora["test"])
        trained = [*([recipe.baseline] if is_needed else []), system]
        return sum(self._seconds(times, part, self._fold_count, tried=system) for part in trained)

    def _seconds(self, times: RunTime, system: System, seed: int, tried: System | None = None) -> float:
        """Seconds to make, train and score a system and its bases, for a seed.

        Args:
            tried: A system that was tried. It and its bases have asked their questions for all folds at once already.
        """
        run, seconds = self.run, 0.0
        answered = run.recipe.chain(tried) if tried else []
        for part in run.recipe.chain(system):
            if not run.path(seed, part, "tagger").exists():
                seconds += times.training(part)
            if not run.path(seed, part, "result.json").exists():
                seconds += times.scoring(part, self._scored_on(seed))
            seeds = range(self._fold_count + 1) if part.asks_questions else [seed]
            is_made = any(run.generated(other, part).exists() for other in seeds)
            if not is_made and not (part.asks_questions and part in answered):
                seconds += times.making(part)
        return seconds

    def _scored_on(self, seed: int) -> int:
        """The number of sentences that systems with a seed are scored on: those of the fold, or of test."""
        corpora = self.run.corpora
        return len(corpora["test"]) if seed == self._fold_count else math.ceil(len(corpora["train"]) / self._fold_count)
