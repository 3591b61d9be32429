"""Majority vote: several labellings of the same words become one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from nersery.core.entity import Entity


def elected(votes: Sequence[Iterable[Entity]], weights: Sequence[float] | None = None) -> list[Entity]:
    """The entities with more than half of the votes, in order; they never overlap.

    Entities are the same if their words and types are. The score of one is its mean over all voters: 0 for a voter
    without the entity, 1 for an entity without a score.

    Args:
        votes: The entities of each voter.
        weights: Of the voters; None for equal ones.

    >>> ada, here = Entity(0, 1, "PER", score=0.9), Entity(1, 2, "LOC")
    >>> [(entity.type, round(entity.score, 2)) for entity in elected([(ada,), (ada, here), ()])]
    [('PER', 0.6)]
    """
    weights = weights or [1.0] * len(votes)
    total = sum(weights)
    shares: defaultdict[Entity, float] = defaultdict(float)
    scores: defaultdict[Entity, float] = defaultdict(float)
    for entities, weight in zip(votes, weights, strict=True):
        for entity in entities:
            shares[entity] += weight
            scores[entity] += weight * (1.0 if entity.score is None else entity.score)
    return [replace(e, score=scores[e] / total) for e, share in sorted(shares.items()) if share > total / 2]
