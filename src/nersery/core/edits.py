"""Edits of the words of a sentence, and what they do to its entities, columns and spacing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from operator import index, itemgetter

from nersery.core.entity import Entity
from nersery.core.errors import DataError, Issue, shown
from nersery.core.text.spacing import are_spaced_alike, would_merge

Edit = tuple[int, int, Sequence[str]]
"""The positions ``[start, end)`` of words, and the words that replace them."""


def checked_edits(edits: Iterable[Edit], length: int, id: str) -> list[Edit]:
    """Return the edits in order, or raise `DataError` if they are not edits of a sentence of this length.

    Args:
        id: Id of the sentence in errors.
    """
    position = 0
    try:
        ordered = sorted(edits, key=itemgetter(0, 1))
        for start, end, new in ordered:
            if isinstance(new, str):
                raise DataError(
                    Issue(f"the new words are the string {shown(new)}, expected a list of words", sentence=id)
                )
            if not position <= index(start) <= index(end) <= length or len(new) < 0:
                span = f"[{shown(start)}, {shown(end)})"
                raise DataError(Issue(f"cannot edit words {span}: outside the sentence or overlapping", sentence=id))
            position = end
    except (TypeError, LookupError, ValueError):
        message = f"the edits are {shown(edits)}, expected (start, end, [word, …]) for each, with positions of words"
        raise DataError(Issue(message, sentence=id)) from None
    return ordered


def checked_order(order: Iterable[int], length: int, id: str) -> list[int]:
    """Return the new order of the words of a sentence, or raise `DataError` unless it has each position once."""
    try:
        positions = [*map(index, order)]
    except TypeError:
        positions = []
    if sorted(positions) != [*range(length)]:
        raise DataError(Issue(f"the order is {shown(order)}, expected each of 0 to {length - 1} once", sentence=id))
    return positions


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
            cut = f"the entity [{entity.start}, {entity.end}) {entity.type}"
            raise DataError(Issue(f"cannot edit words [{start}, {end}): they cut through {cut}", sentence=id))
    if shift == growth_inside == 0:
        return entity
    return Entity(entity.start + shift, entity.end + shift + growth_inside, entity.type, entity.score)


def spaces_after(
    words: Sequence[str],
    spaces: Sequence[bool],
    edits: Iterable[Edit],
    edited: Sequence[str],
    known: Mapping[tuple[str, ...], Sequence[bool]],
) -> list[bool | None]:
    """Whether a space follows each word but the last after edits, which must be in order; None if that is not known.

    Words that stay keep their spacing, and new words have that of the words in whose place they are if they are alike.
    It is not known within new words, and where words were inserted or deleted.

    Args:
        words: The words before the edits.
        spaces: Whether a space followed each of them but the last.
        edited: The words after the edits.
        known: Whether a space follows each word but the last of some of the new words.
    """
    before, after, position = [*spaces, None], list[bool | None](), 0
    places = dict[int, int]()  # of spaces beside new words: after the edits, and before
    for start, end, new in edits:
        after += before[position:start]
        if after and (start == end or not new):
            after[-1] = None
        places[len(after) - 1] = start - 1
        if new:
            after += known.get(tuple(new)) or [None] * (len(new) - 1)
            after.append(before[end - 1] if start < end else None)
            places[len(after) - 1] = end - 1
        position = end
    after = [*after, *before[position:]][:-1]
    joined = {pair for pair, space in zip(pairwise(words), spaces, strict=True) if not space}
    for place, old in places.items():
        if 0 <= place < len(after) and (space := after[place]) is not None:
            pair, reference = (edited[place], edited[place + 1]), (words[old], words[old + 1])
            is_taken_over = are_spaced_alike(pair, reference) and (space or pair in joined or not would_merge(*pair))
            after[place] = space if is_taken_over else None
    return after
