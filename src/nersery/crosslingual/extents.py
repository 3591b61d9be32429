"""How long the sides of parallel text are, and what is in a place of them: for messages on sides that do not fit."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from nersery.crosslingual.sides import Lines, in_order, is_empty, quoted, words_of
from nersery.io.base import Source
from nersery.io.jsonl import JsonlSource
from nersery.io.text import is_blank


class Extent(NamedTuple):
    """The number of the last row of a side, of the last one with words, of blank ones before it, and of the first."""

    rows: int
    last: int
    blank: int = 0
    first_blank: int = 0


def extent(source: Source) -> Extent:
    """How long a side is; text is only counted, not parsed."""
    if isinstance(source, JsonlSource):
        rows = sum(1 for _ in source.values())
        return Extent(rows, rows)
    rows = last = words = first_blank = 0
    sides = source.file.lines() if isinstance(source, Lines) else in_order(source)
    for rows, side in enumerate(sides, start=1):
        if is_blank(side) if isinstance(side, str) else is_empty(side):
            first_blank = first_blank or rows
        else:
            last, words = rows, words + 1
    return Extent(rows, last, last - words, first_blank)


def excerpt(source: Source, number: int) -> str:
    """The beginning of a sentence, in quotation marks."""
    side = next(islice(in_order(source), number - 1, None), None)
    return quoted(words_of(side) if side is not None else ())
