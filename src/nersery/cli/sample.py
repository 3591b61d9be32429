"""The command that draws a small training set: dataset sample."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

from typer import Option

from nersery.cli import options
from nersery.cli.app import dataset_group
from nersery.core.errors import DataError, Issue, SettingsError, printable
from nersery.core.files import write_output
from nersery.core.outcome import Tally
from nersery.core.sentence import Corpus
from nersery.pipeline.job import rejects_of
from nersery.pipeline.stage_job import output_format


@dataset_group.command(
    "sample",
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery dataset sample train.conll small.jsonl --size 100 --protocol stratified --seed 1\n\n"
    "  nersery dataset sample train.conll s.conll --size 50 --protocol every_type --ids s.ids.txt",
)
def sample(
    *,
    source: options.Source,
    target: options.Target,
    size: Annotated[int, Option(min=1, help="Sentences to draw.")],
    protocol: Annotated[str, Option(help="How to draw: `nersery list protocols`.")] = "stratified",
    seed: options.Seed = 0,
    each_language: Annotated[bool, Option("--each-language", help="Draw this many of each language.")] = False,
    ids: Annotated[Path | None, Option(help="Also write the sample's ids, one per line.")] = None,
    force: options.Force = False,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Draw a small training set with a paper's protocol."""
    from nersery.experiments import sampling

    format = output_format(target)
    for path in filter(None, (target, ids)):
        options.refuse_same_file(path, source)
    _refuse_existing(target, ids, force=force)
    if ids is not None and ids.resolve() in (target.resolve(), rejects_of(target).resolve()):
        raise SettingsError(f"--ids names an output, {ids}, itself. Choose another file")
    opened = options.open_corpus(source)
    whole_corpus = Corpus(opened)
    if not whole_corpus:
        raise DataError(Issue("there is no sentence to draw", opened.file.name), fix="name a file that has sentences")
    draw = sampling.sample_languages if each_language else sampling.sample
    corpus = draw(whole_corpus, size, protocol, seed)
    reasons = Counter(reject.reason for reject in opened.rejects)
    tally = Tally(len(whole_corpus) + len(opened.rejects), len(corpus), reasons)
    options.report_repairs(opened)
    _refuse_existing(target, ids, force=force)  # somebody may have written there in the meantime
    options.write_chosen(target, corpus, opened, format)
    if ids is not None:
        ids.parent.mkdir(parents=True, exist_ok=True)
        write_output(ids, sampling.id_list(corpus))
    _print_sample(target, corpus, tally, as_json=json)


def _refuse_existing(target: Path, ids: Path | None, *, force: bool) -> None:
    options.refuse_existing_outputs(target, force=force)
    if ids is not None:
        options.refuse_existing(ids, force=force)


def _print_sample(target: Path, corpus: Corpus, tally: Tally, *, as_json: bool) -> None:
    if as_json:
        left = tally.read - tally.written - tally.rejected
        options.print_json({"output": str(target), **tally.as_dict(), "not_drawn": left})
        return
    types = Counter(entity.type for sentence in corpus for entity in sentence.entities)
    counts = ", ".join(f"{type_} {count}" for type_, count in sorted(types.items()))
    rejected = f"; {tally.rejected} rejected" if tally.rejected else ""
    print(printable(f"{target}: {len(corpus)} sentences ({counts or 'no entities'}){rejected}"))
