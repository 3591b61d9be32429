"""What became of the systems of a search."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Tried:
    """What became of a system.

    Args:
        folds: Those that it was scored on.
        seconds: What they took together.
        fate: Why it was dropped; empty while it is in the race.
        dropped: After that many folds it was in the weaker half; 0 if it never was.
        answers: F1 of its questions alone on some labelled sentences; None if that was not measured, 1 if they say
            too little.
        leads: Whether the methods have its encoder, so that a resumed search decides as before.
    """

    name: str
    folds: list[int] = field(default_factory=list)
    estimate: float = 0.0
    seconds: float = 0.0
    fate: str = ""
    dropped: int = 0
    answers: float | None = None
    leads: bool = False
