"""Where two files that should go line by line run apart: a guess from lengths, numbers and words that both have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WINDOW = 100
"""Lines behind a place that are looked at."""
MOST_SHIFT = 20
"""So many lines may be missing in one place, unless all of them are."""
LEAST_EVIDENCE = 4.0
"""Standard errors by which the shifted lines must fit better."""
FEWEST = 4
"""Lines that must be left to look at."""


def where_apart(source: Iterable[Sequence[str]], target: Iterable[Sequence[str]]) -> tuple[int, int] | None:
    """Find the line from which two texts of different lengths are misaligned.

    Args:
        source: Words of each line.
        target: Words of each line.

    Returns:
        The number of the line, from 0, and how many lines the source is ahead from there (negative: the target is);
        None if it cannot be found.
    """
    first, second = _Features.of(source), _Features.of(target)
    excess = len(first) - len(second)
    sign = 1 if excess > 0 else -1
    shifts = {*range(1, min(abs(excess), MOST_SHIFT) + 1), abs(excess)} if excess else ()
    found = [_break(first, second, sign * shift) for shift in shifts]
    seen = [(place, offset, gain) for place, offset, gain in found if gain > 0]
    least = max((gain for *_, gain in seen), default=0.0) / 2
    place, offset, _ = min((one for one in seen if one[2] >= least), default=(0, 0, 0.0))
    return (place, offset) if seen else None


def _break(first: _Features, second: _Features, offset: int) -> tuple[int, int, float]:
    """The likeliest place from which on the sides are shifted by so much, the shift, and how much better they fit."""
    import numpy as np

    length = min(len(first), len(second)) - abs(offset)
    if length < FEWEST:
        return 0, offset, 0.0
    gain = _fit(first, second, offset, length) - _fit(first, second, 0, length)
    summed = np.concatenate(([0.0], np.cumsum(gain)))
    ends = np.minimum(np.arange(length) + WINDOW, length)
    better = summed[ends] - 2 * summed[:length]  # in the window behind a place, and not in front of it
    start = max(0, int(np.argmax(better)) - WINDOW // 2)
    place = min(length - 1, start + int(np.argmin(summed[start : start + WINDOW])))  # where losses turn into gains
    window = gain[place : ends[place]]
    error = float(window.std()) / math.sqrt(len(window)) + 1e-9
    is_seen = len(window) >= FEWEST and window.mean() / error >= LEAST_EVIDENCE
    return place, offset, float(better[place]) if is_seen else 0.0


class _Features:
    """What of the lines of a side is compared: their lengths, and which of 64 marks their words leave."""

    def __init__(self, lengths: NDArray[np.float64], marks: NDArray[np.uint64]) -> None:
        self.lengths, self.marks = lengths, marks

    @classmethod
    def of(cls, lines: Iterable[Sequence[str]]) -> _Features:
        import numpy as np

        rows = [(math.log(1 + sum(map(len, words))), _marks(words)) for words in lines]
        return cls(np.array([row[0] for row in rows]), np.array([row[1] for row in rows], np.uint64))

    def __len__(self) -> int:
        return len(self.lengths)


def _marks(words: Sequence[str]) -> int:
    """A bit for each word that may be the same in another language: with a digit, or a capital."""
    marks = 0
    for word in words:
        if not word.islower() and any(character.isdigit() or character.isupper() for character in word):
            marks |= 1 << crc32(word.lower().encode("utf-8", "replace")) % 64
    return marks


def _fit(first: _Features, second: _Features, offset: int, length: int) -> Any:
    """How well each of the first lines fits the one of the other side; one side is ahead. Shape: (length,)"""
    import numpy as np

    here, there = max(offset, 0), max(-offset, 0)
    lengths = first.lengths[here : here + length] - second.lengths[there : there + length]
    a, b = first.marks[here : here + length], second.marks[there : there + length]
    shared = np.bitwise_count(a & b) / np.maximum(1, np.maximum(np.bitwise_count(a), np.bitwise_count(b)))
    return shared - np.abs(lengths - np.median(lengths))
