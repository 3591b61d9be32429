"""What an aligner is, and what it aligns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nersery.loop import Reject
from nersery.training import NO_TRAINING, Training


class Link(NamedTuple):
    """A word of the source and a word of the target that belong together.

    Args:
        source: Position of the source word, from 0.
        target: Position of the target word, from 0.
        probability: How sure that is, in (0, 1]; 1 where nothing is known.
    """

    source: int
    target: int
    probability: float = 1.0


Links = tuple[Link, ...]
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


class Aligner(ABC):
    """Says which words of a sentence and of its translation belong together.

    A subclass is a dataclass whose fields are its settings, alone in a file that bears its name. The links of a pair
    must not depend on the batch that it comes in.
    """

    def fit(self, pairs: Sequence[Pair], training: Training = NO_TRAINING) -> None:  # noqa: B027 - not all learn
        """Learn from translations without links; called once, before anything is aligned."""

    def check(self) -> None:  # noqa: B027 - only those on models, files and programs need it
        """Refuse what is not there (a model, a file, a program) before any other work is done.

        Raises:
            MissingResourceError: Naming it.
        """

    @abstractmethod
    def align(self, pairs: Sequence[Pair]) -> Sequence[Links | Reject]:
        """The links of each pair, in order, or why there are none.

        A pair that the aligner cannot read whole is rejected with the reason, never cut.
        """
