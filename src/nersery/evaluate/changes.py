"""Differences between the predictions of two systems: the entities that one fixes and breaks against the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from nersery.core.sentence import Entity, Sentence
from nersery.evaluate.scores import paired

KINDS_OF_CHANGE = {
    "fixed": "in gold, missed or wrong before, correct now",
    "broken": "in gold, correct before, missed or wrong now",
    "gone": "predicted before and wrong, no longer predicted",
    "new": "not predicted before, predicted now and wrong",
}
"""The kinds of changes with their definitions. The first two concern gold entities, the others wrong predictions."""


@dataclass(frozen=True, slots=True)
class Change:
    """An entity that only one of two systems predicts.

    Args:
        kind: One of `KINDS_OF_CHANGE`.
        before: The gold sentence with the baseline's labels.
        after: The gold sentence with the system's labels.
    """

    kind: str
    entity: Entity
    truth: Sentence
    before: Sentence
    after: Sentence


def find_changes(gold: Iterable[Sentence], before: Iterable[Sentence], after: Iterable[Sentence]) -> list[Change]:
    """All changes from a baseline's predictions to a system's, in the order of the sentences.

    Raises:
        DataError: Naming every sentence that is missing, is not in gold, or has other words.

    >>> gold = Sentence(("Ada", "in", "Oslo"), (Entity(0, 1, "PER"), Entity(2, 3, "LOC")), id="1")
    >>> before, after = gold.with_entities(gold.entities[:1]), gold.with_entities(gold.entities[1:])
    >>> [(change.kind, change.entity.type) for change in find_changes([gold], [before], [after])]
    [('broken', 'PER'), ('fixed', 'LOC')]
    """
    gold = list(gold)
    changes = []
    for (truth, old), (_, new) in zip(paired(gold, before), paired(gold, after), strict=True):
        correct, predicted = {*truth.entities}, {*new.entities}
        for entity in sorted({*old.entities} ^ predicted):
            is_right, is_now = entity in correct, entity in predicted
            kind = ("fixed" if is_now else "broken") if is_right else "new" if is_now else "gone"
            changes.append(Change(kind, entity, truth, old, new))
    return changes


def count_changes(changes: Iterable[Change]) -> dict[str, Counter[str]]:
    """The counts of each kind of change by type, sorted by type.

    >>> count_changes([])
    {}
    """
    counts: dict[str, Counter[str]] = {}
    for change in changes:
        counts.setdefault(change.entity.type, Counter())[change.kind] += 1
    return {type_: counts[type_] for type_ in sorted(counts)}
