"""The contents of a report: one schema for ``report.json``, ``report.md`` and ``report.html``.

To add a number, declare it here and compute it in `nersery.experiments.results`. If it belongs in the table of results,
declare it with a `Column`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import model_validator

from nersery.core.counting import plural
from nersery.core.sentence import Sentence
from nersery.evaluate.significance import holm
from nersery.report.parts import (
    AgainstGold,
    ChangeExample,
    Example,
    GridReport,
    GroupScores,
    Interval,
    Measure,
    MistakeExample,
    RejectExample,
    ReportPart,
    SelfTrainingReport,
    Table,
    TeacherReport,
    TrainingReport,
)
from nersery.report.system_names import GOLD, label_of
from nersery.report.tables.table_columns import COUNTS, Column

NEW_ENTITIES = (
    "New entities: distinct mentions, by words and type, that occur in the training sentences but not in gold. "
    "A mention with the same words in another order also counts."
)


class MistakeReport(ReportPart):
    """Mistakes on test: counts by type and kind, summed over seeds; examples from the first seed.

    Args:
        confusion: Counts by gold type and predicted type, over the entities that overlap a prediction.
    """

    per_type: Table[Table[int]] = {}
    confusion: Table[Table[int]] = {}
    examples: list[MistakeExample] = []


class ChangeReport(ReportPart):
    """What a system fixes and breaks against the baseline: counts summed over seeds, examples from the first seed."""

    per_type: Table[Table[int]] = {}
    examples: list[ChangeExample] = []


class StageCounts(ReportPart):
    """The numbers of sentences that a method or selector read, kept and rejected, summed over seeds.

    Args:
        history: How a selector made its choice, by seed; empty if it reports nothing.
    """

    method: str = ""
    read: int = 0
    written: int = 0
    rejected: int = 0
    reasons: Table[int] = {}
    history: Table[Any] = {}


class DiversityReport(ReportPart):
    """How much the kept sentences differ from their parents, see `nersery.evaluate.diversity`."""

    entity: Measure | None = None
    non_entity: Measure | None = None
    length: Measure | None = None


class SplitReport(ReportPart):
    """The files of a split and their contents."""

    path: str = ""
    sha256: str = ""
    sentences: int | None = None
    words: int | None = None
    entities: int | None = None
    types: Table[int] = {}
    languages: Table[SplitReport] = {}

    @classmethod
    def of(cls, sentences: Sequence[Sentence], **files: Any) -> Self:
        """Describe the sentences; ``files`` are the fields that describe where they are stored."""
        types = Counter(entity.type for sentence in sentences for entity in sentence.entities)
        counts = {"words": sum(map(len, sentences)), "entities": types.total(), "types": dict(sorted(types.items()))}
        return cls.model_validate({"sentences": len(sentences), **counts, **files})


class SampleReport(ReportPart):
    """How much of the training data was used."""

    size: int | None = None
    protocol: str = ""
    dev_size: int | None = None


class SystemReport(ReportPart):
    """The results of one system. Lists have one value for each seed."""

    name: str = ""
    method: str | None = None
    select: list[str] = []
    settings: Table[Any] = {}
    precision: Measure = Measure()
    recall: Measure = Measure()
    f1: Measure = Measure()
    f1_interval: Interval | None = None
    per_type: Table[GroupScores] = {}
    per_language: Table[GroupScores] = {}
    per_novelty: Table[GroupScores] = {}
    per_length: Table[GroupScores] = {}
    train_sentences: Annotated[list[int], Column("Training sentences", COUNTS)] = []
    kept_sentences: list[int] = []
    method_parameters: int | None = None
    new_entities: Annotated[list[int], Column("New entities", COUNTS, remark=NEW_ENTITIES)] = []
    diversity: DiversityReport = DiversityReport()
    errors: MistakeReport = MistakeReport()
    changes: ChangeReport = ChangeReport()
    grid: GridReport | None = None
    training: list[TrainingReport] = []
    self_training: list[SelfTrainingReport] = []
    teachers: list[TeacherReport] = []
    against_gold: AgainstGold | None = None
    generation: StageCounts | None = None
    selection: list[StageCounts] = []
    examples: list[Example] = []
    reject_examples: list[RejectExample] = []

    @property
    def is_baseline(self) -> bool:
        """Whether this is the system that the others are compared with."""
        return self.name == GOLD

    @property
    def label(self) -> str:
        """The name for readers."""
        return label_of(self.name)

    @property
    def tested(self) -> AgainstGold:
        """The comparison with the baseline; all its values are None if there is none."""
        return self.against_gold or AgainstGold()

    @property
    def stages(self) -> list[StageCounts]:
        """The method and the selectors."""
        if self.generation is None:
            return self.selection
        return [self.generation.model_copy(update={"method": self.method or ""}), *self.selection]

    def difference(self, reference: SystemReport | None) -> float | None:
        """F1 minus the reference's F1, as a fraction: the tested difference, or else the difference of the means."""
        if self.tested.difference is not None:
            return self.tested.difference
        other = reference.f1.mean if reference else None
        return None if self.f1.mean is None or other is None else self.f1.mean - other


COLUMNS = [
    replace(column, of=name)
    for name, field in SystemReport.model_fields.items()
    for column in field.metadata
    if isinstance(column, Column)
]
"""The fields that are columns in the table of results."""


CHOSEN = "chosen"
"""The `TriedReport.fate` of the system that a search has chosen."""


class TriedReport(ReportPart):
    """A system that a search tried, see `nersery.experiments.grow`.

    Args:
        folds: The number of folds that it was scored on.
        difference: The difference from gold only on the same folds, with its interval.
        expected: The gain that is expected on other sentences. The system is chosen by this value.
        estimate: The estimated time, as text.
        took: The time that it took, as text.
        fate: The outcome: whether it was chosen, or why it was dropped.
    """

    name: str = ""
    folds: int = 0
    f1: float | None = None
    difference: str = ""
    expected: str = ""
    estimate: str = ""
    took: str = ""
    fate: str = ""


class RunTimeReport(ReportPart):
    """How long a system took, see `nersery.experiments.run_state.clock`.

    Args:
        estimate: Seconds for one seed, as estimated before the run.
        seconds: Seconds that each seed took; null if unknown.
        killed: Whether a process was killed, so that part of the time is missing.
    """

    estimate: float | None = None
    seconds: list[float | None] = []
    killed: bool = False


class FileLink(ReportPart):
    """A file of the run.

    Args:
        system: The system that it belongs to; empty for the whole run.
        path: Relative to the report's folder.
    """

    system: str = ""
    label: str = "file"
    path: str = ""


class ScoredSentence(ReportPart):
    """A sentence that is worth labelling next, see `nersery.experiments.active_learning`.

    Args:
        expected_errors: The number of entities that the tagger is expected to get wrong in it.
        entities: The entities that the tagger predicts, as text.
    """

    id: str = ""
    text: str = ""
    expected_errors: str = ""
    entities: str = ""


class Report(ReportPart):
    """The results of a run."""

    name: str = "report"
    description: str = ""
    nersery: str = ""
    versions: Table[str] = {}
    command: str = ""
    recipe: dict[str, Any] = {}
    seeds: list[int] = []
    notes: list[str] = []
    data: Table[SplitReport] = {}
    sample: SampleReport = SampleReport()
    systems: list[SystemReport] = []
    search: list[TriedReport] = []
    next_sentences: list[ScoredSentence] = []
    run_time: Table[RunTimeReport] = {}
    files: list[FileLink] = []

    @model_validator(mode="after")
    def _correct_p_values(self) -> Report:
        comparisons = self.comparisons
        # Computed here and not stored, so that a report of some of the systems is corrected for just these.
        for comparison, corrected in zip(comparisons, holm([c.p or 0.0 for c in comparisons]), strict=True):
            comparison.corrected_p = corrected
        return self

    def __repr__(self) -> str:
        """The F1 of each system: all fields would take pages."""
        return f"Report({self.name!r}: {', '.join(f'{system.label} F1 {system.f1}' for system in self.systems)})"

    __str__ = __repr__

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON values. JSON has no NaN and no infinity (from a diverged loss), so both become null."""
        return _plain(self.model_dump(exclude_unset=True))

    @property
    def repetition(self) -> str:
        """The unit that a system runs once for: "seed", or "fold" in cross-validation, where seeds are fold numbers.

        The last training of `nersery grow` uses all sentences, so its seed lies beyond the folds.
        """
        folds = dict(self.recipe.get("sample") or {}).get("folds") or 0
        return "fold" if self.seeds and max(self.seeds) < folds else "seed"

    @property
    def reference(self) -> SystemReport | None:
        """The baseline that the other systems are compared with."""
        return next((system for system in self.systems if system.is_baseline), None)

    @property
    def best(self) -> SystemReport | None:
        """The system that a search has chosen without using test, or else the system with the highest F1.

        It is never the baseline.
        """
        reference = self.reference
        tried = [system for system in self.systems if system is not reference and system.f1.mean is not None]
        chosen = {tried_system.name for tried_system in self.search if tried_system.fate == CHOSEN}
        tried = [system for system in tried if system.name in chosen] or tried
        return max(tried, key=lambda s: (s.difference(reference) if reference else s.f1.mean) or 0.0, default=None)

    @property
    def comparisons(self) -> list[AgainstGold]:
        """The tests of systems against the baseline."""
        return [system.tested for system in self.systems if system.tested.p is not None]

    @property
    def types(self) -> list[str]:
        """All entity types that the report mentions, sorted."""
        types = {name for split in self.data.values() for name in split.types}
        for system in self.systems:
            types.update(system.per_type, system.errors.per_type)
            mistakes = (entity for one in system.errors.examples for entity in (*one.gold, *one.predicted))
            types.update(system.errors.confusion, *system.errors.confusion.values(), system.changes.per_type)
            types.update(e.type for one in system.changes.examples for e in (*one.gold, *one.before, *one.after))
            examples: list[Example | RejectExample] = [*system.examples, *system.reject_examples]
            shown = (sentence for one in examples for sentence in (one.parent, one.child))
            entities = (entity for sentence in shown if sentence for entity in sentence.entities)
            types.update(entity.type for entity in (*mistakes, *entities))
        return sorted(types)

    @property
    def data_files(self) -> Iterator[tuple[str, SplitReport]]:
        """The data files with their labels: one for each language if a split has several."""
        for name, split in self.data.items():
            for language, language_split in split.languages.items():
                yield f"{name} ({language}, {plural(language_split.sentences or 0, 'sentence')})", language_split
            if not split.languages:
                yield name, split


def _plain(value: Any) -> Any:
    """As JSON values. Pydantic would keep NaN in them, and its own JSON refuses file names that are not UTF-8."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
