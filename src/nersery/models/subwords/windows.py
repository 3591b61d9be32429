"""Overlapping windows over sentences that are longer than a model."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

MAX_SUBWORDS = 512
"""The longest window. Some models claim to read any length."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a sentence that a model can read at once.

    Args:
        subwords: Subword ids with the model's special tokens.
        firsts: For each word of the window, the position of its first subword in ``subwords``.
        start: The number of the sentence's word that the window begins with.
        core: The sentence's words ``[start, end)`` that take their result from this window. The cores of all windows
            of a sentence cover each word once.
    """

    subwords: tuple[int, ...]
    firsts: tuple[int, ...]
    start: int
    core: tuple[int, int]


def windows_over(
    words: Sequence[tuple[int, ...]], room: int, prefix: Sequence[int] = (), suffix: Sequence[int] = ()
) -> list[Window]:
    """The windows of a sentence; a single one if the sentence fits.

    Args:
        words: The subwords of each word, at most ``room``.
        room: The most subwords of words in a window.
        prefix, suffix: Subwords before and after the words in every window.
    """
    spans = window_spans(list(map(len, words)), room)
    windows = []
    for (start, end), core in zip(spans, cores(spans), strict=True):
        firsts, ids = [], [*prefix]
        for word in words[start:end]:
            firsts.append(len(ids))
            ids += word
        windows.append(Window((*ids, *suffix), tuple(firsts), start, core))
    return windows


def window_spans(lengths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Spans of at most ``room`` subwords that cover all words, each beginning and ending later than the last.

    Neighbours share about a quarter of their subwords.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    while True:
        end, used = start, 0
        while end < len(lengths) and used + lengths[end] <= room:
            used += lengths[end]
            end += 1
        spans.append((start, end))
        if end == len(lengths):
            return spans
        following, shared = end, 0
        while following - 1 > start and shared + lengths[following - 1] <= min(room // 4, room - lengths[end]):
            following -= 1
            shared += lengths[following]
        start = following


def cores(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The words that take their result from each window. Neighbouring windows split their overlap in half.

    >>> cores([(0, 8), (6, 14), (12, 20)])
    [(0, 7), (7, 13), (13, 20)]
    """
    return [*itertools.pairwise([0, *((a[1] + b[0] + 1) // 2 for a, b in itertools.pairwise(spans)), spans[-1][1]])]
