"""Commands on parallel text: align, project."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from nersery import io
from nersery.cli.app import crosslingual_group
from nersery.cli.options import (
    AsJson,
    Force,
    Quiet,
    Seed,
    Settings,
    Target,
    check_picture,
    content_of,
    input_path,
    print_tally,
    refuse_same_file,
    report_repairs,
    shared_options,
)
from nersery.cli.sharding import ShardedCommand
from nersery.core import registry
from nersery.core.errors import DataError, Issue, SettingsError, printable
from nersery.core.files import check_replaceable, content_hash, write_atomic
from nersery.core.outcome import Reject
from nersery.crosslingual.aligner_checkpoint import keep_learned
from nersery.crosslingual.bitext import Bitext, PairedBy, WholePairs, open_side
from nersery.crosslingual.projection import Projection, Task, Voting, alignment_issue
from nersery.crosslingual.projection_tasks import ProjectionNotes, ProjectionTasks
from nersery.io.pharaoh import AlignmentFile
from nersery.io.repairs import DROP_SENTENCE
from nersery.io.tokenization import Splitting
from nersery.pipeline.job import BATCH_SIZE, rejects_of
from nersery.pipeline.stage_job import Sharding, StageJob

ROWS_AT_ONCE = 64
"""Rows projected per batch. More do not help; this number fits into the processor's cache."""

SourceText = Annotated[str, typer.Argument(help="Text, a sentence a line, or a corpus.", metavar="SOURCE")]
Picture = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(help="Draw the alignment and labels of one pair into this SVG file."),
]
PictureOf = Annotated[str, typer.Option(help="The id of the target sentence to draw; else the first with an entity.")]
Probabilities = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help="File with the probabilities of the links, if the alignments have none."),
]
TargetText = Annotated[str, typer.Argument(help="Its translation, line by line or by ids.", metavar="TARGET")]
PairBy = Annotated[PairedBy, typer.Option(help="auto pairs by ids where both files bring the same, else by order.")]
TargetSplit = Annotated[Splitting, typer.Option(help="How lines of the target are cut; --split is for the source.")]
TargetFormat = Annotated[str, typer.Option(help="Format of the target; --format is that of the source.")]
TargetLanguage = Annotated[str, typer.Option(help="Language of the target; --language is that of the source.")]
First = Annotated[int, typer.Option(min=0, max=1, help="Number of the first word in alignment files: 0 or 1.")]


@crosslingual_group.command(
    "align",
    cls=ShardedCommand,
    epilog="Examples:\n\n"
    "  nersery crosslingual align text.en text.de en-de.align --split punctuation --target-split punctuation\n\n"
    "  nersery crosslingual align train.conll text.de en-de.align --method statistical",
)
def align(
    context: typer.Context,
    *,
    source: SourceText,
    target: TargetText,
    output: Annotated[Path, typer.Argument(help="Alignment file to write, one pair per line.", metavar="OUTPUT")],
    method: Annotated[str, typer.Option(help="An aligner of `nersery list align`.")] = "statistical",
    settings: Settings = None,
    target_split: TargetSplit = "spaces",
    target_format: TargetFormat = "auto",
    target_language: TargetLanguage = "",
    pair_by: PairBy = "auto",
    first: First = 0,
    probabilities: Annotated[
        bool, typer.Option("--probabilities/--plain", help="Write links as 0-0:0.83, or as 0-0 alone.")
    ] = True,
    seed: Seed = 0,
    batch_size: Annotated[int, typer.Option(min=1, help="Pairs at once; changes speed, never results.")] = BATCH_SIZE,
    keep: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Keep what is learnt in this folder, to be named by --set priors=FOLDER for other text."),
    ] = None,
    force: Force = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Align the words of sentences and their translations (Pharaoh format). A rejected pair gets an empty line."""
    reading = shared_options(context, io.ReadOptions)
    sharding = shared_options(context, Sharding)
    from nersery.crosslingual.aligners.base import AlignStage
    from nersery.experiments.overrides import settings_of

    refuse_same_file(output, source, target)
    chosen = settings_of(settings or [])
    aligner = registry.create("align", method, chosen)  # wrong settings show before any file is read
    if keep is not None:
        refuse_same_file(keep, source, target)
        _check_kept(keep, method, chosen, output, force=force)
    target_reading = replace(reading, format=target_format, language=target_language)
    bitext = _open([(source, reading, reading.split)], (target, target_reading, target_split), pair_by, quiet=quiet)
    text = _identity(bitext, target_split)
    made_by = {
        "align": method, "settings": chosen, "files": registry.files_in(type(aligner), chosen), "seed": seed,
        "first": first, "probabilities": probabilities, **text,
    }  # fmt: skip
    pairs = WholePairs(bitext, sha256(dumps(text, sort_keys=True).encode()).hexdigest())
    stage = AlignStage(method, chosen, pairs, seed, first, probabilities)
    job = StageJob(stage, pairs, output, method, made_by, sharding, batch_size, force, quiet)
    tally = job.run() if keep is None else keep_learned(job, keep)
    report_repairs(*bitext.sides, quiet=quiet)
    print_tally(output, tally, as_json=json)


@crosslingual_group.command(
    "project",
    cls=ShardedCommand,
    epilog="Examples:\n\n"
    "  nersery crosslingual project train.conll text.de projected.jsonl --alignments en-de.align\n\n"
    "  nersery crosslingual project train.conll text.de p.jsonl --alignments en-de.align --set keep_incomplete=true",
)
def project(
    context: typer.Context,
    *,
    source: Annotated[str, typer.Argument(help="A labelled corpus.", metavar="SOURCE")],
    target: TargetText,
    output: Target,
    alignments: Annotated[
        list[str], typer.Option(help="Alignments in Pharaoh format; repeated for several sources, in their order.")
    ],
    also: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="A labelled source in another language, which votes; may be repeated."),
    ] = None,
    voting: Annotated[
        Voting, typer.Option(help="One vote per source, or votes weighted by alignment quality.")
    ] = "majority",
    settings: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the projection; may be repeated."),
    ] = None,
    probabilities: Probabilities = None,
    picture: Picture = None,
    picture_of: PictureOf = "",
    target_split: TargetSplit = "spaces",
    target_format: TargetFormat = "auto",
    target_language: TargetLanguage = "",
    pair_by: PairBy = "auto",
    first: First = 0,
    force: Force = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Put the labels of sentences on their translations, each entity whole; what cannot be placed is rejected."""
    reading = shared_options(context, io.ReadOptions)
    sharding = shared_options(context, Sharding)
    from nersery.crosslingual.projection import ProjectStage
    from nersery.experiments.overrides import settings_of

    sources = [source, *(also or [])]
    refuse_same_file(output, target, *sources, *alignments)
    chosen = settings_of(settings or [])
    projection = _projection(chosen)
    if picture is not None:
        _check_picture(picture, output, [target, *sources, *alignments], force=force)
    target_reading = replace(reading, format=target_format, language=target_language)
    bitext = _open(
        [(name, reading, "spaces") for name in sources], (target, target_reading, target_split), pair_by, quiet=quiet
    )
    files = _alignment_files(alignments, sources, probabilities, first, reject=DROP_SENTENCE in reading.repair)
    made_by = {"project": chosen, "voting": voting, "first": first, **_identity(bitext, target_split)}
    made_by |= _content_of_alignments(files, probabilities)
    rows = ProjectionTasks(bitext, files, ProjectionNotes())
    if picture is not None:  # first: it is quick, and the pair may not exist
        rows.count()
        _draw(picture, picture_of, rows.outcomes(), projection)
    stage = ProjectStage(projection, voting)
    job = StageJob(stage, rows, output, "project", made_by, sharding, ROWS_AT_ONCE, force, quiet)
    tally = job.run()
    report_repairs(*bitext.sides, quiet=quiet)
    for note in () if quiet else rows.seen.notes(tally, projection, first):
        print(f"note: {printable(note)}", file=sys.stderr)
    print_tally(output, tally, as_json=json)


def _content_of_alignments(files: Sequence[AlignmentFile], probabilities: str | None) -> dict[str, Any]:
    content: dict[str, Any] = {"alignments": [content_hash(file.file.path) for file in files]}
    return content if probabilities is None else {**content, "probabilities": content_hash(input_path(probabilities))}


def _check_kept(folder: Path, method: str, settings: Mapping[str, Any], output: Path, *, force: bool) -> None:
    """Refuse a folder for what is learnt where that cannot be used again, or that has other files.

    Raises:
        SettingsError: Saying which.
    """
    from nersery.crosslingual.hmm.lexicon import RECORD, TENSORS

    if "priors" not in registry.defaults("align", method):
        raise SettingsError(f"--keep {folder}: {method} has no setting priors, to which it could be given again")
    if settings.get("learn") is False:
        raise SettingsError(f"--keep {folder}: with learn = false nothing is learnt; leave it out")
    taken = (output, rejects_of(output), output.with_name(f"{output.name}.training"))
    if folder.resolve() in [path.resolve() for path in taken]:
        raise SettingsError(
            f"--keep {folder}: the alignments, or files that belong to them, are written there. Choose another folder"
        )
    check_replaceable(folder, RECORD, "priors", (RECORD, TENSORS), force=force)


def _open(
    sources: Sequence[tuple[str, io.ReadOptions, str]],
    target: tuple[str, io.ReadOptions, str],
    pair_by: PairedBy,
    *,
    quiet: bool,
) -> Bitext:
    """The sides of parallel text, each a path, how it is read and split; says what they were recognised as."""
    opened = [open_side(input_path(name), reading, splitting) for name, reading, splitting in (target, *sources)]
    bitext = Bitext(opened[0], tuple(opened[1:]), pair_by)
    if not quiet:
        for side in bitext.sides:
            print(f"{side.file.name}: {side.description}", file=sys.stderr)
        print(f"paired by {bitext.paired_by}", file=sys.stderr)
    return bitext


def _identity(bitext: Bitext, *splittings: str) -> dict[str, Any]:
    """What a result depends on, as far as it is the text."""
    return {
        "inputs": content_of(*bitext.sides),
        "reading": [asdict(side.options) for side in bitext.sides],
        "split": splittings,
        "paired_by": bitext.paired_by,
    }


def _projection(settings: Mapping[str, Any]) -> Projection:
    """The projection of some settings.

    Raises:
        SettingsError: With all that is wrong with them.
    """
    values, problems = registry.validated(Projection, "project", settings)
    if problems:
        raise SettingsError("\n".join(problems))
    return Projection(**values)


def _alignment_files(
    alignments: Sequence[str], sources: Sequence[str], probabilities: str | None, first: int, *, reject: bool
) -> list[AlignmentFile]:
    if len(alignments) != len(sources):
        raise SettingsError(
            f"{len(sources)} sources and {len(alignments)} alignment files: give one per source, in order"
        )
    if probabilities is not None and len(alignments) > 1:
        raise SettingsError("--probabilities goes with one alignment file; with several, write them as 0-0:0.83")
    beside = None if probabilities is None else input_path(probabilities)
    return [AlignmentFile(input_path(name), first=first, probabilities=beside, reject=reject) for name in alignments]


def _check_picture(picture: Path, output: Path, inputs: Sequence[str], *, force: bool) -> None:
    """Refuse a picture that would take the place of another file, or not be what its name says.

    Raises:
        SettingsError: Naming the file.
    """
    refuse_same_file(picture, *inputs)
    if picture.resolve() in (output.resolve(), rejects_of(output).resolve()):
        raise SettingsError(f"--picture {picture}: the results go there. Choose another name for the picture")
    check_picture(picture, force=force)


def _draw(path: Path, id: str, tasks: Iterable[Task | Reject], projection: Projection) -> None:
    """Draw one pair, projected from its first source.

    Raises:
        SettingsError: When there is no such pair.
    """
    from nersery.report.alignment_map import alignment_map

    whole = ((task.target, task.translations[0]) for task in tasks if not isinstance(task, Reject))
    for target, translation in whole:
        if not isinstance(translation, Reject) and (target.id == id if id else translation.source.entities):
            source, alignment = translation
            if fault := alignment_issue(alignment, len(source), len(target)):
                raise DataError(Issue(fault, sentence=target.id), fix="choose another pair by --picture-of")
            outcome = projection.project(source, target, alignment)
            shown = outcome.sentence if isinstance(outcome, Reject) else outcome
            write_atomic(path, str(alignment_map(source, shown or target, alignment)))
            return
    raise SettingsError(
        f"--picture-of {id}: no pair has a target of that id" if id else "no pair has an entity to draw"
    )
