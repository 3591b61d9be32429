"""Parts of a report: numbers over seeds, comparisons, sentences in examples."""

from __future__ import annotations

import operator
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Self, TypeVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from nersery.core.counting import MISSING
from nersery.core.sentence import Entity
from nersery.evaluate.error_analysis import entity_text, mistake_text
from nersery.report.number_format import percent

T = TypeVar("T")


def _without_nulls(values: Any) -> Any:
    return {k: v for k, v in values.items() if v is not None} if isinstance(values, Mapping) else values


Table = Annotated[dict[str, T], BeforeValidator(_without_nulls)]
"""Values by name; null is read as a missing value."""


class ReportPart(BaseModel):
    """A part of a report, read from JSON values or from an object with these attributes, such as a `Sentence`.

    A null where the type does not allow it is read as a missing value. An unknown key is an error.
    """

    model_config = ConfigDict(from_attributes=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _default_for_null(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or None not in values.values():
            return values
        nullable = {name for name, field in cls.model_fields.items() if field.default is None}
        return {key: value for key, value in values.items() if value is not None or key in nullable}


class Measure(ReportPart):
    """A number over all seeds; its text is in percent points.

    Args:
        std: Standard deviation; null with one seed.
        values: One for each seed.

    >>> print(Measure(mean=0.4831, std=0.0061)), print(Measure(mean=0.4831)), print(Measure())
    48.3 ± 0.6
    48.3
    –
    (None, None, None)
    """

    mean: float | None = None
    std: float | None = None
    values: list[float | None] = []

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """Summarize the values of several runs that differ only in their seed.

        The standard deviation is the sample estimate (divisor n - 1). A single run has none, because 0 would claim that
        there is no spread.

        >>> print(Measure.of([0.36, 0.38, 0.40]))
        38.0 ± 2.0
        """
        values = tuple(values)
        std = statistics.stdev(values) if len(values) > 1 else None
        return cls(mean=statistics.fmean(values), std=std, values=[*values])

    def __str__(self) -> str:
        """The mean, with the standard deviation if there are several seeds."""
        return percent(self.mean) + ("" if self.std is None else f" ± {percent(self.std)}")

    @property
    def in_words(self) -> str:
        """The mean and the standard deviation of a number of words, as text.

        >>> Measure(mean=5.671, std=0.02).in_words, Measure().in_words
        ('5.67 ± 0.02', '–')
        """
        if self.mean is None:
            return MISSING
        return f"{self.mean:.2f}" + ("" if self.std is None else f" ± {self.std:.2f}")


class GroupScores(ReportPart):
    """Scores of one type or language."""

    precision: Measure = Measure()
    recall: Measure = Measure()
    f1: Measure = Measure()
    gold: int | None = None


class Interval(ReportPart):
    """A 95 % confidence interval."""

    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> str:
        """The interval in percent points.

        >>> Interval(low=-0.004, high=0.031).interval
        '−0.4 to 3.1'
        """
        return MISSING if self.low is None or self.high is None else f"{percent(self.low)} to {percent(self.high)}"


class AgainstGold(Interval):
    """A system compared with the baseline on the same test sentences and seeds.

    Args:
        difference: F1 of the system minus F1 of the baseline, in [-1, 1]; the interval is that of the difference.
        p: The p-value of this comparison alone.
        corrected_p: ``p``, corrected for the number of comparisons in the report (Holm); not part of the JSON.
        p_over_seeds: The p-value of a sign-flip test over seeds.
    """

    difference: float | None = None
    sentences: int | None = None
    runs: int | None = None
    p: float | None = Field(default=None, validation_alias=AliasChoices("p", "p_value"))
    samples: int | None = None
    test: str = ""
    p_over_seeds: float | None = None
    corrected_p: float | None = Field(default=None, exclude=True)


class SweepCell(ReportPart):
    """One system of one run of a sweep, with one seed.

    Args:
        size: The size of the sample; null if sizes are not varied.
        language: Empty if languages are not varied.
        f1: In [0, 1]; null if it is not finished.
    """

    size: int | None = None
    language: str = ""
    system: str = ""
    seed: int = 0
    f1: float | None = None


ShownEntity = Annotated[Entity, PlainSerializer(Entity.as_dict)]
"""An entity; the report stores its words and its type."""


class ShownSentence(ReportPart):
    """A sentence in an example."""

    id: str = ""
    words: list[str]
    entities: list[ShownEntity] = []
    language: str = Field(default="", exclude_if=operator.not_)


class Example(ReportPart):
    """A generated sentence that was kept, with the gold sentence that it was made from."""

    parent: ShownSentence | None = None
    child: ShownSentence
    scores: Table[float] = {}


class RejectExample(ReportPart):
    """A generated sentence that a stage rejected."""

    stage: str = "?"
    reason: str = "no reason given"
    parent: ShownSentence | None = None
    child: ShownSentence


class LabelledExample(ReportPart):
    """A sentence of test with its gold entities."""

    kind: str = ""
    id: str = ""
    words: list[str] = []
    language: str = ""
    gold: list[ShownEntity] = []

    def labelled(self, entities: Sequence[ShownEntity]) -> ShownSentence:
        """The sentence with these entities."""
        return ShownSentence(words=self.words, entities=list(entities), language=self.language)


class MistakeExample(LabelledExample):
    """A sentence of test with a mistake, see `nersery.evaluate.error_analysis`."""

    predicted: list[ShownEntity] = []
    gold_entity: ShownEntity | None = None
    predicted_entity: ShownEntity | None = None

    def __str__(self) -> str:
        return mistake_text(self.words, self.gold_entity, self.predicted_entity)


class ChangeExample(LabelledExample):
    """A sentence of test in which a system fixes or breaks an entity, see `nersery.evaluate.changes`.

    Args:
        before: Entities that the baseline predicts.
        after: Entities that the system predicts.
    """

    before: list[ShownEntity] = []
    after: list[ShownEntity] = []
    entity: ShownEntity | None = None

    def __str__(self) -> str:
        return entity_text(self.words, self.entity) if self.entity else ""


class Trial(ReportPart):
    """One combination of settings in a grid search, with its F1 on dev."""

    settings: dict[str, Any] = {}
    f1: float | None = None


class GridReport(ReportPart):
    """A grid search on dev: its seed, its trials and the settings that it chose."""

    seed: int | None = None
    trials: list[Trial] = []
    chosen: dict[str, Any] = {}


class Evaluation(ReportPart):
    """A score on dev, in [0, 1], during a training."""

    model_config = ConfigDict(extra="allow")
    step: int | None = None
    score: float | None = None


class TrainingReport(ReportPart):
    """The scores on dev during a training, with all other values that the tagger reports about it.

    Args:
        parameters: The number of parameters of the tagger's network; null if unknown.
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
    """The training of a teacher: the tagger that labelled a system's raw text, if the system trains its own.

    Args:
        tagger: The name of its method.
        model: The model that it was trained from, if it has one.
        sentences: The number of sentences that it was trained on.
        seconds: The time of its training; null if unknown.
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
    """A self-training, described like the training of a tagger: by the number of the step and F1 on dev."""

    best: int | None = None
    steps: list[SelfTrainingStep] = []
