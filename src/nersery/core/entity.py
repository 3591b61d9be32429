"""`Entity`, `SoftLabel` and `Origin`, the parts of a sentence. They are checked when a sentence is built from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Span = tuple[int, int]
"""Positions ``[start, end)`` of words."""


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """A mention: the words in ``[start, end)`` and their type. Comparisons ignore the score.

    >>> Entity(0, 2, "PER") == Entity(0, 2, "PER", score=0.9)
    True
    """

    start: int
    end: int
    type: str
    score: float | None = field(default=None, compare=False)

    @property
    def positions(self) -> range:
        """The positions of its words in the sentence."""
        return range(self.start, self.end)

    def overlaps(self, other: Entity) -> bool:
        """Whether the two entities share a word."""
        return self.start < other.end and other.start < self.end

    def as_dict(self) -> dict[str, Any]:
        """The boundaries and the type for JSON, without the score."""
        return {"start": self.start, "end": self.end, "type": self.type}


@dataclass(frozen=True, slots=True, order=True)
class SoftLabel:
    """The probabilities that a word begins a mention of a type, and that it continues one; each in [0, 1].

    The probability that remains after the soft labels of all types at the word is that of no mention.
    """

    word: int
    type: str
    begin: float
    inside: float


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a sentence came from: the method that made it, the ids of its parents, and the number of the copy."""

    method: str
    parents: tuple[str, ...] = ()
    copy: int = 0
