"""Commands for parallel text: align, project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from nersery import io
from nersery.cli import options
from nersery.cli.app import crosslingual_group
from nersery.cli.job_options import StageCommand, run_job
from nersery.core.errors import SettingsError
from nersery.core.settings.typed_settings import build
from nersery.core.training_context import Training
from nersery.core.warnings import note, remark
from nersery.crosslingual.aligner_components.keep_lexicon import check_keep, keep_learnt
from nersery.crosslingual.aligners.base import AlignStage
from nersery.crosslingual.label_projection.project_stage import ProjectStage
from nersery.crosslingual.label_projection.projection import Projection, Voting
from nersery.crosslingual.label_projection.projection_tasks import ProjectionTasks
from nersery.crosslingual.parallel_corpus.bitext import Bitext, PairedBy
from nersery.crosslingual.parallel_corpus.complete_pairs import CompletePairs
from nersery.crosslingual.parallel_corpus.sides import open_side
from nersery.crosslingual.parallel_corpus.word_borders import split_to_match
from nersery.experiments.recipe_file.overrides import settings_from
from nersery.io.input_files.same_file import refuse_same_file
from nersery.io.pharaoh import AlignmentFile, check_output
from nersery.io.repairs import DROP_SENTENCE
from nersery.io.word_splitting.tokenization import Splitting
from nersery.pipeline.stage_job import stage_job
from nersery.pipeline.stage_options import JobOptions

TargetText = Annotated[str, Argument(help="Its translation, matched by line or id.", metavar="TARGET")]
PairBy = Annotated[PairedBy, Option(help="auto: by id if both files have the same ids, otherwise by order.")]
TargetSplit = Annotated[Splitting | None, Option(help="As --split, for the target.")]
TargetFormat = Annotated[str, Option(help="As --format, for the target.")]
TargetLanguage = Annotated[
    str, Option(help="As --language, for the target. It affects splitting: use the same for align and project.")
]


@crosslingual_group.command(
    cls=StageCommand,
    epilog="Examples:\n\n"
    "  nersery crosslingual align train.conll text.de en-de.align\n\n"
    "  nersery crosslingual align text.en text.de en-de.align --split punctuation --target-split punctuation",
)
def align(
    *,
    source: Annotated[str, Argument(help="Text with one sentence per line, or a corpus.", metavar="SOURCE")],
    target: TargetText,
    output: Annotated[Path, Argument(help="Alignment file to write, one pair per line.", metavar="OUTPUT")],
    method: Annotated[str, options.method_option("align", "An aligner from `nersery list align`.")] = "statistical",
    settings: options.Settings = None,
    target_split: TargetSplit = None,
    target_format: TargetFormat = "auto",
    target_language: TargetLanguage = "",
    pair_by: PairBy = "auto",
    first: options.First = 0,
    probabilities: Annotated[bool, Option("--probabilities/--plain", help="Write links as 0-0:0.83, or 0-0.")] = True,
    seed: options.Seed = 0,
    keep: Annotated[
        Path | None,
        Option(help="Save what the aligner learns in this folder, for --set priors=FOLDER.", metavar="FOLDER"),
    ] = None,
    json: options.AsJson = False,
) -> None:
    """Align the words of sentences and their translations (Pharaoh format). A rejected pair gets an empty line."""
    reading = options.option_group(io.ReadOptions)
    job = options.option_group(JobOptions)
    if job.shards is None:
        check_output(output)
    refuse_same_file(output, source, target)
    stage = AlignStage(method, settings_from(settings or []), first=first, probabilities=probabilities)
    aligner = stage.create_method()  # raises for wrong settings before any file is read
    if keep is not None:
        refuse_same_file(keep, source, target)
        check_keep(keep, aligner, output, force=job.force)
    target_reading = replace(reading, format=target_format, language=target_language, split=target_split)
    bitext = _open((target, target_reading), [(source, reading)], pair_by)
    pairs = CompletePairs(bitext)
    stage = replace(stage, pairs=pairs, training=Training(seed=seed))
    if keep is None:
        run_job(stage, pairs, output, job, *bitext.sides, as_json=json)
    else:
        tally = keep_learnt(stage_job(stage, pairs, output, job), keep)
        options.print_tally(output, tally, *bitext.sides, as_json=json)


@crosslingual_group.command(
    cls=StageCommand,
    epilog="Examples:\n\n"
    "  nersery crosslingual project train.conll text.de projected.jsonl --alignments en-de.align\n\n"
    "  nersery crosslingual project train.conll text.de p.jsonl --alignments en-de.align --target-split punctuation",
)
def project(
    *,
    source: Annotated[str, Argument(help="A labelled corpus.", metavar="SOURCE")],
    target: TargetText,
    output: options.Target,
    alignments: Annotated[
        list[str], options.file("Alignment file (Pharaoh) or folder of shards; repeated for several sources, in order.")
    ],
    also: Annotated[list[str] | None, options.file("Another labelled source that votes; may be repeated.")] = None,
    voting: Annotated[Voting, Option(help="Equal votes, or weighted by alignment quality.")] = "majority",
    settings: Annotated[
        list[str] | None, Option("--set", metavar="KEY=VALUE", help="A setting of the projection; may be repeated.")
    ] = None,
    probabilities: Annotated[
        str | None, options.file("File of link probabilities, if the alignments have none.")
    ] = None,
    picture: Annotated[Path | None, Option(help="Draw one pair in this SVG file.")] = None,
    picture_of: Annotated[
        str, Option(help="Id of the target sentence to draw; by default the first with an entity.")
    ] = "",
    target_split: TargetSplit = None,
    target_format: TargetFormat = "auto",
    target_language: TargetLanguage = "",
    pair_by: PairBy = "auto",
    first: options.First = 0,
    json: options.AsJson = False,
) -> None:
    """Project labels onto translations. Sentences with an entity that cannot be projected whole are rejected."""
    reading = options.option_group(io.ReadOptions)
    job = options.option_group(JobOptions)
    sources = [source, *(also or [])]
    refuse_same_file(output, target, *sources, *alignments)
    projection: Projection = build(Projection, "project", settings_from(settings or []))
    if picture_of and picture is None:
        raise SettingsError("--picture-of needs --picture FILE.svg: without it, nothing is drawn")
    if picture is not None:
        options.check_picture(picture, target, *sources, *alignments, force=job.force, output=output)
    target_reading = replace(reading, format=target_format, language=target_language, split=target_split)
    if probabilities is not None and len(alignments) > 1:
        raise SettingsError("--probabilities is for a single alignment file; for several, write links as 0-0:0.83")
    beside = None if probabilities is None else io.input_path(probabilities)
    reject = DROP_SENTENCE in reading.repair
    files = [
        AlignmentFile(io.input_path(name), first=first, probabilities=beside, reject=reject) for name in alignments
    ]
    labelled = [(name, reading) for name in sources]
    bitext = _open((target, target_reading), labelled, pair_by, labelled=True, links=files)
    rows = ProjectionTasks(bitext, files)
    if picture is not None:  # before the job, because it is quick and the pair may not exist
        from nersery.report.pictures.alignment_map import draw_pair

        rows.count()
        draw_pair(picture, picture_of, rows.outcomes(), projection)
    tally = run_job(ProjectStage(projection, voting), rows, output, job, *bitext.sides, as_json=json)
    for text in rows.notes(tally, projection):
        note(text)


def _open(
    target: tuple[str, io.ReadOptions],
    sources: Sequence[tuple[str, io.ReadOptions]],
    pair_by: PairedBy,
    *,
    labelled: bool = False,
    links: Sequence[AlignmentFile] = (),
) -> Bitext:
    """Open the sides of parallel text, and print what they were recognised as."""
    sides = tuple(open_side(name, reading, labelled=labelled) for name, reading in sources)
    bitext = Bitext(*split_to_match(open_side(*target), sides, links), pair_by)
    for side in bitext.sides:
        remark(f"{side.file.name}: {side.description}")
    remark(f"paired by {bitext.paired_by}")
    return bitext
