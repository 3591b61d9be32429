"""Scores of groups of entities: seen and unseen in training, or by the length of their sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from nersery.core.sentence import Entity, Sentence
from nersery.core.text.text_forms import folded
from nersery.evaluate.scores import Counts, paired

SEEN, OTHER_TYPE, UNSEEN = NOVELTY = ("seen", "seen with another type", "unseen")
"""Groups by whether an entity's words occur in training, ignoring case and Unicode normal form."""
LENGTHS = ("1 to 10", "11 to 20", "21 to 30", "31 to 40", "over 40")
"""Groups by the number of words of the sentence."""

GroupOf = Callable[[Sentence, Entity], str]


def score_groups(gold: Iterable[Sentence], predicted: Iterable[Sentence], group_of: GroupOf) -> dict[str, Counts]:
    """The counts of each group. A correct prediction is in the group of its gold entity.

    Args:
        group_of: Returns the group of an entity. It depends only on the sentence's words and the entity.

    Raises:
        DataError: Naming every sentence that is missing, is not in gold, or has other words.

    >>> train = [Sentence(("Ada",), (Entity(0, 1, "PER"),), id="0")]
    >>> gold = [Sentence(("Ada", "met", "Bo"), (Entity(0, 1, "PER"), Entity(2, 3, "PER")), id="1")]
    >>> found = score_groups(gold, [gold[0].with_entities([Entity(0, 1, "PER")])], novelty_groups(train))
    >>> found["seen"].f1, found["unseen"].f1
    (1.0, 0.0)
    """
    counts = [Counter[str](), Counter[str](), Counter[str]()]
    for truth, guess in paired(gold, predicted):
        correct = {*guess.entities} & {*truth.entities}
        for counter, entities in zip(counts, (correct, guess.entities, truth.entities), strict=True):
            counter.update(group_of(truth, entity) for entity in entities)
    return {group: Counts(*(counter[group] for counter in counts)) for group in {**counts[1], **counts[2]}}


def novelty_groups(train: Iterable[Sentence]) -> GroupOf:
    """The groups of `NOVELTY`: whether an entity in training has the same words, and whether one has the same type."""
    types: dict[tuple[str, ...], set[str]] = {}
    for sentence in train:
        for entity in sentence.entities:
            types.setdefault(_words(sentence, entity), set()).add(entity.type)

    def group_of(sentence: Sentence, entity: Entity) -> str:
        known_types = types.get(_words(sentence, entity))
        return UNSEEN if known_types is None else SEEN if entity.type in known_types else OTHER_TYPE

    return group_of


def _words(sentence: Sentence, entity: Entity) -> tuple[str, ...]:
    return tuple(map(folded, sentence.mention(entity)))


def length_group(sentence: Sentence, _entity: Entity) -> str:
    """The group in `LENGTHS` that an entity's sentence belongs to."""
    return LENGTHS[min((len(sentence) - 1) // 10, len(LENGTHS) - 1)]
