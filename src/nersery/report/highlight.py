"""A sentence as runs of words: which belong to an entity, and which differ from its parent or child."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring words that are all changed, or all not."""

    text: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """An entity (with its type), or the words between two entities (without one)."""

    type: str | None
    runs: tuple[Run, ...]


def segments(sentence: Mapping[str, Any], kept: frozenset[int] | None = None) -> tuple[Segment, ...]:
    """Cut a sentence into entities and what lies between them.

    Args:
        sentence: As in ``report.json``: words and entities with half-open ``start`` and ``end``.
        kept: Positions of the words that did not change; None when there is nothing to compare with.
    """
    words: Sequence[str] = sentence["words"]
    result = []
    position = 0
    for entity in sorted(sentence.get("entities") or (), key=lambda entity: int(entity["start"])):
        result.append(_segment(None, words, position, entity["start"], kept))
        result.append(_segment(entity["type"], words, entity["start"], entity["end"], kept))
        position = entity["end"]
    result.append(_segment(None, words, position, len(words), kept))
    return tuple(segment for segment in result if segment.runs)


def compared(
    parent: Mapping[str, Any] | None, child: Mapping[str, Any]
) -> tuple[tuple[Segment, ...] | None, tuple[Segment, ...]]:
    """Parent and child with the words marked that only one of them has.

    Without a parent nothing is marked.

    >>> parent = {"words": ["Ada", "wrote"], "entities": [{"start": 0, "end": 1, "type": "PER"}]}
    >>> child = {"words": ["Grace", "wrote"], "entities": [{"start": 0, "end": 1, "type": "PER"}]}
    >>> compared(parent, child)[1][0]
    Segment(type='PER', runs=(Run(text='Grace', changed=True),))
    """
    if parent is None:
        return None, segments(child)
    matcher = SequenceMatcher(None, parent["words"], child["words"], autojunk=False)
    blocks = matcher.get_matching_blocks()
    in_parent = frozenset(block.a + offset for block in blocks for offset in range(block.size))
    in_child = frozenset(block.b + offset for block in blocks for offset in range(block.size))
    return segments(parent, in_parent), segments(child, in_child)


def _segment(type_: str | None, words: Sequence[str], start: int, end: int, kept: frozenset[int] | None) -> Segment:
    positions = range(start, end)
    groups = groupby(positions, key=lambda position: kept is not None and position not in kept)
    return Segment(type_, tuple(Run(" ".join(words[place] for place in group), changed) for changed, group in groups))
