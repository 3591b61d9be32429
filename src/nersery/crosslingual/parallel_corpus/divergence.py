"""Guess where two texts that should match line by line run apart, from lengths, numbers and shared words."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Sequence
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from nersery.core.sentence import Sentence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Arrays = tuple[NDArray[np.float64], NDArray[np.uint64]]

WINDOW = 100
"""Number of lines after a place that are compared."""
MAX_SHIFT = 20
"""Maximum number of lines missing in one place, unless all missing lines are in one place."""
MIN_EVIDENCE = 4.0
"""Standard errors by which the shifted lines must fit better."""
MIN_PAIRS = 4
"""Minimum number of lines that must remain to be compared."""
MIN_IF_EQUAL = 10
"""The same if only these lines show that something is wrong. By chance, 7 lines of correct translations fit better."""
_DIGIT = re.compile(r"\d")
_LINE = re.compile(r":\d+$", re.ASCII)
"""The number of a line at the end of an id."""


class Features:
    """The compared features of the lines of a side: their lengths, and 64 bits that mark some of their words."""

    def __init__(self, lines: Iterable[Sequence[str]] = ()) -> None:
        self._lengths, self._marks = array("d"), array("Q")  # 16 bytes per line, even for the longest text
        for words in lines:
            self.add(words)

    def add(self, words: Sequence[str]) -> None:
        """Note the next line."""
        self._lengths.append(math.log(1 + len("".join(words))))
        self._marks.append(_marks(words))

    def __len__(self) -> int:
        return len(self._lengths)

    def arrays(self) -> _Arrays:
        """The lengths and the marks. Shape: (lines,) each"""
        import numpy as np

        return np.array(self._lengths), np.array(self._marks)


class Divergence(NamedTuple):
    """Where two texts run apart: the number of the line, from 0, and how many lines the source is ahead from there.

    If the target is ahead, that number is negative.
    """

    line: int
    ahead: int


def first_divergence(first: Features, second: Features) -> Divergence | None:
    """Find the line from which on the lines of two texts are no translations of each other.

    Args:
        first: Features of the source.
        second: Features of the target. In texts of equal length, lines may be missing in one place and added elsewhere.

    Returns:
        The divergence; None if it cannot be found.
    """
    excess, sides = len(first) - len(second), (first.arrays(), second.arrays())
    furthest = abs(excess) or MAX_SHIFT
    steps = {*range(1, min(furthest, MAX_SHIFT) + 1), furthest}
    directions = (1,) if excess > 0 else (-1,) if excess else (1, -1)
    min_pairs = MIN_PAIRS if excess else MIN_IF_EQUAL
    shifts = [_likeliest_shift(*sides, direction * step, min_pairs) for step in steps for direction in directions]
    significant = [(line, offset, gain) for line, offset, gain in shifts if gain > 0]
    if not significant:
        return None
    min_gain = max(gain for *_, gain in significant) / 2
    line, offset, _ = min(shift for shift in significant if shift[2] >= min_gain)
    return Divergence(line, offset)


def differing_blank_lines(here: Iterable[Sentence], there: Iterable[Sentence]) -> str:
    """A description of blank lines in different places of two texts; empty if there are none.

    If there are some, the texts are not aligned line by line. Ids have line numbers: ``text:7``.
    """
    here_lines, there_lines = (_lines_of(side) for side in (here, there))
    gapless = [*range(1, len(here_lines) + 1)]
    if len(here_lines) != len(there_lines) or gapless in (here_lines, there_lines):
        return ""
    for number, (line, other) in enumerate(zip(here_lines, there_lines, strict=True), start=1):
        if line != other:
            return (
                f"its blank lines are in other places than in the other file: sentence {number} is in line {line} "
                f"here, but in line {other} there"
            )
    return ""


def _lines_of(sentences: Iterable[Sentence]) -> list[int]:
    return [int(sentence.id.rpartition(":")[2]) for sentence in sentences if _LINE.search(sentence.id)]


def _likeliest_shift(first: _Arrays, second: _Arrays, offset: int, min_pairs: int) -> tuple[int, int, float]:
    """The likeliest line from which the sides are shifted by an offset, the offset, and how much better they fit."""
    import numpy as np

    length = min(len(first[0]), len(second[0])) - abs(offset)
    if length < min_pairs:
        return 0, offset, 0.0
    gain = _line_similarities(first, second, offset, length) - _line_similarities(first, second, 0, length)
    summed = np.concatenate(([0.0], np.cumsum(gain)))
    ends = np.minimum(np.arange(length) + WINDOW, length)
    better = summed[ends] - 2 * summed[:length]  # in the window after a line, and not before it
    start = max(0, int(np.argmax(better)) - WINDOW // 2)
    line = min(length - 1, start + int(np.argmin(summed[start : start + WINDOW])))  # where losses turn into gains
    window = gain[line : ends[line]]
    error = float(window.std()) / math.sqrt(len(window)) + 1e-9
    is_significant = len(window) >= min_pairs and window.mean() / error >= MIN_EVIDENCE
    return line, offset, float(better[line]) if is_significant else 0.0


def _marks(words: Sequence[str]) -> int:
    """One bit for each word that may be the same in another language: a word with a digit or a capital."""
    candidates = [*filterfalse(str.islower, words)]
    text = "\n".join(candidates)
    lowered = text.lower()
    if lowered == text and not _DIGIT.search(text):  # most lines of a script without capitals
        return 0
    marks = 0
    for word, lower in zip(candidates, lowered.split("\n"), strict=True):
        if word != lower or _DIGIT.search(word):
            marks |= 1 << crc32(lower.encode("utf-8", "replace")) % 64
    return marks


def _line_similarities(first: _Arrays, second: _Arrays, offset: int, length: int) -> Any:
    """How well each of the first lines fits its line on the other side, if one side is ahead. Shape: (length,)"""
    import numpy as np

    here, there = max(offset, 0), max(-offset, 0)
    lengths = first[0][here : here + length] - second[0][there : there + length]
    a, b = first[1][here : here + length], second[1][there : there + length]
    shared = np.bitwise_count(a & b) / np.maximum(1, np.maximum(np.bitwise_count(a), np.bitwise_count(b)))
    return shared - np.abs(lengths - np.median(lengths))
