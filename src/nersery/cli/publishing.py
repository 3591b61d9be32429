"""The command that makes a dataset for others: publish."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import Argument, Option

from nersery.cli import options
from nersery.cli.app import dataset_group
from nersery.core.errors import SettingsError, did_you_mean, printable
from nersery.core.files import lies_in
from nersery.core.warnings import note

if TYPE_CHECKING:
    from nersery.publish.splits import Divided, Division

GIVEN = {"train": "train", "dev": "validation", "validation": "validation", "test": "test"}
"""What may stand in front of a file, and the split that it means."""

Similarity = Annotated[
    float, Option(help="Sentences with at least this share of common words stay in one split, in (0, 1].")
]
Leaks = Annotated[
    str, Option(help="Near-duplicates of sentences in a later given split (train, dev, test): refuse, drop or keep.")
]


@dataset_group.command(
    "publish",
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
        Option(help="TOML with name, description, license, citation and sources (name, url, license, note)."),
    ] = None,
    errors: Annotated[
        str | None, Option(help="Output of `nersery evaluate GOLD PREDICTED --errors --json`, for the card.")
    ] = None,
    dev_share: Annotated[float, Option(help="Share of sentences without a split for dev, in [0, 1).")] = 0.1,
    test_share: Annotated[float, Option(help="Share of sentences without a split for test, in [0, 1).")] = 0.1,
    similarity: Similarity = 0.8,
    leaks: Leaks = "refuse",
    parquet: Annotated[bool, Option("--parquet/--no-parquet", help="Also write Parquet; needs pyarrow.")] = True,
    push: Annotated[str | None, Option(metavar="OWNER/NAME", help="Also upload to the Hugging Face hub.")] = None,
    private: Annotated[bool, Option("--private", help="Make that repository private.")] = False,
    seed: options.Seed = 0,
    force: options.Force = False,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Make a dataset for others: splits without leakage, Parquet, JSONL and a card."""
    from nersery.publish import dataset
    from nersery.publish.about import About, gather, read_about, read_evaluation
    from nersery.publish.hub import hub_client
    from nersery.publish.hub import push as hub_push
    from nersery.publish.splits import Division, divide

    if private and not push:
        raise SettingsError("--private is for --push OWNER/NAME: nothing is uploaded without it")
    names, folder = options.split_folder(files, "nersery dataset publish all.conll data")
    inputs = _inputs(names, folder)
    division = Division(dev_share, test_share, similarity, cast(Any, leaks), seed)
    dataset.check_folder(folder, force=force)
    if parquet:
        dataset.check_parquet()
    client = hub_client(push) if push else None
    described = read_about(about) if about else About()
    evaluation = read_evaluation(errors) if errors else None
    sources = [(options.open_corpus(name), split) for split, name in inputs]
    sentences, given, records = gather(sources)
    options.report_repairs(*(source for source, _ in sources))
    divided = divide(sentences, given, division)
    record = {"inputs": records, "division": asdict(division), "evaluation": evaluation}
    full = dataset.publish(divided, folder, described, record, parquet=parquet, force=force)
    for text in _notes(divided, given, division):
        note(text)
    address = hub_push(client, folder, push, private=private) if push else None
    if json:
        pushed = {"address": address} if address else {}
        splits = {"splits": full["splits"], "dropped": len(full["dropped"])}
        options.print_json({"folder": str(folder), **splits, **pushed})
    else:
        if address:
            print(address)
        counts = ", ".join(f"{split} {count:,}" for split, count in full["splits"].items())
        print(printable(f"{folder}: {counts} sentences"))


def _notes(divided: Divided, given: Mapping[str, str], division: Division) -> Iterator[str]:
    """What of a dataset its user may not have meant."""
    from nersery.report.number_format import plural

    if not any(sentence.entities for corpus in divided.splits.values() for sentence in corpus):
        yield "no sentence has an entity, expected labelled corpora"
    shares = {"validation": division.dev_share, "test": division.test_share}
    without = [split for split, share in shares.items() if share and split not in divided.splits]
    written = sum(map(len, divided.splits.values()))
    if without and written + len(divided.dropped) + len(divided.generated) > len(given):
        yield f"no sentence for {' and '.join(without)}: there are too few, or too many that must not be parted"
    for (split, later_split), count in sorted(divided.leaks.items()):
        done = "left out of" if divided.dropped else "kept in"
        yield f"{plural(count, 'sentence')} {done} {split} with its like in {later_split}"
    if divided.generated:
        left_out = plural(len(divided.generated), "generated sentence")
        yield f"{left_out} left out, because validation or test has the parent, or a sentence like it"
    for split in [split for split in divided.splits if split != "train"]:
        methods = {sentence.origin.method if sentence.origin else "" for sentence in divided.splits[split]}
        if "" not in methods:
            yield (
                f"all labels of {split} are by {', '.join(sorted(methods))}: unless people have reviewed them, scores "
                "on it measure agreement with that"
            )
    if divided.parted:
        yield f"the sentences of {divided.parted} of {plural(divided.documents, 'document')} stand in several splits"


def _inputs(names: Sequence[str], folder: Path) -> list[tuple[str, str]]:
    """Each input's split, which is empty where none is given, and its path."""
    inputs = []
    for name in names:
        split, _, path = name.partition("=")
        if split not in GIVEN and Path(path).exists() and not Path(name).exists() and path:
            raise SettingsError(f'{name}: there is no split "{split}"; {did_you_mean(split, GIVEN)}')
        inputs.append((GIVEN[split], path) if split in GIVEN and path else ("", name))
        source = Path(inputs[-1][1])
        if lies_in(source, folder) or (source.is_dir() and os.path.realpath(source) == os.path.realpath(folder)):
            raise SettingsError(f"{source} is an input in {folder}, the folder to write. Choose another folder")
    return inputs
