"""Commands for datasets: convert, publish, sample."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import Argument, Option

from nersery import io
from nersery.cli import options
from nersery.cli.app import dataset_group
from nersery.core.counting import plural
from nersery.core.errors import SettingsError, did_you_mean, printable
from nersery.core.outcome import Tally
from nersery.core.progress import Progress
from nersery.core.sentence import Corpus, Sentence, types_in
from nersery.core.system.files import is_inside, refuse_within, write_output
from nersery.core.text.definitions import check_types
from nersery.core.warnings import note
from nersery.experiments.data import sampling
from nersery.experiments.data.corpus_notes import note_of_unlabelled
from nersery.io.input_files.same_file import refuse_same_file
from nersery.io.jsonl import rejects_of
from nersery.pipeline.stage_job import corpus_job, output_format, unchanged

if TYPE_CHECKING:
    from nersery.publish.splits import Divided, Division

GIVEN = {"train": "train", "dev": "validation", "validation": "validation", "test": "test"}
"""The prefixes that files may have, and the splits that they mean."""


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
    """Convert between formats. Only options change sentences, labels or characters."""
    format = output_format(target, to, can_be_named=True)
    for option, value in (("--scheme", scheme), ("--separator", separator)):
        if value is not None and format != "conll":
            raise SettingsError(f"{option} is for CoNLL output, but {target} is written as {format}: leave it out")
    scheme, separator = scheme or "IOB2", separator or "tab"
    separators = {"tab": "\t", "space": " "}
    if separator not in separators:
        raise SettingsError(f'--separator is "{separator}"; {did_you_mean(separator, separators)}')
    refuse_same_file(target, source)
    writer = io.writer(format, scheme=scheme, separator=separators[separator])
    example = "OLD=NEW, e.g. PER=PERSON, or MISC= to leave them out"
    names = options.values_by_type("--type", types or [], example, empty=True)
    check_types(filter(None, names.values()), "--type")
    corpus = options.open_corpus(source)
    fingerprint = {"convert": format, "types": names, "scheme": scheme, "separator": separator}
    input_fingerprint = corpus.fingerprint()
    job = corpus_job(target, {**fingerprint, "input": input_fingerprint}, writer, rows=corpus)
    job.check_target(overwrite=force)

    def rename(batch: Sequence[Sentence]) -> Sequence[Sentence]:
        return [sentence.with_types(names) for sentence in batch] if names else batch

    present = types_in(corpus)  # this pass also reports all issues before anything is written
    with Progress("convert", quiet=quiet) as progress:
        tally = job.run(unchanged(corpus, input_fingerprint), rename, progress=progress, overwrite=force)
    job.note_losses()
    if absent := [name for name in names if name not in present]:
        note(f"no entity has the type {', '.join(absent)} that --type names")
    options.print_tally(target, tally, corpus, as_json=json)


@dataset_group.command(
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery dataset publish train.conll my-dataset --no-parquet\n\n"
    "  nersery dataset publish train=train.conll test=test.conll my-dataset --about about.toml --leaks drop",
)
def publish(
    *,
    files: Annotated[
        list[str],
        Argument(
            help="Labelled corpora, then the folder to write; train=, dev= or test= names a file's split.",
            metavar="[SPLIT=]INPUT... FOLDER",
        ),
    ],
    about: Annotated[
        str | None,
        options.file("TOML with name, description, license, citation and sources (name, url, license, note)."),
    ] = None,
    errors: Annotated[
        str | None, options.file("Output of `nersery evaluate GOLD PREDICTED --errors --json`, for the card.")
    ] = None,
    dev_share: Annotated[float, Option(help="Share of unassigned sentences for dev, in [0, 1).")] = 0.1,
    test_share: Annotated[float, Option(help="The same for test.")] = 0.1,
    similarity: Annotated[
        float, Option(help="Sentences that share at least this fraction of words stay in one split, in (0, 1].")
    ] = 0.8,
    leaks: Annotated[
        str,
        Option(
            help="If named splits share near-duplicates: refuse, drop (from the earlier split, train first), or keep."
        ),
    ] = "refuse",
    parquet: Annotated[bool, Option("--parquet/--no-parquet", help="Also write Parquet; needs pyarrow.")] = True,
    push: Annotated[str | None, Option(metavar="OWNER/NAME", help="Also upload to the Hugging Face hub.")] = None,
    private: Annotated[bool, Option("--private", help="Make that repository private.")] = False,
    seed: options.Seed = 0,
    force: options.Force = False,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Prepare a dataset for publication: splits without leakage, Parquet, JSONL and a card."""
    from nersery.publish import dataset
    from nersery.publish.about import About, gather, read_about, read_evaluation
    from nersery.publish.hub import hub_client
    from nersery.publish.hub import push as hub_push
    from nersery.publish.splits import Division, divide

    if private and not push:
        raise SettingsError("--private needs --push OWNER/NAME: without it, nothing is uploaded")
    names, folder = options.split_folder(files, "nersery dataset publish all.conll data")
    inputs = _inputs(names, folder)
    division = Division(dev_share, test_share, similarity, cast(Any, leaks), seed)
    dataset.check_folder(folder, force=force)
    if parquet:
        dataset.check_parquet()
    client = hub_client(push, private=private) if push else None
    described = read_about(about) if about else About()
    evaluation = read_evaluation(errors) if errors else None
    sources = [(options.open_corpus(name), split) for split, name in inputs]
    gathered = gather(sources, division.leaks)
    options.report_repairs(*(source for source, _ in sources))
    divided = divide(gathered.sentences, gathered.given, division, gathered.repeated)
    record = {"inputs": gathered.records, "division": asdict(division), "evaluation": evaluation}
    full = dataset.publish(divided, folder, described, record, parquet=parquet, force=force)
    for text in _notes(divided, gathered.given, division, {source.file.name: source for source, _ in sources}):
        note(text)
    address = hub_push(client, folder, push, private=private) if push else None
    _print_published(folder, full, address, json=json)


def _print_published(folder: Path, full: Mapping[str, Any], address: str | None, *, json: bool) -> None:
    if json:
        pushed = {"address": address} if address else {}
        splits = {"splits": full["splits"], "dropped": len(full["dropped"])}
        options.print_json({"folder": str(folder), **splits, **pushed})
    else:
        if address:
            print(address)
        counts = ", ".join(f"{split} {count:,}" for split, count in full["splits"].items())
        print(printable(f"{folder}: {counts} sentences"))


def _notes(
    divided: Divided, given: Mapping[str, str], division: Division, files: Mapping[str, io.Source]
) -> Iterator[str]:
    """Yield notes on properties of a dataset that may be unintended."""
    if unlabelled := note_of_unlabelled(files):
        yield unlabelled
    shares = {"validation": division.dev_share, "test": division.test_share}
    without = [split for split, share in shares.items() if share and split not in divided.splits]
    written = sum(map(len, divided.splits.values()))
    if without and written + len(divided.dropped) + len(divided.generated) > len(given):
        yield f"no sentence for {' and '.join(without)}: there are too few sentences, or too many must stay together"
    for (split, later_split), count in sorted(divided.leaks.items()):
        done = f"left out of {split}, because" if divided.dropped else f"kept in {split}, although"
        yield f"{plural(count, 'sentence')} {done} {later_split} has similar ones or others made from the same parent"
    if divided.generated:
        left_out = plural(len(divided.generated), "generated sentence")
        yield f"{left_out} left out, because validation or test has their parent or a similar sentence"
    for split in [split for split in divided.splits if split != "train"]:
        methods = {sentence.origin.method if sentence.origin else "" for sentence in divided.splits[split]}
        if "" not in methods:
            yield (
                f"all labels of {split} were made by {', '.join(sorted(methods))}: unless people have reviewed them, "
                "scores on it measure agreement with the method"
            )
    if divided.parted and divided.documents > 1:  # one mark at the start of a file means nothing
        yield f"the sentences of {divided.parted} of {plural(divided.documents, 'document')} are in several splits"


def _inputs(names: Sequence[str], folder: Path) -> list[tuple[str, str]]:
    """The split and the path of each input; the split is empty if none is given."""
    inputs = []
    for name in names:
        split, _, path = name.partition("=")
        if split not in GIVEN and Path(path).exists() and not Path(name).exists() and path:
            raise SettingsError(f'{name}: there is no split "{split}"; {did_you_mean(split, GIVEN)}')
        inputs.append((GIVEN[split], path) if split in GIVEN and path else ("", name))
        source = Path(inputs[-1][1])
        if is_inside(source, folder) or (source.is_dir() and os.path.realpath(source) == os.path.realpath(folder)):
            raise SettingsError(f"{source} is an input in {folder}, the folder to write. Choose another folder")
        refuse_within(folder, source)
    return inputs


@dataset_group.command(
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery dataset sample train.conll small.jsonl --size 100 --protocol stratified --seed 1\n\n"
    "  nersery dataset sample train.conll s.conll --size 50 --protocol every_type --ids s.ids.txt",
)
def sample(
    *,
    source: options.Source,
    target: options.Target,
    size: Annotated[int, Option("--size", "-n", min=1, help="Sentences to draw.")],
    protocol: Annotated[
        str, Option(metavar="PROTOCOL", help="How to draw, from `nersery list protocols`.")
    ] = "stratified",
    seed: options.Seed = 0,
    each_language: Annotated[bool, Option("--each-language", help="Draw --size sentences of each language.")] = False,
    ids: Annotated[Path | None, Option(help="Also write the sample's ids, one per line.")] = None,
    force: options.Force = False,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Draw a small training set with a paper's protocol."""
    format = output_format(target)
    for path in filter(None, (target, ids)):
        refuse_same_file(path, source)
    options.refuse_existing_outputs(target, ids, force=force)
    if ids is not None and ids.resolve() in (target.resolve(), rejects_of(target).resolve()):
        raise SettingsError(f"--ids {ids} is already an output of this command. Choose another file")
    opened = options.open_corpus(source)
    whole_corpus = Corpus(opened)
    if not whole_corpus:
        raise opened.file.error("there is no sentence to draw", "name a file that has sentences")
    draw = sampling.sample_languages if each_language else sampling.sample
    corpus = draw(whole_corpus, size, protocol, seed)
    reasons = Counter(reject.reason for reject in opened.rejects)
    tally = Tally(len(whole_corpus) + len(opened.rejects), len(corpus), reasons)
    options.report_repairs(opened)
    options.refuse_existing_outputs(target, ids, force=force)  # the files may have been created in the meantime
    options.write_chosen(target, corpus, opened, format)
    if ids is not None:
        ids.parent.mkdir(parents=True, exist_ok=True)
        write_output(ids, sampling.id_list(corpus))
    _print_sample(target, corpus, tally, as_json=json)


def _print_sample(target: Path, corpus: Corpus, tally: Tally, *, as_json: bool) -> None:
    if as_json:
        left = tally.read - tally.written - tally.rejected
        options.print_json({"output": str(target), **tally.as_dict(), "not_drawn": left})
        return
    types = Counter(entity.type for sentence in corpus for entity in sentence.entities)
    counts = ", ".join(f"{type_} {count}" for type_, count in sorted(types.items()))
    rejected = f"; {tally.rejected} rejected" if tally.rejected else ""
    print(printable(f"{target}: {plural(len(corpus), 'sentence')} ({counts or 'no entities'}){rejected}"))
