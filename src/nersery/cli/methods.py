"""Commands that make and choose sentences: augment, select."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from nersery import io
from nersery.cli.app import app
from nersery.cli.options import (
    AsJson,
    BatchSize,
    Force,
    Quiet,
    ReadingCommand,
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
from nersery.pipeline.job import BATCH_SIZE
from nersery.pipeline.stage_job import Sharding, StageJob

if TYPE_CHECKING:
    pass


@app.command(
    cls=ShardedCommand,
    epilog="Examples:\n\n  nersery augment train.conll more.jsonl --method mention_replacement --copies 3\n\n"
    "  nersery augment train.conll more.jsonl --method synonym_replacement --set rate=0.2 --set table=words.tsv\n\n"
    "  nersery augment train.conll more --method mention_replacement --copies 100 --shards 10000 --workers 4",
)
def augment(
    context: typer.Context,
    *,
    source: Source,
    target: Target,
    method: Annotated[str, typer.Option(help="A method of `nersery list augment`.")],
    copies: Annotated[int, typer.Option(min=1, help="New sentences to try for each sentence.")] = 1,
    seed: Seed = 0,
    settings: Settings = None,
    learn_from: Annotated[
        str | None, typer.Option(help="Labelled sentences to learn from; else the input itself.")
    ] = None,
    dev: Annotated[
        str | None, typer.Option(help="Labelled sentences to choose the best weights by, for methods that train.")
    ] = None,
    batch_size: BatchSize = BATCH_SIZE,
    force: Force = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make new labelled sentences. The output holds only these; OUTPUT.rejects.jsonl says why others failed."""
    reading = shared_options(context, io.ReadOptions)
    sharding = shared_options(context, Sharding)
    from nersery.augment.base import AugmentStage
    from nersery.experiments.overrides import settings_of

    others = [name for name in (learn_from, dev) if name]
    refuse_same_file(target, source, *others)
    chosen = settings_of(settings or [])
    augmenter = registry.create("augment", method, chosen)  # wrong settings show before any file is read
    corpus = open_corpus(source, reading, quiet=quiet)
    examples = open_corpus(learn_from, reading, quiet=quiet) if learn_from else corpus
    held_out = [open_corpus(dev, reading, quiet=quiet)] if dev else []
    made_by = {
        "augment": method, "settings": chosen, "files": registry.files_in(type(augmenter), chosen), "copies": copies,
        "seed": seed, "inputs": content_of(corpus, examples, *held_out), "reading": asdict(reading),
    }  # fmt: skip
    stage = AugmentStage(method, chosen, examples, held_out[0] if held_out else (), copies, seed)
    job = StageJob(stage, corpus, target, method, made_by, sharding, batch_size, force, quiet)
    tally = job.run()
    report_repairs(corpus, quiet=quiet)
    print_tally(target, tally, as_json=json)


@app.command(
    cls=ReadingCommand,
    epilog="Examples:\n\n  nersery select more.jsonl kept.jsonl --method agreement --gold train.conll "
    "--set tagger=my-tagger\n\n"
    "  nersery select more.jsonl kept.jsonl --method duplicates --gold train.conll --held-out test.conll",
)
def select(
    context: typer.Context,
    *,
    source: Source,
    target: Target,
    method: Annotated[str, typer.Option(help="A selector of `nersery list select`.")],
    gold: Annotated[
        str | None, typer.Option(help="The labelled sentences that the new ones were made from, or stand beside.")
    ] = None,
    held_out: Annotated[
        list[str] | None,
        typer.Option(help="A dev or test file whose sentences must not be generated; may be repeated."),
    ] = None,
    dev: Annotated[str | None, typer.Option(help="Labelled sentences to stop self_training by.")] = None,
    seed: Seed = 0,
    threshold: Annotated[float | None, typer.Option(help="The lowest score to keep.")] = None,
    settings: Settings = None,
    force: Force = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Score sentences and keep the good ones. The output holds the scores; OUTPUT.rejects.jsonl has the others."""
    reading = shared_options(context, io.ReadOptions)
    from nersery.core.training_context import Training
    from nersery.experiments.overrides import settings_of
    from nersery.select.base import SelectStage

    parents, others = ([gold] if gold else []), [*(held_out or []), *([dev] if dev else [])]
    refuse_same_file(target, source, *parents, *others)
    chosen = settings_of(settings or [])
    if threshold is not None:
        if "threshold" in chosen:
            raise SettingsError("--threshold and --set threshold= say the same setting. Name one of them")
        chosen["threshold"] = threshold
    selector = registry.create("select", method, chosen)
    candidates = open_corpus(source, reading, quiet=quiet)
    known, away = ([open_corpus(name, reading, quiet=quiet) for name in names] for names in (parents, others))
    made_by = {
        "select": method, "settings": chosen, "files": registry.files_in(type(selector), chosen), "seed": seed,
        "gold": bool(gold), "dev": bool(dev), "reading": asdict(reading),
        "inputs": content_of(candidates, *known, *away),
    }  # fmt: skip
    learnt, avoided = ([sentence for corpus in part for sentence in corpus] for part in (known, away))
    training = Training(list(away[-1]) if dev else (), seed)
    stage = SelectStage(method, chosen, learnt, avoided, candidates, training)
    tally = StageJob(stage, candidates, target, method, made_by, force=force, quiet=quiet).run()
    report_repairs(candidates, *known, *away, quiet=quiet)
    print_tally(target, tally, as_json=json)
