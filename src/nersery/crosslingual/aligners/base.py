"""The base class of aligners, the pairs that they align, and the job that runs them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

from nersery.core.alignments import Alignment, Link, Pair
from nersery.core.errors import Issue, MethodError, shown
from nersery.core.outcome import BatchFunction, Reject, Tally
from nersery.core.progress import Progress
from nersery.core.registry import Method, name_of
from nersery.core.sentence import Sentence
from nersery.core.system.files import as_path
from nersery.core.training_context import NO_TRAINING, Training, in_job
from nersery.crosslingual.parallel_corpus.bitext import Bitext, PairedBy, Row
from nersery.crosslingual.parallel_corpus.complete_pairs import CompletePairs, pair_of
from nersery.crosslingual.parallel_corpus.sides import opened_side
from nersery.crosslingual.parallel_corpus.word_borders import split_to_match
from nersery.io.input_files.same_file import refuse_overwriting
from nersery.io.pharaoh import check_first, check_output, format_alignment
from nersery.io.reading import Sentences
from nersery.models.pretrained.torch_state import torch_defaults
from nersery.pipeline.error_policy import one_for_each
from nersery.pipeline.stage import Stage
from nersery.pipeline.stage_job import in_memory, run_stage
from nersery.pipeline.stage_options import split_options

__all__ = ["Aligner", "Alignment", "Link", "Pair", "Pairs", "Suggestions"]


class Pairs(Protocol):
    """Sentences and their translations, without links: a list, or an object that reads files in each iteration."""

    def __len__(self) -> int:
        """The number of pairs."""

    def __iter__(self) -> Iterator[Pair]:
        """The pairs, in the same order each time."""


@dataclass(frozen=True)
class Suggestions:
    """Links that other aligners suggest to an aligner that learns.

    Args:
        suggest: Returns the suggested links of each pair; no links if nothing is known about a pair.
        counts: Number of observations that a suggested link is worth while learning; 0 ignores suggestions.
        exponent: Exponent of the suggested probabilities when a pair is aligned; 0 ignores them.
        max_pairs: Maximum number of pairs whose suggestions count while learning; 0 uses all.
    """

    suggest: Callable[[Sequence[Pair]], Sequence[Alignment]]
    counts: float
    exponent: float
    max_pairs: int


class Aligner(Method, ABC):
    """Finds the words of a sentence and of its translation that belong together.

    A subclass is a dataclass whose fields are its settings, in a file of its own with the same name. The links of a
    pair must not depend on the other pairs in its batch.
    """

    def fit(self, pairs: Pairs, training: Training = NO_TRAINING) -> None:
        """Learn from translations without links. This method is called once, before anything is aligned.

        With shards, each worker calls it with a copy of the folder of the first worker. The other workers load what the
        first one learnt and saved there (`nersery.crosslingual.aligner_components.aligner_checkpoint`), and so does a
        call after a kill.
        """

    def use_suggestions(self, suggestions: Suggestions | None) -> bool:
        """Use suggestions (None: no links). False if unsupported; an ensemble then suggests this aligner's links."""
        return False

    @abstractmethod
    def align(self, pairs: Sequence[Pair]) -> Sequence[Alignment | Reject]:
        """The links of each pair, in order, or the reason why there are none.

        A pair that the aligner cannot read completely is rejected with the reason. It is never truncated.
        """


def alignments_of(aligner: Aligner, pairs: Sequence[Pair]) -> Sequence[Alignment | Reject]:
    """The outcome of each pair. Raises `ContractError` if the aligner returns more or fewer outcomes than pairs."""
    return one_for_each(name_of(aligner), pairs, aligner.align([*pairs]), "alignments")


def checked_alignments(aligner: Aligner, pairs: Sequence[Pair]) -> Sequence[Alignment | Reject]:
    """As `alignments_of`, but raises `MethodError` for anything but rejects and links between words of the pair."""
    name, outcomes = name_of(aligner), alignments_of(aligner, pairs)
    for pair, outcome in zip(pairs, outcomes, strict=True):
        if not isinstance(outcome, Reject) and not _links_words_of(pair, outcome):
            words = f"the {len(pair.source)} source and {len(pair.target)} target words"
            message = (
                f"{name} answered with {shown(outcome)}, expected links such as (Link(0, 0, 0.8),) between {words}"
            )
            raise MethodError(Issue(message, sentence=pair.id))
    return outcomes


def _links_words_of(pair: Pair, answer: Any) -> bool:
    return isinstance(answer, list | tuple) and all(
        isinstance(link, Link) and 0 <= link.source < len(pair.source) and 0 <= link.target < len(pair.target)
        for link in answer
    )


def _with_target(outcome: Alignment | Reject, row: Row) -> Alignment | Reject:
    """The outcome; a reject without a sentence gets the target sentence."""
    if not isinstance(outcome, Reject) or outcome.sentence is not None or isinstance(row.target, Reject):
        return outcome
    return replace(outcome, sentence=row.target)


@dataclass(frozen=True)
class AlignStage(Stage[Row, Row]):
    """The job that aligns sentences and their translations, and writes one pair per line.

    Args:
        method: A name of `nersery list align`.
        pairs: Pairs to learn from, if the method learns. Each worker reads them, unless the first one has learnt.
        training: What else the method needs for learning; the job sets folder and progress.
        first: Number of the first word, 0 or 1.
        probabilities: Whether to write the probabilities of the links.
    """

    extension: ClassVar[str] = "align"
    blank: ClassVar[str] = "\n"

    kind: ClassVar[str] = "align"

    method: str | type[Aligner] | Aligner
    settings: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    pairs: Pairs = ()
    training: Training = NO_TRAINING
    first: int = 0
    probabilities: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_first(self.first)

    def fit(self, method: Aligner, folder: Path | None, progress: Progress | None) -> BatchFunction[Row]:
        method.fit(self.pairs, in_job(self.training, folder, progress))

        def align_rows(rows: Sequence[Row]) -> list[Alignment | Reject]:
            outcomes = checked_alignments(method, [pair_of(row) for row in rows])
            return [_with_target(outcome, row) for outcome, row in zip(outcomes, rows, strict=True)]

        return align_rows  # type: ignore[return-value]  # the job only requires that it can be encoded

    def sentence_of(self, row: Row) -> Sentence | None:
        return row.target if isinstance(row.target, Sentence) else row.target.sentence

    def encode(self, made: Alignment) -> str:
        return format_alignment(made, first=self.first, probabilities=self.probabilities) + "\n"


@torch_defaults()
def align(
    source: Sentences,
    target: Sentences,
    method: str | type[Aligner] | Aligner = "statistical",
    *,
    output: str | Path | None = None,
    seed: int = 0,
    pair_by: PairedBy = "auto",
    first: int = 0,
    probabilities: bool = True,
    **options: Any,
) -> list[Alignment | Reject] | Tally:
    """Fit an aligner on sentences and their translations, and align their words.

    Args:
        source: Sentences, or a file of them; text has one per line.
        target: Their translations.
        method: A name of `nersery list align`, a class of it, or an object with its settings.
        output: A file in Pharaoh's format to write, one line per pair, or with ``shards`` a folder; the same call
            resumes after a kill. None returns the alignments in memory.
        pair_by: See `nersery.crosslingual.parallel_corpus.bitext.Bitext`.
        first: Number of the first word in the file, 0 or 1.
        probabilities: Whether the file has the probabilities of the links.
        options: Fields of `nersery.pipeline.stage_options.JobOptions`; all others are settings of a named method.

    Returns:
        An alignment or a reject for each pair, in order; with ``output`` the counts.

    >>> import nersery
    >>> from nersery import Sentence
    >>> english = [Sentence(("good", "morning"), id="1"), Sentence(("good", "day"), id="2")]
    >>> german = [Sentence(("guten", "Morgen"), id="1"), Sentence(("guten", "Tag"), id="2")]
    >>> [[link[:2] for link in alignment] for alignment in nersery.align(english, german)]
    [[(0, 0), (1, 1)], [(0, 0), (1, 1)]]
    """
    job, settings = split_options(options)
    refuse_overwriting(output, source, target)
    if output is not None and job.shards is None:
        check_output(as_path(output, "output"))
    pairs = CompletePairs(
        Bitext(*split_to_match(opened_side(target, "target"), [opened_side(source, "source")]), pair_by), job.quiet
    )
    training = Training(seed=seed)
    stage = AlignStage(method, settings, pairs=pairs, training=training, first=first, probabilities=probabilities)
    if output is None:
        return list(in_memory(stage, pairs, job))
    tally = run_stage(stage, pairs, output, job)
    assert isinstance(tally, Tally)
    return tally
