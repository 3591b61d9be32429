"""Commands that make and choose sentences: augment, select."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from nersery import __version__, io, registry
from nersery.cli import app
from nersery.cli.corpora import Source, Target
from nersery.cli.options import (
    Force,
    Quiet,
    Seed,
    Settings,
    open_corpus,
    output_format,
    reads_corpora,
    refuse_same_file,
)
from nersery.loop import BATCH_SIZE, FileJob, content_hash, files_in

BatchSize = Annotated[int, typer.Option(min=1, help="Sentences at once; changes speed, never results.")]


def file_job(target: Path, fingerprint: Mapping[str, Any]) -> FileJob:
    """A loop into a corpus file of the format that its extension says."""
    writer = io.writer(output_format(target, None))
    return FileJob(target, writer.encode, io.reject_line, {"nersery": __version__, **fingerprint}, writer.header)


def fingerprint_of(path: str) -> str:
    """The content of an input, so that a job never goes on with a changed file."""
    return content_hash(path) if path != "-" else "standard input"


@app.command(
    epilog="Examples:\n\n  nersery augment train.conll more.jsonl --method mention_replacement --copies 3\n\n"
    "  nersery augment train.conll more.jsonl --method synonym_replacement --set rate=0.2 --set table=words.tsv"
)
@reads_corpora
def augment(
    source: Source,
    target: Target,
    method: Annotated[str, typer.Option(help="`nersery list augment` names them.")],
    copies: Annotated[int, typer.Option(min=1, help="New sentences to try for each sentence.")] = 1,
    seed: Seed = 0,
    settings: Settings = None,
    learn_from: Annotated[
        str | None, typer.Option(help="Labelled sentences to learn from; else the input itself.")
    ] = None,
    batch_size: BatchSize = BATCH_SIZE,
    force: Force = False,
    quiet: Quiet = False,
    *,
    reading: io.ReadOptions,
) -> None:
    """Make new labelled sentences; the output holds the new ones only, rejects lie beside it with their reasons."""
    from nersery.augment.base import step, tasks
    from nersery.progress import Progress
    from nersery.recipe import settings_of

    refuse_same_file(source, target)
    chosen = settings_of(settings or [])
    augmenter = registry.create("augment", method, chosen)
    corpus = open_corpus(source, reading, quiet=quiet)
    job = file_job(
        target,
        {
            "augment": method, "settings": chosen, "files": files_in(chosen), "copies": copies, "seed": seed,
            "input": fingerprint_of(source), "learn_from": fingerprint_of(learn_from) if learn_from else None,
        },
    )  # fmt: skip
    job.check_target(overwrite=force)
    augmenter.fit(corpus if learn_from is None else open_corpus(learn_from, reading, quiet=quiet))
    with Progress(method, quiet=quiet) as progress:
        tally = job.run(
            tasks(corpus, copies),
            step(augmenter, seed),
            batch_size=batch_size,
            progress=progress,
            overwrite=force,
        )
    print(f"{target}: {tally}")


@app.command(
    epilog="Examples:\n\n  nersery select more.jsonl kept.jsonl --method agreement --gold train.conll "
    "--set tagger=my-tagger\n\n"
    "  nersery select more.jsonl kept.jsonl --method duplicates --gold train.conll --held-out test.conll"
)
@reads_corpora
def select(
    source: Source,
    target: Target,
    method: Annotated[str, typer.Option(help="`nersery list select` names them.")],
    gold: Annotated[str, typer.Option(help="The labelled sentences that the new ones were made from.")],
    held_out: Annotated[Optional[list[str]], typer.Option(help="Dev and test files, against leaks.")] = None,  # noqa: UP045
    threshold: Annotated[Optional[float], typer.Option(help="The lowest score to keep.")] = None,  # noqa: UP045
    settings: Settings = None,
    force: Force = False,
    quiet: Quiet = False,
    *,
    reading: io.ReadOptions,
) -> None:
    """Score sentences and keep the good ones; the scores stay in the file, rejects lie beside it."""
    from nersery.progress import Progress
    from nersery.recipe import settings_of
    from nersery.select.base import step

    refuse_same_file(source, target)
    chosen = settings_of(settings or [])
    if threshold is not None:
        chosen["threshold"] = threshold
    selector = registry.create("select", method, chosen)
    inputs = {name: fingerprint_of(name) for name in (source, gold, *(held_out or ()))}
    job = file_job(
        target,
        {"select": method, "settings": chosen, "files": files_in(chosen), "inputs": list(inputs.values())},
    )
    job.check_target(overwrite=force)
    selector.fit(list(open_corpus(gold, reading, quiet=quiet)), held_out=_all(held_out or (), reading))
    candidates = open_corpus(source, reading, quiet=quiet)
    selector.survey(candidates)
    with Progress(method, quiet=quiet) as progress:
        tally = job.run(candidates, step(selector), progress=progress, overwrite=force)
    print(f"{target}: {tally}")


def _all(names: Iterable[str], reading: io.ReadOptions) -> Iterable[Any]:
    return [sentence for name in names for sentence in io.open_corpus(name, reading)]
