"""A sentence as segments: its entities, with the words that differ from its parent or child."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

from nersery.report.parts import ShownSentence


@dataclass(frozen=True, slots=True)
class TextRun:
    """Adjacent words, all of them changed or all unchanged."""

    text: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """An entity (with its type), or the words between two entities (without one)."""

    type: str | None
    runs: tuple[TextRun, ...]


def segments(sentence: ShownSentence, kept: frozenset[int] | None = None) -> tuple[Segment, ...]:
    """Cut a sentence into its entities and the words between them.

    Args:
        kept: Positions of unchanged words; None if there is nothing to compare with.
    """
    words = sentence.words
    result = []
    position = 0
    for entity in sorted(sentence.entities, key=lambda entity: entity.start):
        result.append(_segment(None, words, position, entity.start, kept))
        result.append(_segment(entity.type, words, entity.start, entity.end, kept))
        position = entity.end
    result.append(_segment(None, words, position, len(words), kept))
    return tuple(segment for segment in result if segment.runs)


def compared(
    parent: ShownSentence | None, child: ShownSentence
) -> tuple[tuple[Segment, ...] | None, tuple[Segment, ...]]:
    """Parent and child, in which words that only one of them has are marked; nothing is marked without a parent.

    >>> from nersery.core.sentence import Entity
    >>> person = Entity(0, 1, "PER")
    >>> parent = ShownSentence(words=["Ada", "wrote"], entities=[person])
    >>> child = ShownSentence(words=["Grace", "wrote"], entities=[person])
    >>> compared(parent, child)[1][0]
    Segment(type='PER', runs=(TextRun(text='Grace', changed=True),))
    """
    if parent is None:
        return None, segments(child)
    # From 200 words on, it looks for no matches that begin with a frequent word: with them 10,000 words take a minute.
    matcher = SequenceMatcher(None, parent.words, child.words)
    blocks = matcher.get_matching_blocks()
    in_parent = frozenset(block.a + offset for block in blocks for offset in range(block.size))
    in_child = frozenset(block.b + offset for block in blocks for offset in range(block.size))
    return segments(parent, in_parent), segments(child, in_child)


def _segment(type_: str | None, words: Sequence[str], start: int, end: int, kept: frozenset[int] | None) -> Segment:
    positions = range(start, end)
    groups = groupby(positions, key=lambda position: kept is not None and position not in kept)
    return Segment(
        type_, tuple(TextRun(" ".join(words[place] for place in group), changed) for changed, group in groups)
    )
