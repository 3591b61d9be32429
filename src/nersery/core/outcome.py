"""The outcome of an item, a sentence or a reject with its reason, and the counts of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from nersery.core.sentence import Corpus, Sentence

Item = TypeVar("Item")
REJECTED_BY_HAND, NOT_REVIEWED = "rejected by hand", "not reviewed yet"
"""The reasons why a review did not keep a sentence. Code that reads the rejects distinguishes them by these."""


@dataclass(frozen=True, slots=True)
class Reject:
    """An item without a result, with the reason.

    Args:
        reason: A short text, equal for rejects of the same kind, so that reasons can be counted.
        sentence: The rejected sentence; the job adds it if the method does not.
        error: The exception that the item raised, if any.
    """

    reason: str
    sentence: Sentence | None = None
    error: Exception | None = field(default=None, compare=False, repr=False)


Outcome = Sentence | Reject
BatchFunction = Callable[[Sequence[Item]], Sequence[Outcome]]


@dataclass(slots=True)
class Tally:
    """The numbers of items that were read, written and rejected, with the reasons."""

    read: int = 0
    written: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def rejected(self) -> int:
        """The number of rejects; always ``read - written``."""
        return self.reasons.total()

    def add(self, outcome: Outcome) -> None:
        """Count one more item."""
        self.read += 1
        if isinstance(outcome, Reject):
            self.reasons[outcome.reason] += 1
        else:
            self.written += 1

    def include(self, other: Tally) -> None:
        """Add the counts of another tally."""
        self.read += other.read
        self.written += other.written
        self.reasons.update(other.reasons)

    def as_dict(self) -> dict[str, Any]:
        """The counts for JSON; the most frequent reasons come first."""
        return {
            "read": self.read,
            "written": self.written,
            "rejected": self.rejected,
            "reasons": dict(sorted(self.reasons.items(), key=lambda pair: (-pair[1], pair[0]))),
        }

    def __str__(self) -> str:
        """One line, e.g. ``read 300, wrote 280, rejected 20 (unchanged: 20)``."""
        text = f"read {self.read}, wrote {self.written}, rejected {self.rejected}"
        reasons = ", ".join(f"{reason}: {count}" for reason, count in self.as_dict()["reasons"].items())
        return f"{text} ({reasons})" if reasons else text


@dataclass(frozen=True, repr=False)
class Result:
    """The result of a stage in memory. The next stage accepts it as a corpus."""

    corpus: Corpus
    rejects: tuple[Reject, ...]
    tally: Tally

    def __repr__(self) -> str:
        """A short description without the sentences, which may be many."""
        return f"Result({self.corpus!r}, {self.tally})"

    def _repr_html_(self) -> str:
        """The counts, and the first sentences with their entities highlighted, for notebooks."""
        return self.corpus._repr_html_(repr(self))

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.corpus)

    def __add__(self, other: Iterable[Sentence]) -> Corpus:
        """The corpus, followed by other sentences; see `Corpus`."""
        return self.corpus + other


def collect(outcomes: Iterable[Outcome]) -> Result:
    """Gather outcomes in memory."""
    tally, gathered = Tally(), list(outcomes)
    for outcome in gathered:
        tally.add(outcome)
    rejects = tuple(outcome for outcome in gathered if isinstance(outcome, Reject))
    return Result(Corpus(outcome for outcome in gathered if not isinstance(outcome, Reject)), rejects, tally)
