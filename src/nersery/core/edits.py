"""Edits of the words of a sentence, and what they do to its entities, columns and spacing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nersery.core.entity import Entity
from nersery.core.errors import DataError, Issue

Edit = tuple[int, int, Sequence[str]]
"""The positions ``[start, end)`` of words, and the words that replace them."""


def spliced(values: tuple[str, ...], edits: Iterable[Edit]) -> tuple[str, ...]:
    """The values after edits, which must be in order and must not overlap."""
    spliced: list[str] = []
    position = 0
    for start, end, new in edits:
        spliced += values[position:start]
        spliced += new
        position = end
    spliced += values[position:]
    return tuple(spliced)


def moved(entity: Entity, edits: Sequence[Edit], id: str) -> Entity:
    """An entity after edits, which must be in order; `id` names its sentence in errors."""
    shift = growth_inside = 0
    for start, end, new in edits:
        growth = len(new) - (end - start)
        if end <= entity.start:
            shift += growth
        elif start >= entity.end:
            break
        elif entity.start <= start and end <= entity.end:
            growth_inside += growth
        else:
            raise DataError(
                Issue(
                    f"cannot edit words [{start}, {end}): they cut through the entity "
                    f"[{entity.start}, {entity.end}) {entity.type}",
                    sentence=id,
                )
            )
    if shift == growth_inside == 0:
        return entity
    return Entity(entity.start + shift, entity.end + shift + growth_inside, entity.type, entity.score)


def spaces_after(
    spaces: Sequence[bool], edits: Iterable[Edit], known: Mapping[tuple[str, ...], Sequence[bool]]
) -> list[bool | None]:
    """Whether a space follows each word but the last after edits, which must be in order; None if that is not known.

    Words that stay keep their spacing, and new words have that of the words in whose place they are. It is not known
    within new words, and where words were inserted or deleted.

    Args:
        spaces: Whether a space followed each word but the last.
        known: Whether a space follows each word but the last of some of the new words.
    """
    before, after, position = [*spaces, None], list[bool | None](), 0
    for start, end, new in edits:
        after += before[position:start]
        if after and (start == end or not new):
            after[-1] = None
        if new:
            after += known.get(tuple(new)) or [None] * (len(new) - 1)
            after.append(before[end - 1] if start < end else None)
        position = end
    return [*after, *before[position:]][:-1]
