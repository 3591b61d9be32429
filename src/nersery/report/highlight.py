"""A sentence as segments (entities and the words between them), with the words that differ from its parent or child."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import groupby

from nersery.core.text.spacing import are_written_together, joined_words
from nersery.report.parts import ShownSentence


@dataclass(frozen=True, slots=True)
class TextRun:
    """Adjacent words that are either all changed or all unchanged."""

    text: str
    changed: bool
    gap: str = field(default=" ", repr=False)
    """What stands between it and the words before it, if there are any: nothing in a script without spaces."""


@dataclass(frozen=True, slots=True)
class Segment:
    """An entity (with its type), or the words between two entities (without one)."""

    type: str | None
    runs: tuple[TextRun, ...]


def segments(sentence: ShownSentence, kept: Set[int] | None = None) -> tuple[Segment, ...]:
    """Split a sentence into its entities and the words between them.

    Args:
        kept: Positions of unchanged words; None if there is nothing to compare with.
    """
    all_segments = (_segment(type_, sentence.words, words, kept) for type_, words in _stretches(sentence))
    return tuple(segment for segment in all_segments if segment.runs)


def compared(
    parent: ShownSentence | None, child: ShownSentence
) -> tuple[tuple[Segment, ...] | None, tuple[Segment, ...]]:
    """Compare parent and child, and mark the words that differ. Without a parent, nothing is marked.

    >>> from nersery.core.sentence import Entity
    >>> person = Entity(0, 1, "PER")
    >>> parent = ShownSentence(words=["Ada", "wrote"], entities=[person])
    >>> child = ShownSentence(words=["Grace", "wrote"], entities=[person])
    >>> compared(parent, child)[1][0]
    Segment(type='PER', runs=(TextRun(text='Grace', changed=True),))
    """
    if parent is None:
        return None, segments(child)
    in_parent, in_child = set[int](), set[int]()
    for old, new in _counterparts(parent, child):
        # From 200 words on, `SequenceMatcher` ignores matches that begin with a frequent word. Without this, comparing
        # 10,000 words would take a minute.
        matcher = SequenceMatcher(None, parent.words[old.start : old.stop], child.words[new.start : new.stop])
        for block in matcher.get_matching_blocks():
            in_parent.update(old[block.a : block.a + block.size])
            in_child.update(new[block.b : block.b + block.size])
    return segments(parent, in_parent), segments(child, in_child)


def _stretches(sentence: ShownSentence) -> Iterator[tuple[str | None, range]]:
    """The positions of the words in each entity (with its type) and around it (with None); ranges may be empty."""
    position = 0
    for entity in sorted(sentence.entities, key=lambda entity: entity.start):
        yield None, range(position, entity.start)
        yield entity.type, range(entity.start, entity.end)
        position = entity.end
    yield None, range(position, len(sentence.words))


def _counterparts(parent: ShownSentence, child: ShownSentence) -> Iterable[tuple[range, range]]:
    """The ranges to compare: by stretch if both have the same entity types in order, else the whole sentences."""
    (types, old), (new_types, new) = zip(*_stretches(parent), strict=True), zip(*_stretches(child), strict=True)
    if types == new_types:
        return zip(old, new, strict=True)
    return [(range(len(parent.words)), range(len(child.words)))]


def _segment(type_: str | None, words: Sequence[str], positions: range, kept: Set[int] | None) -> Segment:
    groups = groupby(positions, key=lambda position: kept is not None and position not in kept)
    return Segment(type_, tuple(_run(words, [*group], changed) for changed, group in groups))


def _run(words: Sequence[str], positions: Sequence[int], changed: bool) -> TextRun:
    start, end = positions[0], positions[-1] + 1
    touches = start > 0 and are_written_together(words[start - 1], words[start])
    return TextRun(joined_words(words[start:end]), changed, "" if touches else " ")
