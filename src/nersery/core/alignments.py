"""Sentence pairs and the links between their words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Link(NamedTuple):
    """A source word and a target word that translate each other.

    Args:
        source: Position of the source word, from 0.
        target: Position of the target word, from 0.
        probability: In (0, 1]; 1 if unknown.
    """

    source: int
    target: int
    probability: float = 1.0


Alignment = tuple[Link, ...]
"""The links of a pair, sorted, each ``(source, target)`` once."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation, as words.

    Args:
        id: Unique among the pairs of a job.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    id: str = ""
