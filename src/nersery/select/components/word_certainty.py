"""The certainty of a sentence, computed from the certainty of its words."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

DIGITS = 9
"""Digits to round to. Otherwise, rounding errors would decide if a certainty is exactly the threshold."""


def certainty(words: Sequence[float]) -> float:
    """The mean share of forward passes that predict a word's label, in [0, 1].

    >>> certainty([0.7, 0.7, 0.7])
    0.7
    """
    return round(fmean(words), DIGITS)
