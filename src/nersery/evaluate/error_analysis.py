"""Error analysis: counts of mistakes by kind and type, and examples. Every mistake belongs to exactly one kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from nersery.core.sentence import Entity, Sentence
from nersery.core.text.spacing import joined_words
from nersery.evaluate.scores import paired

T = TypeVar("T")

CORRECT = "correct"
KINDS = {
    "boundary": "right type, overlapping but different words",
    "type": "right words, wrong type",
    "both": "wrong type, overlapping but different words",
    "missed": "in gold, without an overlapping prediction of its own",
    "spurious": "predicted, without an overlapping gold entity of its own",
}
"""The kinds of mistakes with their definitions."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong, missed or spurious entity.

    Args:
        kind: One of `KINDS`.
        gold: None if it is spurious.
        predicted: None if it is missed.
        truth: The gold sentence.
        guess: The same words with predicted labels.
    """

    kind: str
    gold: Entity | None
    predicted: Entity | None
    truth: Sentence
    guess: Sentence

    @property
    def type(self) -> str:
        """The type that the mistake is counted under: the gold type, or the predicted type if it is spurious."""
        entity = self.gold or self.predicted
        assert entity is not None
        return entity.type

    def as_dict(self) -> dict[str, Any]:
        """The mistake for JSON: the sentence with both labellings, and the two entities."""
        shown = {"kind": self.kind, "id": self.truth.id, "words": list(self.truth.words)}
        if self.truth.language:
            shown["language"] = self.truth.language
        return {
            **shown,
            "gold": [entity.as_dict() for entity in self.truth.entities],
            "predicted": [entity.as_dict() for entity in self.guess.entities],
            "gold_entity": self.gold and self.gold.as_dict(),
            "predicted_entity": self.predicted and self.predicted.as_dict(),
        }


@dataclass
class Errors:
    """All mistakes of some predictions.

    The counts of correct, boundary, type, both and missed add up to the gold entities. Those of correct, boundary,
    type, both and spurious add up to the predicted entities.

    Args:
        correct: The number of correct entities by type.
        mistakes: In the order of the sentences.
    """

    correct: Counter[str] = field(default_factory=Counter)
    mistakes: list[Mistake] = field(default_factory=list)

    def add(self, truth: Sentence, guess: Sentence) -> None:
        """Compare the entities of a sentence, see `find_errors`."""
        for gold, predicted in _matched(truth.entities, guess.entities):
            kind = _kind(gold, predicted)
            if kind is None:
                self.correct[gold.type if gold else ""] += 1
            else:
                self.mistakes.append(Mistake(kind, gold, predicted, truth, guess))

    @property
    def per_type(self) -> dict[str, dict[str, int]]:
        """Counts of correct entities and of each kind of mistake, sorted by type."""
        counts = Counter((mistake.type, mistake.kind) for mistake in self.mistakes)
        types = sorted({*self.correct, *(type_ for type_, _ in counts)})
        return {
            type_: {CORRECT: self.correct[type_], **{kind: counts[type_, kind] for kind in KINDS}} for type_ in types
        }

    @property
    def confusion(self) -> dict[str, dict[str, int]]:
        """Counts by gold type and predicted type, of entities paired with a prediction, with the same words or not.

        Missed and spurious entities have no counterpart, so they are not counted.
        """
        pairs = Counter({(type_, type_): count for type_, count in self.correct.items()})
        pairs.update((m.gold.type, m.predicted.type) for m in self.mistakes if m.gold and m.predicted)
        rows: dict[str, dict[str, int]] = {}
        for (gold, predicted), count in sorted(pairs.items()):
            rows.setdefault(gold, {})[predicted] = count
        return rows

    def examples(self, count: int) -> list[Mistake]:
        """At most ``count`` mistakes of each kind, evenly spread over all mistakes of that kind."""
        return [
            mistake
            for kind in KINDS
            for mistake in spread([mistake for mistake in self.mistakes if mistake.kind == kind], count)
        ]

    def as_dict(self, examples: int) -> dict[str, Any]:
        """The counts and examples of each kind for JSON."""
        return {"per_type": self.per_type, "examples": [mistake.as_dict() for mistake in self.examples(examples)]}


def find_errors(gold: Iterable[Sentence], predicted: Iterable[Sentence]) -> Errors:
    """Compare predicted entities with gold entities. Each is in at most one pair, and counts as exactly one kind.

    Entities with the same words are paired first, whatever their types. Of the others that share words, entities of the
    same type are paired first, then those that share the most words, then those that come first. The rest is missed or
    spurious, even if it shares words with an entity that has another partner.

    Args:
        gold: Sentences with distinct ids.
        predicted: The same ids and words in any order.

    Raises:
        DataError: Naming every sentence that is missing, is not in gold, or has other words.

    >>> gold = Sentence(("Ada", "Lovelace", "in", "Oslo"), (Entity(0, 2, "PER"), Entity(3, 4, "LOC")), id="1")
    >>> errors = find_errors([gold], [gold.with_entities([Entity(0, 1, "PER"), Entity(3, 4, "ORG")])])
    >>> [(mistake.kind, mistake.type) for mistake in errors.mistakes]
    [('boundary', 'PER'), ('type', 'LOC')]
    """
    errors = Errors()
    for truth, guess in paired(gold, predicted):
        errors.add(truth, guess)
    return errors


def _kind(gold: Entity | None, predicted: Entity | None) -> str | None:
    """The kind of a pair's mistake; None if it is correct."""
    if gold is None or predicted is None:
        return "missed" if predicted is None else "spurious"
    if (gold.start, gold.end) == (predicted.start, predicted.end):
        return None if gold.type == predicted.type else "type"
    return "boundary" if gold.type == predicted.type else "both"


def _matched(gold: Sequence[Entity], predicted: Sequence[Entity]) -> list[tuple[Entity | None, Entity | None]]:
    """Pairs that contain every entity once, with its partner or None, in the order of the words."""
    free_gold, free_predicted = dict.fromkeys(gold), dict.fromkeys(predicted)
    pairs: list[tuple[Entity | None, Entity | None]] = []
    overlaps = ((one, other) for one in gold for other in predicted if one.overlaps(other))
    for one, other in sorted(overlaps, key=_closeness):  # greedy: the closest pairs are taken first
        if one in free_gold and other in free_predicted:
            pairs.append((one, other))
            del free_gold[one], free_predicted[other]
    pairs += [(one, None) for one in free_gold]
    pairs += [(None, other) for other in free_predicted]
    return sorted(pairs, key=lambda pair: min(entity.start for entity in pair if entity))


def _closeness(pair: tuple[Entity, Entity]) -> tuple[bool, bool, int, int, int]:
    """A sort key that puts the closest pair first."""
    gold, predicted = pair
    same_words = (gold.start, gold.end) == (predicted.start, predicted.end)
    shared = min(gold.end, predicted.end) - max(gold.start, predicted.start)
    return (not same_words, gold.type != predicted.type, -shared, gold.start, predicted.start)


def mistake_text(words: Sequence[str], gold: Entity | None, predicted: Entity | None) -> str:
    """The gold and the predicted entity of a mistake as text for readers.

    >>> mistake_text(["New", "York"], Entity(0, 2, "LOC"), Entity(1, 2, "PER"))
    '“New York” LOC, predicted “York” PER'
    >>> mistake_text(["北", "京"], None, Entity(0, 2, "LOC"))
    'nothing, predicted “北京” LOC'
    """
    return f"{entity_text(words, gold)}, predicted {entity_text(words, predicted)}"


def entity_text(words: Sequence[str], entity: Entity | None) -> str:
    """The words and the type of an entity as text for readers."""
    return f"“{joined_words(words[entity.start : entity.end])}” {entity.type}" if entity else "nothing"


def spread(items: Sequence[T], count: int) -> list[T]:
    """At most ``count`` of the items, evenly spread over all.

    >>> spread("abcdefgh", 4), spread("ab", 4)
    (['a', 'c', 'e', 'g'], ['a', 'b'])
    """
    if len(items) <= count:
        return list(items)
    return [items[number * len(items) // count] for number in range(count)]
