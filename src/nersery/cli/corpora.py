"""Commands on files: stats, convert, sample, list, copy."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from nersery import io
from nersery.cli import tables
from nersery.cli.app import app, dataset_group, inspect_group
from nersery.cli.options import (
    AsJson,
    Force,
    Quiet,
    ReadingCommand,
    Seed,
    Source,
    Target,
    content_of,
    file_job,
    input_path,
    open_corpus,
    output_format,
    print_json,
    print_tally,
    refuse_existing,
    refuse_same_file,
    report_repairs,
    shared_options,
)
from nersery.core import registry
from nersery.core.errors import (
    DataError,
    Issue,
    SettingsError,
    did_you_mean,
    printable,
)
from nersery.core.files import write_atomic
from nersery.core.outcome import Step, Tally
from nersery.core.sentence import Corpus, Sentence
from nersery.core.validation import is_type_name
from nersery.experiments.paths import EXAMPLE_PREFIX
from nersery.pipeline.job import rejects_of


@inspect_group.command(
    "stats",
    cls=ReadingCommand,
    epilog="Examples:\n\n  nersery inspect stats train.conll dev.conll test.conll\n\n"
    "  nersery inspect stats train.conll --repair lost-prefix --json | jq '.[0].types'",
)
def stats(
    context: typer.Context,
    files: Annotated[list[str], typer.Argument(help="Corpora, or - for standard input.", metavar="INPUT...")],
    json: AsJson = False,
) -> None:
    """Count sentences, words, entities by type, and dropped sentences by reason. Names every error of a file."""
    reading = shared_options(context, io.ReadOptions)
    rows = []
    problems: list[Issue] = []
    fixes: list[str] = []
    for name in files:
        try:
            rows.append(_count(name, io.open_corpus(input_path(name), reading)))
        except DataError as error:
            problems += error.issues
            fixes.append(error.fix)
    if problems:
        raise DataError(problems, fix=" ".join(dict.fromkeys(fixes)))
    if json:
        print_json(rows)
    else:
        _print_stats(rows)


def _count(name: str, source: io.Source) -> dict[str, Any]:
    sentences = words = entity_words = without = longest = 0
    types: Counter[str] = Counter()
    origins: Counter[str] = Counter()
    for sentence in source:
        sentences += 1
        words += len(sentence)
        longest = max(longest, len(sentence))
        without += not sentence.entities
        types.update(entity.type for entity in sentence.entities)
        entity_words += sum(entity.end - entity.start for entity in sentence.entities)
        if sentence.origin is not None:
            origins[sentence.origin.method] += 1
    return {
        "file": name,
        "format": source.description,
        "sentences": sentences,
        "words": words,
        "longest_sentence": longest,
        "entities": types.total(),
        "entity_words": entity_words,
        "sentences_without_entities": without,
        "types": dict(sorted(types.items())),
        "generated_by": dict(sorted(origins.items())),
        "repaired": dict(sorted(source.repaired.items())),
        "rejected": len(source.rejects),
        "dropped": _dropped(Path(input_path(name))),
    }


def _dropped(path: Path) -> dict[str, int]:
    """What the job that wrote a file dropped, by the reason, as its rejects beside the file say."""
    reasons = Counter(reject.reason for reject in io.read_rejects(rejects_of(path)))
    return dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])))


def _print_stats(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        print(printable(f"{row['file']}  ({row['format']})"))
        size = max(1, row["sentences"])
        print(
            f"  {row['sentences']:,} sentences, {row['words']:,} words ({row['words'] / size:.1f} a sentence, "
            f"longest {row['longest_sentence']:,})"
        )
        print(
            f"  {row['entities']:,} entities over {row['entity_words']:,} words; "
            f"{row['sentences_without_entities']:,} sentences without entities"
        )
        types = {printable(type_): count for type_, count in row["types"].items()}
        for type_, count in zip(tables.padded(types), types.values(), strict=True):
            print(f"    {type_}  {count:>7,}  {100 * count / row['entities']:5.1f} %")
        for title in ("generated_by", "repaired"):
            if row[title]:
                counts = ", ".join(f"{key} {count:,}" for key, count in row[title].items())
                print(printable(f"  {title.replace('_', ' ')}: {counts}"))
        if row["rejected"]:
            print(f"  rejected: {row['rejected']:,} sentences")
        if row["dropped"]:
            print(f"  dropped before: {sum(row['dropped'].values()):,} sentences")
        for reason, count in row["dropped"].items():
            print(f"    {count:>7,}  {printable(reason)}")
    if len(rows) > 1:
        _print_types(rows)


def _print_types(rows: list[dict[str, Any]]) -> None:
    """How often each type stands in each file, for splits side by side."""
    shown = tables.table("type", *(row["file"] for row in rows), figures_from=1)
    for type_ in sorted({type_ for row in rows for type_ in row["types"]}):
        shown.add_row(tables.text(type_), *(f"{row['types'].get(type_, 0):,}" for row in rows))
    tables.show(shown)


@app.command(
    cls=ReadingCommand,
    epilog="Examples:\n\n  nersery convert train.iob1 train.conll --scheme BIOES\n\n"
    "  nersery convert broken.conll clean.jsonl --repair lost-prefix --repair bare-dash\n\n"
    "  nersery convert test.conll people.jsonl --type PER=PERSON --type MISC=",
)
def convert(
    context: typer.Context,
    source: Source,
    target: Target,
    to: Annotated[
        str | None,
        typer.Option("--to", help=f"Output format: {', '.join(io.OUTPUT_FORMATS)}; by default from its extension."),
    ] = None,
    scheme: Annotated[str, typer.Option(help="Tag scheme of CoNLL output.")] = "IOB2",
    separator: Annotated[str, typer.Option(help="What separates CoNLL columns: tab or space.")] = "tab",
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="OLD=NEW", help="Rename a type; OLD= drops its entities. May be repeated."),
    ] = None,
    force: Force = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Read one format and write another. Sentences, labels and code points stay as they are."""
    reading = shared_options(context, io.ReadOptions)
    from nersery.core.progress import Progress

    separators = {"tab": "\t", "space": " "}
    if separator not in separators:
        raise SettingsError(f'--separator is "{separator}"; {did_you_mean(separator, separators)}')
    refuse_same_file(target, source)
    format = output_format(target, to)
    write = partial(io.writer, format, scheme=scheme, separator=separators[separator])
    write()  # says what is wrong with the options before anything is read
    names = _new_names(types or [])
    corpus = open_corpus(source, reading, quiet=quiet)
    writer = write(columns=corpus.extra_columns)
    made_by = {"convert": format, "types": names, "scheme": scheme, "separator": separator, "reading": asdict(reading)}
    job = file_job(target, {**made_by, "input": content_of(corpus)}, writer)
    job.check_target(overwrite=force)
    met = {entity.type for sentence in corpus for entity in sentence.entities}  # which also shows every fault first
    with Progress("convert", quiet=quiet) as progress:
        tally = job.run(corpus.outcomes(), _renamed(names), progress=progress, overwrite=force)
    report_repairs(corpus, quiet=quiet)
    if unmet := () if quiet else [name for name in names if name not in met]:
        print(f"note: no entity has the type {printable(', '.join(unmet))} that --type names", file=sys.stderr)
    print_tally(target, tally, as_json=json)


def _renamed(names: Mapping[str, str]) -> Step[Sentence]:
    """The step that calls types otherwise; without names it changes nothing."""
    return lambda batch: [sentence.with_types(names) for sentence in batch] if names else batch


def _new_names(pairs: list[str]) -> dict[str, str]:
    """What types are to be called, from ``OLD=NEW``."""
    names = dict(pair.partition("=")[::2] for pair in pairs)
    if wrong := [pair for pair in pairs if "=" not in pair or not pair.partition("=")[0]]:
        raise SettingsError(f'--type is "{wrong[0]}", expected OLD=NEW, e.g. PER=PERSON, or MISC= to leave them out')
    if len(names) < len(pairs):
        raise SettingsError("--type names a type twice: give each one new name")
    for old, new in names.items():
        if new and not is_type_name(new):
            raise SettingsError(f"--type {old}={new}: a type is a name without tabs, line breaks or outer spaces")
    return names


@dataset_group.command(
    "sample",
    cls=ReadingCommand,
    epilog="Examples:\n\n  nersery dataset sample train.conll small.jsonl --size 100 --protocol stratified --seed 1\n\n"
    "  nersery dataset sample train.conll s.conll --size 50 --protocol every_type --ids s.ids.txt",
)
def sample(
    context: typer.Context,
    *,
    source: Source,
    target: Target,
    size: Annotated[int, typer.Option(min=1, help="Sentences to draw.")],
    protocol: Annotated[str, typer.Option(help="How to draw; `nersery list protocols` names the ways.")] = "stratified",
    seed: Seed = 0,
    each_language: Annotated[
        bool, typer.Option("--each-language", help="Draw so many sentences of each language, as multilingual runs do.")
    ] = False,
    ids: Annotated[Path | None, typer.Option(help="Write the ids of the sample here, one a line.")] = None,
    force: Force = False,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Draw a small training set, as the papers do."""
    reading = shared_options(context, io.ReadOptions)
    from nersery.experiments import sampling

    output_format(target)
    if str(ids) == io.STANDARD_INPUT:
        raise SettingsError("--ids -: ids are not written to standard output, name a file")
    for path in filter(None, (target, rejects_of(target), ids)):
        refuse_same_file(path, source)
        refuse_existing(path, force=force)
    if ids is not None and ids.resolve() in (target.resolve(), rejects_of(target).resolve()):
        raise SettingsError(f"--ids names an output, {ids}, itself. Choose another file")
    everything = open_corpus(source, reading, quiet=quiet)
    whole = Corpus(everything)
    if not whole:
        raise DataError(Issue("there is no sentence to draw", everything.file.name), fix="give sentences")
    draw = sampling.sample_languages if each_language else sampling.sample
    corpus = draw(whole, size, protocol, seed)
    reasons = Counter(reject.reason for reject in everything.rejects)
    tally = Tally(len(whole) + len(everything.rejects), len(corpus), reasons)
    report_repairs(everything, quiet=quiet)
    io.write(corpus, target)
    if everything.rejects:
        write_atomic(rejects_of(target), "".join(map(io.reject_line, everything.rejects)))
    else:
        rejects_of(target).unlink(missing_ok=True)
    if ids is not None:
        ids.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(ids, sampling.id_list(corpus))
    _print_sample(target, corpus, tally, as_json=json)


def _print_sample(target: Path, corpus: Corpus, tally: Tally, *, as_json: bool) -> None:
    if as_json:
        left = tally.read - tally.written - tally.rejected
        print_json({"output": str(target), **tally.as_dict(), "not_drawn": left})
        return
    types = Counter(entity.type for sentence in corpus for entity in sentence.entities)
    counts = ", ".join(f"{printable(type_)} {count}" for type_, count in sorted(types.items()))
    rejected = f"; {tally.rejected} rejected" if tally.rejected else ""
    print(f"{target}: {len(corpus)} sentences ({counts or 'no entities'}){rejected}")


@app.command(
    name="list",
    epilog="Examples:\n\n  nersery list augment\n\n  nersery list mention_replacement",
)
def list_(
    what: Annotated[
        str | None,
        typer.Argument(
            help="augment, annotate, align, select, tagger, recipes, presets, protocols, repairs, types, examples; or "
            "a method's name."
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Show what there is. Methods with their settings, recipes, presets, protocols, repairs, types, examples."""
    listings = _listings()
    if what is None or what in listings:
        chosen = {what: listings[what]()} if what else {key: make() for key, make in listings.items()}
        print_json(chosen) if json else _print_listings(chosen)
        return
    for kind in registry.KINDS:
        if what in registry.names(kind):
            description = registry.describe(kind, what)
            print_json(description) if json else _print_method(description)
            return
    methods = [name for kind in registry.KINDS for name in registry.names(kind)]
    raise SettingsError(f'there is nothing called "{what}"; {did_you_mean(what, [*listings, *methods])}')


def _listings() -> dict[str, Any]:
    from nersery.core import definitions
    from nersery.experiments import paths, recipe, sampling
    from nersery.io import repairs

    def methods(kind: str) -> dict[str, str]:
        return {name: registry.summary(kind, name) for name in registry.names(kind)}

    def examples() -> dict[str, str]:
        folder = paths.shipped("recipes/example")
        return {
            f"{EXAMPLE_PREFIX}{p.name}": f"{p.stat().st_size:,} bytes"
            for p in sorted(folder.iterdir())
            if p.suffix in (".conll", ".txt")
        }

    return {
        **{kind: (lambda kind=kind: methods(kind)) for kind in registry.KINDS},
        "recipes": lambda: {name: recipe.description_of(path) for name, path in recipe.shipped_recipes().items()},
        "presets": lambda: {name: preset["description"] for name, preset in paths.presets().items()},
        "protocols": lambda: {
            name: (protocol.__doc__ or "").split("\n")[0] for name, protocol in sampling.PROTOCOLS.items()
        },
        "repairs": lambda: {name: repair.summary for name, repair in repairs.REPAIRS.items()},
        "types": definitions.known,
        "examples": examples,
    }


def _print_listings(listings: dict[str, dict[str, str]]) -> None:
    for title, entries in listings.items():
        print(title)
        width = max(map(len, entries), default=0)
        for name, text in entries.items():
            print(f"  {name:<{width}}  {text}")


def _print_method(description: dict[str, Any]) -> None:
    print(
        f"{description['kind']} {description['name']}\n\n{description['documentation']}\n\nSettings and their defaults:"
    )
    for name, setting in description["settings"].items():
        print(f"  {name} = {setting['default']!r}   ({setting['type']})")


@app.command(epilog="Examples:\n\n  nersery copy demo my-recipe.toml\n\n  nersery copy example:train.conll train.conll")
def copy(
    name: Annotated[str, typer.Argument(help="A shipped recipe, or an example file.")],
    target: Annotated[Path, typer.Argument(help="Where to write it.", metavar="OUTPUT")],
    force: Force = False,
) -> None:
    """Copy a shipped recipe or example file, to change it."""
    from nersery.experiments import recipe

    path = Path(input_path(name)) if name.startswith(EXAMPLE_PREFIX) else recipe.find(name)
    if target.is_dir():
        target = target / path.name
    refuse_same_file(target, str(path))
    refuse_existing(target, force=force)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(target, path.read_text("utf-8"))
    print(target)
    if target.suffix == ".toml":
        command = shlex.join(["nersery", "run", str(target), "--out", f"runs/{target.stem}"])
        print(f"note: run it with: {command}", file=sys.stderr)
