"""Majority voting: several versions of a sentence become one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nersery.core.errors import NerseryError
from nersery.core.majority import elected
from nersery.core.sentence import Sentence

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

    See `nersery.core.majority.elected`. Scores that selectors gave to a version are dropped.

    Raises:
        NerseryError: If the versions have different words.
    """
    last = versions[-1]
    if len(versions) == 1:
        return last
    if any(version.words != last.words for version in versions):
        raise NerseryError(f"sentences with different words have the same id, {last.id!r}, so voting is impossible")
    origin = last.origin and replace(last.origin, method=METHOD)
    return replace(last.with_entities(elected([version.entities for version in versions])), origin=origin, scores={})


def each_once(*parts: Iterable[Sentence]) -> list[Sentence]:
    """All sentences in order; of several with the same id the last one, at the position of the first."""
    return list({sentence.id: sentence for part in parts for sentence in part}.values())
