"""The command that chooses what to label next: label next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from typer import Option

from nersery import io
from nersery.cli import options
from nersery.cli.app import label_group
from nersery.core.errors import SettingsError, printable
from nersery.core.sentence import types_in
from nersery.core.warnings import note
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
    from nersery.experiments.corpus_notes import note_of_learnt_words, note_of_punctuation

    if bool(tagger) == (run is not None):
        raise SettingsError("name the taggers either by --tagger, which may be repeated, or by --run")
    format = output_format(target, to)
    io.writer(format)
    known = labelled or []
    options.refuse_same_file(target, source, *known)
    options.refuse_existing_outputs(target, force=force)
    taggers = tagger or [str(path) for path in taggers_of(run or Path())]
    raw = options.open_corpus(source, raw=True)
    labelled_sentences = [sentence for name in known for sentence in options.open_corpus(name, io.ReadOptions())]
    notes = [note_of_punctuation(labelled_sentences, raw)]
    if not any(notes):
        notes = [note_of_learnt_words(folder, raw) for folder in taggers]
    for text in dict.fromkeys(filter(None, notes)):
        note(text)
    result = next_sentences(raw, taggers, count, labelled=labelled_sentences, most=most, seed=seed, quiet=quiet)
    options.report_repairs(raw)
    options.refuse_existing_outputs(target, force=force)  # somebody may have written there in the meantime
    options.write_chosen(target, result.corpus, raw, format)
    rejected, labelled_types = len(raw.rejects), types_in(labelled_sentences)
    if labelled_types and (others := sorted({*result.types} - labelled_types)):
        note(f"the tagger also predicts {', '.join(others)}, which no labelled sentence has: correct them in review")
    if json:
        counts = {"read": result.read + rejected, "rejected": rejected, "known": result.known}
        counts |= {"not_drawn": result.not_drawn, "predicted": result.predicted}
        options.print_json({"output": str(target), **counts, "ids": [sentence.id for sentence in result.corpus]})
        return
    print(printable(f"{target}: {result}" + (f"; {rejected} rejected when read" if rejected else "")))
    if format == "jsonl" and not quiet:
        names = sorted(labelled_types) or result.types  # a tagger of others may have other types
        types = [] if any("," in type_ for type_ in names) else ["--types", ",".join(names)]
        command = shlex.join(["nersery", "label", "review", str(target), "labelled.jsonl", *types, "--open"])
        print(f"label them: {printable(command)}")
        arguments = [*(known or ["TRAIN"]), "labelled.jsonl", "--raw", source, *_options_for_grow(run)]
        print(f"then: {printable(shlex.join(['nersery', 'grow', *arguments]))} --out runs/grow-2")


def _options_for_grow(run: Path | None) -> list[str]:
    """Options of this call, or else of the grow job in the folder of a run, that the next grow job needs too."""
    from nersery.experiments.run_state.run_folder import read_record

    reading_options, earlier = options.shared(io.ReadOptions), {}
    if run is not None and (record := run / "grow.json").exists():
        earlier = read_record(record).get("fingerprint", {})
    given = {"language": reading_options.language, "split": reading_options.split}
    values = {name: value or earlier.get("reading", {}).get(name) for name, value in given.items()}
    option_pairs = [(f"--{name}", value) for name, value in values.items() if value]
    defined = [("--define", f"{type_}={words}") for type_, words in earlier.get("definitions", {}).items()]
    return [part for pair in (*option_pairs, *defined) for part in pair]
