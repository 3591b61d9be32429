"""The command that labels raw text: annotate."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated

import typer

from nersery import io
from nersery.annotate.base import BATCH_SIZE, AnnotateStage
from nersery.cli.app import app
from nersery.cli.options import (
    AsJson,
    BatchSize,
    Force,
    Quiet,
    Seed,
    Settings,
    Source,
    Target,
    content_of,
    open_corpus,
    print_tally,
    refuse_same_file,
    report_repairs,
    shared_options,
)
from nersery.cli.sharding import ShardedCommand
from nersery.core import registry
from nersery.core.errors import SettingsError
from nersery.core.training_context import Training
from nersery.pipeline.stage_job import Sharding, StageJob


@app.command(
    cls=ShardedCommand,
    epilog="Examples:\n\n"
    '  nersery annotate raw.txt labelled.jsonl --method qa_prompting --set \'types=["PER", "LOC"]\'\n\n'
    "  nersery annotate raw.txt labelled.jsonl --method tagger_labels --set tagger=my-tagger",
)
def annotate(
    context: typer.Context,
    *,
    source: Source,
    target: Target,
    method: Annotated[str, typer.Option(help="A method of `nersery list annotate`.")],
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
) -> None:
    """Label raw sentences. Labels that the input has are replaced. The same command resumes."""
    reading = shared_options(context, io.ReadOptions)
    sharding = shared_options(context, Sharding)
    from nersery.experiments.overrides import settings_of

    refuse_same_file(target, source, *filter(None, (gold, dev)))
    chosen = settings_of(settings or [])
    annotator = registry.create("annotate", method, chosen)  # wrong settings show before any file is read
    if annotator.reads_first and sharding.shards is not None:
        raise SettingsError(
            f"{method} reads all sentences before it labels the first, so it goes without --shards; for many sentences "
            "with translations there are `nersery crosslingual align` and `nersery crosslingual project`"
        )
    corpus = open_corpus(source, reading, quiet=quiet)
    labelled = replace(reading, format=io.AUTO)  # whatever the raw text is
    examples, held_out = ([open_corpus(name, labelled, quiet=quiet)] if name else [] for name in (gold, dev))
    made_by = {
        "annotate": method, "settings": chosen, "files": registry.files_in(type(annotator), chosen), "seed": seed,
        "input": content_of(corpus), "gold": content_of(*examples), "dev": content_of(*held_out),
        "reading": asdict(reading),
    }  # fmt: skip
    gold_sentences, dev_sentences = ([s for split in part for s in split] for part in (examples, held_out))
    training = Training(dev_sentences, seed)
    stage = AnnotateStage(method, chosen, gold_sentences, training, corpus if annotator.reads_first else ())
    tally = StageJob(stage, corpus, target, method, made_by, sharding, batch_size, force, quiet).run()
    report_repairs(corpus, *examples, *held_out, quiet=quiet)
    print_tally(target, tally, as_json=json)
