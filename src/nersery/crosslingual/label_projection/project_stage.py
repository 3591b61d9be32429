"""The projection job, which labels the target sentences of parallel text from their translations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, get_args, overload

from nersery import io
from nersery.core.alignments import Alignment
from nersery.core.errors import SettingsError, require_choice, shown
from nersery.core.outcome import BatchFunction, Outcome, Reject, Result, Tally
from nersery.core.progress import Progress
from nersery.core.sentence import Sentence
from nersery.core.settings.typed_settings import build
from nersery.core.warnings import warn
from nersery.crosslingual.label_projection.projection import Projection, Task, Translation, Voting, vote
from nersery.crosslingual.label_projection.projection_tasks import Alignments, ProjectionTasks
from nersery.crosslingual.parallel_corpus.bitext import Bitext, PairedBy
from nersery.crosslingual.parallel_corpus.sides import opened_side
from nersery.crosslingual.parallel_corpus.word_borders import split_to_match
from nersery.io.input_files.same_file import refuse_overwriting
from nersery.io.pharaoh import AlignmentFile
from nersery.io.reading import Sentences
from nersery.pipeline.stage import Stage
from nersery.pipeline.stage_job import refuse_shared_ids, run_stage
from nersery.pipeline.stage_options import split_options

ROWS_AT_ONCE = 16
"""With more, their words and links no longer fit into the processor's cache."""


@dataclass(frozen=True)
class ProjectStage(Stage[Task, Task]):
    """The job that puts the labels of sentences on their translations.

    Args:
        voting: How several sources vote.
    """

    batch_size: ClassVar[int] = ROWS_AT_ONCE

    projection: Projection
    voting: Voting = "majority"

    def __post_init__(self) -> None:
        require_choice(self.voting, "voting", get_args(Voting))

    def load(self) -> Projection:
        return self.projection

    def fit(self, method: Projection, folder: Path | None, progress: Progress | None) -> BatchFunction[Task]:
        def projected(target: Sentence, translation: Translation | Reject) -> Outcome:
            if isinstance(translation, Reject):
                return translation
            return method.project(translation.source, target, translation.alignment)

        return lambda batch: [
            vote([projected(task.target, t) for t in task.translations], self.voting) for task in batch
        ]

    def files(self) -> dict[str, str]:
        return {}

    def sentence_of(self, row: Task) -> Sentence:
        return row.target


def _further_sources(also: Any) -> Sequence[tuple[Any, Any]]:
    """The pairs of labelled sources and alignments. Raises `SettingsError` for anything else."""
    expected = "expected a list of pairs: labelled sentences, and their alignments to the target"
    if not isinstance(also, list | tuple):
        raise SettingsError(f"also is {shown(also)}, {expected}")
    for pair in also:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise SettingsError(f"also has {shown(pair)}, {expected}")
    return also


def _checked(alignments: Any) -> AlignmentFile | Sequence[Alignment | Reject]:
    """Alignments in a file or in memory. Raises `SettingsError` for anything else."""
    if isinstance(alignments, str | Path):
        return AlignmentFile(io.input_path(alignments))
    if not isinstance(alignments, Sequence):
        raise SettingsError(f"the alignments are {shown(alignments)}, expected a list with the alignment of each pair")
    for number, alignment in enumerate(alignments, start=1):
        if isinstance(alignment, Reject):
            continue
        if not isinstance(alignment, list | tuple) or any(not isinstance(x, tuple) or len(x) != 3 for x in alignment):
            raise SettingsError(f"alignment {number} is {shown(alignment)}, expected links such as (Link(0, 0, 0.8),)")
    return alignments


@overload
def project(
    source: Sentences, target: Sentences, alignments: Any, *, output: None = None, **options: Any
) -> Result: ...


@overload
def project(source: Sentences, target: Sentences, alignments: Any, *, output: str | Path, **options: Any) -> Tally: ...


def project(
    source: Sentences,
    target: Sentences,
    alignments: Alignments | str | Path,
    *,
    output: str | Path | None = None,
    also: Sequence[tuple[Sentences, Alignments | str | Path]] = (),
    voting: Voting = "majority",
    pair_by: PairedBy = "auto",
    **options: Any,
) -> Result | Tally:
    """Put the labels of sentences on their translations.

    Args:
        source: Labelled sentences, or a file of them.
        target: Their translations: sentences, or a file of them.
        alignments: What `nersery.align` made of the two: in memory or in a file.
        output: A file to write, or with ``shards`` a folder; the same call resumes after a kill. None returns the
            result in memory.
        also: Further labelled sources, each with its alignments to the target.
        voting: How several sources vote.
        pair_by: See `nersery.crosslingual.parallel_corpus.bitext.Bitext`.
        options: Fields of `nersery.pipeline.stage_options.JobOptions`; all others are settings of
            `nersery.crosslingual.label_projection.projection.Projection`.

    Returns:
        The corpus, the rejects and their counts; with ``output`` the counts alone.
    """
    job, settings = split_options(options)
    projection: Projection = build(Projection, "project", settings)
    sources, found = zip((source, alignments), *_further_sources(also), strict=True)
    refuse_overwriting(output, target, *sources, *found)
    files = [_checked(one) for one in found]
    labelled = tuple(opened_side(one, "source", labelled=True) for one in sources)
    rows = ProjectionTasks(Bitext(*split_to_match(opened_side(target, "target"), labelled, files), pair_by), files)
    refuse_shared_ids(rows.bitext.target)
    if output is None:  # otherwise the job counts
        rows.count()
    result = run_stage(ProjectStage(projection, voting), rows, output, job)
    for note in () if job.quiet else rows.notes(result.tally if isinstance(result, Result) else result, projection):
        warn(note)
    return result
