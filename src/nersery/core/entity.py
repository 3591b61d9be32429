"""`Entity` and `Origin`, the parts of a sentence. The sentence that holds them checks them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """A mention: the words in ``[start, end)`` and their type. Its score is not compared.

    >>> Entity(0, 2, "PER") == Entity(0, 2, "PER", score=0.9)
    True
    """

    start: int
    end: int
    type: str
    score: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a sentence came from: the method that made it, from which sentences, as which copy."""

    method: str
    parents: tuple[str, ...] = ()
    copy: int = 0
