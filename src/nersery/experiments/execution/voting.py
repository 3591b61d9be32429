"""Majority voting: several labellings of the same words become one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nersery.core.errors import NerseryError
from nersery.core.sentence import Entity, Sentence

METHOD = "vote"
"""The method in the origin of such sentences."""


def voted(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Each sentence once, in the order of first occurrence, with the majority labels of all versions with its id.

    See `majority`.
    """
    versions: dict[str, list[Sentence]] = {}
    for sentence in sentences:
        versions.setdefault(sentence.id, []).append(sentence)
    return [majority(same) for same in versions.values()]


def majority(versions: Sequence[Sentence]) -> Sentence:
    """The last version of a sentence, with the entities that more than half of all versions have.

    Entities are the same if their words and types are, so entities with a majority never overlap. The score is the mean
    over all versions: 0 for a version without the entity, 1 for an entity without a score. Scores that selectors gave
    to a version are dropped.

    Raises:
        NerseryError: If the versions have different words.

    >>> ada, here = Entity(0, 1, "PER", score=0.9), Entity(1, 2, "LOC")
    >>> votes = [Sentence(("Ada", "Oslo"), entities) for entities in ((ada,), (ada, here), ())]
    >>> [(entity.type, round(entity.score, 2)) for entity in majority(votes).entities]
    [('PER', 0.6)]
    """
    last = versions[-1]
    if len(versions) == 1:
        return last
    if any(version.words != last.words for version in versions):
        raise NerseryError(f"sentences with different words have the same id, {last.id!r}, so voting is impossible")
    votes: dict[tuple[int, int, str], list[float]] = {}
    for version in versions:
        for entity in version.entities:
            scores = votes.setdefault((entity.start, entity.end, entity.type), [])
            scores.append(1.0 if entity.score is None else entity.score)
    kept = [
        Entity(*span, score=sum(scores) / len(versions))
        for span, scores in sorted(votes.items())
        if len(scores) > len(versions) / 2
    ]
    origin = last.origin and replace(last.origin, method=METHOD)
    return replace(last.with_entities(kept), origin=origin, scores={})


def each_once(*parts: Iterable[Sentence]) -> list[Sentence]:
    """All sentences in order; of several with the same id the last one, at the position of the first."""
    return list({sentence.id: sentence for part in parts for sentence in part}.values())
