"""The command that labels raw text: annotate."""

from __future__ import annotations

import shutil
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated

import typer

from nersery import io, registry
from nersery.cli import app
from nersery.cli.options import (
    AsJson,
    BatchSize,
    Force,
    Quiet,
    Seed,
    Settings,
    Source,
    Target,
    check_training,
    content_of,
    file_job,
    open_corpus,
    print_tally,
    reads_corpora,
    refuse_same_file,
    report_repairs,
    resumed,
)
from nersery.disk import files_in

BATCH_SIZE = 256
"""Smaller than elsewhere, for each sentence is asked several questions, and a kill costs a batch."""


@app.command(
    epilog='Examples:\n\n  nersery annotate qa_prompting raw.txt labelled.jsonl --set \'types=["PER", "LOC"]\'\n\n'
    "  nersery annotate tagger_labels raw.txt labelled.jsonl --set tagger=my-tagger"
)
@reads_corpora
def annotate(
    method: Annotated[str, typer.Argument(help="`nersery list annotate` names them.", metavar="METHOD")],
    source: Source,
    target: Target,
    settings: Settings = None,
    gold: Annotated[
        str | None, typer.Option(help="Labelled sentences, for methods that learn from them or need their types.")
    ] = None,
    dev: Annotated[
        str | None, typer.Option(help="Labelled sentences to choose the best weights by, for methods that train.")
    ] = None,
    seed: Seed = 0,
    batch_size: BatchSize = BATCH_SIZE,
    force: Force = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    reading: io.ReadOptions,
) -> None:
    """Label sentences that have no labels; labels that the input has are replaced. The same command resumes."""
    from nersery.annotate.base import step
    from nersery.overrides import settings_of
    from nersery.progress import Progress
    from nersery.training import Training

    refuse_same_file(target, source, *filter(None, (gold, dev)))
    chosen = settings_of(settings or [])
    annotator = registry.create("annotate", method, chosen)
    corpus = open_corpus(source, reading, quiet=quiet)
    labelled = replace(reading, format=io.AUTO)  # whatever the raw text is
    examples, held_out = ([open_corpus(name, labelled, quiet=quiet)] if name else [] for name in (gold, dev))
    job = file_job(
        target,
        {
            "annotate": method, "settings": chosen, "files": files_in(chosen), "seed": seed,
            "input": content_of(corpus), "gold": content_of(*examples), "dev": content_of(*held_out),
            "reading": asdict(reading),
        },
    )  # fmt: skip
    job.check_target(overwrite=force)
    training = target.with_name(target.name + ".training")
    check_training(training)
    annotator.check()
    total = sum(1 for _ in corpus.outcomes())  # which also says what is wrong with them
    gold_sentences, dev_sentences = ([s for split in part for s in split] for part in (examples, held_out))
    with Progress(f"{method}: learn", quiet=quiet) as progress:
        given = Training(dev_sentences, seed, progress, training)
        resumed(partial(annotator.fit, gold_sentences, given), training, force=force)
    with Progress(method, total, quiet=quiet) as progress:
        tally = job.run(corpus.outcomes(), step(annotator), batch_size=batch_size, progress=progress, overwrite=force)
    shutil.rmtree(training, ignore_errors=True)
    report_repairs(corpus, *examples, *held_out, quiet=quiet)
    print_tally(target, tally, as_json=json)
