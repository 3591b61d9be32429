"""Parts of a report on trainings: their curves, teachers, self-training, and settings that were tried."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from nersery.report.parts import ReportPart


class Trial(ReportPart):
    """Settings of a grid, and F1 on dev with them."""

    settings: dict[str, Any] = {}
    f1: float | None = None


class GridReport(ReportPart):
    """What was tried on dev, with which seed, and what was chosen."""

    seed: int | None = None
    trials: list[Trial] = []
    chosen: dict[str, Any] = {}


class Evaluation(ReportPart):
    """A score on dev, in [0, 1], during a training."""

    model_config = ConfigDict(extra="allow")
    step: int | None = None
    score: float | None = None


class TrainingReport(ReportPart):
    """The curve of a training on dev, with whatever else the tagger reports about it.

    Args:
        parameters: Of the tagger's network; null if unknown.
    """

    model_config = ConfigDict(extra="allow")
    seed: int | None = None
    best_step: int | None = None
    parameters: int | None = None
    evaluations: list[Evaluation] = []
    untrained: bool = False

    @property
    def dev_f1(self) -> float | None:
        """F1 on dev with the weights that were kept; None without dev."""
        return next((evaluation.score for evaluation in self.evaluations if evaluation.step == self.best_step), None)


class TeacherReport(TrainingReport):
    """The training of the tagger that labelled a system's raw text, if the system has a teacher of its own.

    Args:
        tagger: The name of its method.
        model: The model that it was trained from, if it has one.
        sentences: How many it was trained on.
        seconds: Time of its training; null if unknown.
    """

    tagger: str = ""
    model: str = ""
    sentences: int | None = None
    steps: int | None = None
    seconds: float | None = None


class SelfTrainingStep(ReportPart):
    """A step of self-training."""

    model_config = ConfigDict(extra="allow")
    joined: int | None = None
    certainty: float | None = None
    sentences: int | None = None
    dev_f1: float | None = None


class SelfTrainingReport(TrainingReport):
    """A self-training in the form of a tagger's training: the number of the step, and F1 on dev."""

    best: int | None = None
    steps: list[SelfTrainingStep] = []
