"""What an aligner is, and what it aligns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from nersery.core.alignments import Alignment, Link, Pair
from nersery.core.outcome import Reject, Step
from nersery.core.progress import Progress
from nersery.core.registry import check_choices, create
from nersery.core.sentence import Sentence
from nersery.core.training_context import NO_TRAINING, Training
from nersery.crosslingual.bitext import Row, pair_of
from nersery.io.pharaoh import format_alignment
from nersery.pipeline.stage import Stage

__all__ = ["Aligner", "Alignment", "Link", "Pair", "Pairs"]


class Pairs(Protocol):
    """Translations without links: a list, or what reads them from files each time that they are gone through."""

    def __len__(self) -> int:
        """How many there are."""

    def __iter__(self) -> Iterator[Pair]:
        """They, in the same order each time."""


class Aligner(ABC):
    """Says which words of a sentence and of its translation belong together.

    A subclass is a dataclass whose fields are its settings, alone in a file that bears its name. The links of a pair
    must not depend on the batch that it comes in.
    """

    def __post_init__(self) -> None:
        """Refuse values that are no choice of their setting's; a subclass that has its own calls this one first."""
        check_choices(self)

    def fit(self, pairs: Pairs, training: Training = NO_TRAINING) -> None:  # noqa: B027 - not all learn
        """Learn from translations without links; called once, before anything is aligned.

        Over shards each worker calls it, with a copy of the folder that the first one was given: what that has learnt
        and kept there (`nersery.crosslingual.aligner_checkpoint`), the others take from it, and so does a call after
        a kill.
        """

    def check(self) -> None:  # noqa: B027 - only those on models, files and programs need it
        """Refuse what is not there (a model, a file, a program) before any other work is done.

        Raises:
            MissingResourceError: Naming it.
        """

    @abstractmethod
    def align(self, pairs: Sequence[Pair]) -> Sequence[Alignment | Reject]:
        """The links of each pair, in order, or why there are none.

        A pair that the aligner cannot read whole is rejected with the reason, never cut.
        """


def align_step(aligner: Aligner) -> Callable[[Sequence[Row]], list[Alignment | Reject]]:
    """The step of the loop: a batch of whole rows of parallel text, each with the links of its words."""

    def run_batch(rows: Sequence[Row]) -> list[Alignment | Reject]:
        outcomes = aligner.align([pair_of(row) for row in rows])
        return [_told(outcome, row) for outcome, row in zip(outcomes, rows, strict=True)]

    return run_batch


def _told(outcome: Alignment | Reject, row: Row) -> Alignment | Reject:
    """The outcome; a reject shows the target where it shows nothing."""
    if not isinstance(outcome, Reject) or outcome.sentence is not None or isinstance(row.target, Reject):
        return outcome
    return Reject(outcome.reason, row.target)


@dataclass(frozen=True)
class AlignStage(Stage[Row, Row]):
    """Alignments of sentences and their translations, one pair per line.

    Args:
        method: A name of `nersery list align`.
        pairs: Pairs to learn from, if it learns; each worker reads them, unless the first one has learned already.
        first: Number of the first word, 0 or 1.
        probabilities: Whether to write the probabilities of the links.
    """

    extension: ClassVar[str] = "align"
    blank: ClassVar[str] = "\n"

    method: str
    settings: Mapping[str, Any]
    pairs: Pairs
    seed: int = 0
    first: int = 0
    probabilities: bool = True

    def load(self) -> Aligner:
        """See `Stage`."""
        method: Aligner = create("align", self.method, self.settings)
        method.check()
        return method

    def fit(self, method: Aligner, folder: Path | None, progress: Progress | None) -> Step[Row]:
        """See `Stage`."""
        method.fit(self.pairs, Training((), self.seed, progress, folder))
        return align_step(method)  # type: ignore[return-value]  # the job asks only that it can be encoded

    def sentence_of(self, row: Row) -> Sentence | None:
        """The target of a pair that failed."""
        return row.target if isinstance(row.target, Sentence) else row.target.sentence

    def encode(self, made: Alignment) -> str:
        """One line of the alignment file."""
        return format_alignment(made, first=self.first, probabilities=self.probabilities) + "\n"
