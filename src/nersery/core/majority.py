"""Merge several labellings of the same words, by majority vote or by keeping the last one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import fsum

from nersery.core.entity import Entity
from nersery.core.errors import NerseryError
from nersery.core.sentence import Sentence

METHOD = "vote"
"""The method in the origin of sentences with labels from a majority vote."""


def majority_entities(votes: Sequence[Iterable[Entity]], weights: Sequence[float] | None = None) -> list[Entity]:
    """The entities with more than half of the votes, in order; they never overlap.

    Entities are the same if their words and types are. The score of an entity is its weighted mean over all voters:
    0 for a voter without the entity, 1 for an entity without a score.

    Args:
        weights: Weights of the voters; None for equal weights.

    >>> ada, here = Entity(0, 1, "PER", score=0.9), Entity(1, 2, "LOC")
    >>> [(entity.type, round(entity.score, 2)) for entity in majority_entities([(ada,), (ada, here), ()])]
    [('PER', 0.6)]
    """
    weights = weights or [1.0] * len(votes)
    total = fsum(weights)  # no rounding errors, which could make each of two halves more than a half
    shares: defaultdict[Entity, list[float]] = defaultdict(list)
    scores: defaultdict[Entity, float] = defaultdict(float)
    for entities, weight in zip(votes, weights, strict=True):
        for entity in entities:
            shares[entity].append(weight)
            scores[entity] += weight * (1.0 if entity.score is None else entity.score)
    return [replace(e, score=scores[e] / total) for e, share in sorted(shares.items()) if fsum(share) > total / 2]


def merged_by_vote(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Each sentence once, in the order of first occurrence, with the majority labels of all versions with its id.

    See `majority`.
    """
    versions: dict[str, list[Sentence]] = {}
    for sentence in sentences:
        versions.setdefault(sentence.id, []).append(sentence)
    return [majority(same) for same in versions.values()]


def majority(versions: Sequence[Sentence]) -> Sentence:
    """The last version of a sentence, with the entities that more than half of all versions have.

    See `majority_entities`. Scores that selectors gave to a version are dropped.

    Raises:
        NerseryError: If the versions have different words.
    """
    last = versions[-1]
    if len(versions) == 1:
        return last
    if any(version.words != last.words for version in versions):
        raise NerseryError(f"sentences with different words have the same id, {last.id!r}, so voting is impossible")
    origin = last.origin and replace(last.origin, method=METHOD)
    return replace(
        last.with_entities(majority_entities([version.entities for version in versions])), origin=origin, scores={}
    )


def last_of_each_id(*parts: Iterable[Sentence]) -> list[Sentence]:
    """All sentences in order. Of several with the same id, keep the last, at the position of the first."""
    return list({sentence.id: sentence for part in parts for sentence in part}.values())
