"""What an aligner is, and what it aligns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from nersery.links import Link, Links, Pair
from nersery.loop import Reject
from nersery.training import NO_TRAINING, Training

__all__ = ["Aligner", "Link", "Links", "Pair"]


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
