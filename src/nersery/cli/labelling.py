"""The command that says what to label next: label next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from nersery import io
from nersery.cli import options
from nersery.cli.app import label_group
from nersery.core.errors import SettingsError
from nersery.pipeline.stage_job import output_format


@label_group.command(
    "next",
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery label next raw.txt next.jsonl --tagger my-tagger -n 50 --labelled train.conll\n\n"
    "  nersery label next raw.txt next.jsonl --run runs/grow --to spans",
)
def next_(
    *,
    source: options.Source,
    target: options.Target,
    tagger: Annotated[
        list[str] | None, Option(help="Folder of a tagger. If repeated, disagreement between taggers counts more.")
    ] = None,
    run: Annotated[Path | None, Option(help="Use the taggers of a run, or of nersery grow.", metavar="FOLDER")] = None,
    count: Annotated[int, Option("--count", "-n", min=1, help="Sentences to choose.")] = 50,
    labelled: Annotated[list[str] | None, Option(help="Sentences that already have labels; may be repeated.")] = None,
    most: Annotated[int, Option(min=1, help="Maximum raw sentences to read, drawn at random.")] = 10_000,
    to: options.Format = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Choose the raw sentences whose labels would help a tagger most."""
    from nersery.experiments.active_learning.next_sentences import next_sentences, taggers_of

    if bool(tagger) == (run is not None):
        raise SettingsError("name the taggers either by --tagger, which may be repeated, or by --run")
    format = output_format(target, to)
    io.writer(format)
    known = labelled or []
    options.refuse_same_file(target, source, *known)
    options.refuse_existing(target, force=force)
    taggers = tagger or [str(path) for path in taggers_of(run or Path())]
    raw = options.open_corpus(source, raw=True)
    done = [sentence for name in known for sentence in options.open_corpus(name, io.ReadOptions())]
    found = next_sentences(raw, taggers, count, labelled=done, most=most, seed=seed, quiet=quiet)
    options.report_repairs(raw)
    io.write(found.corpus, target, format=format)
    if json:
        ids = [sentence.id for sentence in found.corpus]
        options.print_json({"output": str(target), "read": found.read, "predicted": found.predicted, "ids": ids})
        return
    print(f"{target}: {found}")
    if format == "jsonl" and not quiet:
        print(f"label them: nersery label review {target} labelled.jsonl --types '{','.join(found.types)}' --open")
        print("then grow on:  nersery grow TRAIN labelled.jsonl")
