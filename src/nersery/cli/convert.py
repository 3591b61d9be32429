"""The command between formats: dataset convert."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from typer import Option

from nersery import io
from nersery.cli import options
from nersery.cli.app import dataset_group
from nersery.core.errors import SettingsError, did_you_mean, printable
from nersery.core.progress import Progress
from nersery.core.sentence import Sentence, types_in
from nersery.core.validation import TYPE_RULE, is_type_name
from nersery.core.warnings import note
from nersery.pipeline.stage_job import corpus_job, output_format, unchanged


@dataset_group.command(
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery dataset convert train.iob1 train.conll --scheme BIOES\n\n"
    "  nersery dataset convert broken.conll clean.jsonl --repair lost-prefix --repair bare-dash\n\n"
    "  nersery dataset convert test.conll people.jsonl --type PER=PERSON --type MISC=",
)
def convert(
    source: options.Source,
    target: options.Target,
    *,
    to: options.Format = None,
    scheme: Annotated[str | None, Option(help="Tag scheme of CoNLL output, by default IOB2.")] = None,
    separator: Annotated[str | None, Option(help="Separator of CoNLL columns: tab (the default) or space.")] = None,
    types: Annotated[
        list[str] | None,
        Option("--type", metavar="OLD=NEW", help="Rename a type; OLD= drops its entities; may be repeated."),
    ] = None,
    force: options.Force = False,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Convert between formats. Sentences, labels and characters do not change."""
    format = output_format(target, to)
    for option, value in (("--scheme", scheme), ("--separator", separator)):
        if value is not None and format != "conll":
            raise SettingsError(f"{option} is for CoNLL output, but {target} is written as {format}: leave it out")
    scheme, separator = scheme or "IOB2", separator or "tab"
    separators = {"tab": "\t", "space": " "}
    if separator not in separators:
        raise SettingsError(f'--separator is "{separator}"; {did_you_mean(separator, separators)}')
    options.refuse_same_file(target, source)
    write = partial(io.writer, format, scheme=scheme, separator=separators[separator])
    write()  # says what is wrong with the options before anything is read
    example = "OLD=NEW, e.g. PER=PERSON, or MISC= to leave them out"
    names = options.values_by_type("--type", types or [], example, empty=True)
    if invalid := [f"{old}={new}" for old, new in names.items() if new and not is_type_name(new)]:
        raise SettingsError(f"--type {printable(invalid[0])}: {TYPE_RULE}")
    corpus = options.open_corpus(source)
    writer = write(columns=corpus.extra_columns)
    fingerprint = {"convert": format, "types": names, "scheme": scheme, "separator": separator}
    input_fingerprint = corpus.fingerprint()
    job = corpus_job(target, {**fingerprint, "input": input_fingerprint}, writer, rows=corpus)
    job.check_target(overwrite=force)

    def rename(batch: Sequence[Sentence]) -> Sequence[Sentence]:
        return [sentence.with_types(names) for sentence in batch] if names else batch

    present = types_in(corpus)  # which also shows every issue first
    with Progress("convert", quiet=quiet) as progress:
        tally = job.run(unchanged(corpus, input_fingerprint), rename, progress=progress, overwrite=force)
    job.note_losses()
    if absent := [name for name in names if name not in present]:
        note(f"no entity has the type {', '.join(absent)} that --type names")
    options.print_tally(target, tally, corpus, as_json=json)
