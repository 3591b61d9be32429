"""The systems that a grow job has tried, and their expected gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nersery.evaluate.significance import Comparison, paired_bootstrap
from nersery.experiments.analysis import counts_on_test, pooled_f1
from nersery.experiments.grow.expectation import Gain, expected_gain, usual_gain
from nersery.experiments.runner import Run
from nersery.experiments.systems import System
from nersery.models.bundled_models.bundled import ENCODERS
from nersery.report.system_names import GOLD


@dataclass
class SystemTrial:
    """The trial of a system.

    Args:
        folds: The folds that it was scored on.
        seconds: Seconds that these folds took together.
        fate: The outcome if it was dropped, with the reason; empty while it is in the race.
        dropped: Number of folds after which it was in the weaker half; 0 if it never was.
        answers: F1 of its questions alone on some labelled sentences; None if it was not measured, 1 if these
            sentences have too few mentions.
        leads: Whether its encoder was chosen for the methods; a resumed search keeps it.
    """

    name: str
    folds: list[int] = field(default_factory=list)
    estimate: float = 0.0
    seconds: float = 0.0
    fate: str = ""
    dropped: int = 0
    answers: float | None = None
    leads: bool = False


@dataclass
class Trials:
    """The systems of a run that were tried on folds.

    Args:
        run: The run. Its recipe has a seed for each fold, and one more for all sentences.
        tried: Trials by name, gold only first.
        better: Encoders that usually gain more than any method, and what they gain.
        raw_suits: Whether raw text is of the same kind as the labelled sentences.
        is_short: Whether the trainings on folds are short; see `Schedule.is_short`.
    """

    run: Run
    tried: dict[str, SystemTrial] = field(default_factory=dict, kw_only=True)
    better: Mapping[str, Gain] = field(default_factory=dict, kw_only=True)
    raw_suits: bool = field(default=True, kw_only=True)
    is_short: bool = field(default=False, kw_only=True)
    _compared: dict[tuple[str, tuple[int, ...]], Comparison] = field(default_factory=dict, init=False)

    @property
    def fold_count(self) -> int:
        """The number of folds. The seed with this number trains on all sentences."""
        return self.run.recipe.sample.folds or 0

    def f1(self, tried: SystemTrial, first: int | None = None) -> float:
        """F1 of a system over the sentences of its folds.

        Args:
            first: Use only this number of folds, so that a resumed search decides as before.
        """
        return pooled_f1(self._counts(tried.name, tried.folds[:first])[0])

    def against_gold(self, tried: SystemTrial) -> Comparison:
        """The difference of a system from gold only on its folds."""
        key = tried.name, tuple(tried.folds)
        if key not in self._compared:
            counts, gold_counts = (self._counts(name, tried.folds) for name in (tried.name, GOLD))
            self._compared[key] = paired_bootstrap(gold_counts, counts)
        return self._compared[key]

    def _counts(self, name: str, folds: Sequence[int]) -> Any:
        return counts_on_test(self.run.restricted_to(folds), self.run.recipe.system(name))

    @property
    def scored(self) -> list[SystemTrial]:
        """The systems that were scored on a fold."""
        return [tried for tried in self.tried.values() if tried.folds]

    def best(self) -> SystemTrial | None:
        """The system with the largest expected gain; gold only, which is tried first, if no gain is above 0."""
        return max(self.scored, key=self.gain, default=None)

    def gain(self, tried: SystemTrial, first: int | None = None) -> float:
        """The gain in F1 over gold only that can be expected of a system; 0 for gold only.

        Args:
            first: Use only this number of folds, so that a resumed search decides as before.
        """
        if tried.name == GOLD:
            return 0.0
        judged, system = replace(tried, folds=tried.folds[:first]), self.run.recipe.system(tried.name)
        encoder = self.encoder(self.run.recipe.baseline)
        usual = usual_gain(self.run.recipe.chain(system), encoder, self.better, raw_suits=self.raw_suits)
        return expected_gain(usual, self.against_gold(judged), len(judged.folds), is_short=self.is_short)

    def still_tried(self, fold_count: int) -> list[SystemTrial]:
        """The systems that were scored on this number of folds and not dropped. Others cannot be compared."""
        still_tried = [tried for tried in self.tried.values() if tried.name != GOLD and not tried.dropped]
        return [tried for tried in still_tried if len(tried.folds) >= fold_count]

    def encoder(self, system: System) -> str:
        """The encoder of a system's tagger. If this starts from a bundled tagger, the encoder of that one."""
        model = str(system.tagger_settings.get("model", self.run.recipe.tagger.settings.get("model")))
        return ENCODERS.get(model, model)
