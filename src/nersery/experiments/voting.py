"""Several labellings of the same words become one: what most of them say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nersery.core.errors import NerseryError
from nersery.core.sentence import Entity, Sentence

METHOD = "vote"
"""What made such labels, in a sentence's origin."""


def voted(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Each sentence once, in the order in which they come, under the labels of the majority of those with its id.

    See `majority`.
    """
    versions: dict[str, list[Sentence]] = {}
    for sentence in sentences:
        versions.setdefault(sentence.id, []).append(sentence)
    return [majority(same) for same in versions.values()]


def majority(versions: Sequence[Sentence]) -> Sentence:
    """The last of several labellings of a sentence, with the entities that more than half of all have.

    An entity is the same only with the same words and type, so that no two of a majority overlap. Its score is the mean
    over all versions, 0 where a version lacks it and 1 where one has it without a score. What selectors said of one
    version is not said of the majority.

    Raises:
        NerseryError: When the versions have different words.

    >>> ada, here = Entity(0, 1, "PER", score=0.9), Entity(1, 2, "LOC")
    >>> votes = [Sentence(("Ada", "Oslo"), entities) for entities in ((ada,), (ada, here), ())]
    >>> [(entity.type, round(entity.score, 2)) for entity in majority(votes).entities]
    [('PER', 0.6)]
    """
    last = versions[-1]
    if len(versions) == 1:
        return last
    if any(version.words != last.words for version in versions):
        raise NerseryError(f"sentences with different words have the same id, {last.id!r}, and cannot be voted on")
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
