"""Commands for labelling by hand: next chooses sentences, and review lets a person check them."""

from __future__ import annotations

import os
import shlex
import threading
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import chain
from itertools import count as count_from
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from nersery import io
from nersery.cli import options
from nersery.cli.app import INTERRUPTIONS, Terminated, label_group
from nersery.core.errors import NerseryError, SettingsError, did_you_mean, printable
from nersery.core.outcome import Reject, Tally
from nersery.core.progress import Progress
from nersery.core.sentence import Sentence, types_in
from nersery.core.system.files import check_writable, content_hash, review_folder
from nersery.core.text.definitions import check_types
from nersery.core.warnings import note, print_error, remark
from nersery.experiments.data import corpus_notes
from nersery.experiments.data.text_profile import note_of_tagger
from nersery.experiments.run_state.made_files import read_record
from nersery.io.input_files.same_file import refuse_same_file
from nersery.io.jsonl import rejects_of
from nersery.io.temporary_tables.sentence_table import SentenceTable
from nersery.pipeline.stage_job import corpus_job, output_format
from nersery.taggers.tagger_folder.description import attached_share_for

if TYPE_CHECKING:
    from nersery.review.decisions import Decisions
    from nersery.review.server import Review, ReviewServer


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
        list[str] | None,
        Option(metavar="FOLDER", help="A tagger. If repeated, sentences on which the taggers disagree rank higher."),
    ] = None,
    run: Annotated[
        Path | None, Option(help="Use the taggers in the output folder of `nersery run` or `grow`.", metavar="FOLDER")
    ] = None,
    count: Annotated[int, Option("--count", "-n", min=1, help="Sentences to choose.")] = 50,
    labelled: Annotated[list[str] | None, options.file("Sentences that already have labels; may be repeated.")] = None,
    max_sentences: Annotated[
        int, Option(min=1, help="Consider at most this many sentences, drawn at random.")
    ] = 10_000,
    to: options.Format = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Choose the raw sentences whose labels would help a tagger most."""
    from nersery.experiments.active_learning.next_sentences import next_sentences, taggers_of

    if bool(tagger) == (run is not None):
        raise SettingsError("name the taggers with either --tagger, which may be repeated, or --run")
    format = output_format(target, to, can_be_named=True)
    if format == "text":  # otherwise, the writer would refuse only after everything is predicted
        raise SettingsError("plain text cannot hold predicted labels: write .jsonl, or leave them out with --to words")
    io.writer(format)  # raises, before anything is predicted, if the format cannot be written
    known = labelled or []
    refuse_same_file(target, source, *known)
    options.refuse_existing_outputs(target, force=force)
    check_writable(target)
    taggers = tagger or [str(path) for path in taggers_of(run or Path())]
    of_labelled = options.reading_of_labelled()
    labelled_sentences = [sentence for name in known for sentence in options.open_corpus(name, of_labelled)]
    raw = options.open_corpus(source, raw=True, attached=attached_share_for(labelled_sentences, taggers[0]))
    notes = [corpus_notes.note_of_splitting(labelled_sentences, raw)]
    if not any(notes):
        notes = [corpus_notes.note_of_learnt_words(folder, raw) for folder in taggers]
    for text in dict.fromkeys([*notes, *(note_of_tagger(folder, raw) for folder in taggers)]):
        note(text)
    result = next_sentences(
        raw, taggers, count, labelled=labelled_sentences, max_sentences=max_sentences, seed=seed, quiet=quiet
    )
    options.report_repairs(raw)
    options.refuse_existing_outputs(target, force=force)  # the files may have been created in the meantime
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
        types = sorted(labelled_types) or result.types  # a tagger from elsewhere may have other types
        _print_next_commands(target, types, known, source, run)


def _print_next_commands(
    target: Path, types: Sequence[str], known: Sequence[str], source: str, run: Path | None
) -> None:
    """Print the commands for labelling the sentences and for training on them."""
    corrected = _unused(Path("labelled.jsonl"))
    names = [] if any("," in type_ for type_ in types) else ["--types", ",".join(types)]
    command = shlex.join(["nersery", "label", "review", str(target), corrected, *names, "--open"])
    print(f"label them: {printable(command)}")
    place = Path(io.input_path(source))
    text = source if place.is_file() or place.is_dir() else "RAW"  # a pipe would be empty then
    arguments = [*(known or ["TRAIN"]), corrected, "--raw", text, *_options_for_grow(run)]
    arguments += ["--out", _unused(Path("runs", "grow"))]
    print(f"then: {printable(shlex.join(['nersery', 'grow', *arguments]))}")


def _unused(path: Path) -> str:
    """The path, with a number if it exists or is being reviewed into, as in the second round of labelling."""
    numbered = (path.with_stem(f"{path.stem}-{number}") for number in count_from(2))
    free = (p for p in chain([path], numbered) if not p.exists() and not review_folder(p).exists())
    return str(next(free))


def _options_for_grow(run: Path | None) -> list[str]:
    """The options that the next grow job needs, from this call or else from the grow job in the folder of a run."""
    given, earlier = options.option_group(io.ReadOptions), {}
    if run is not None:
        with suppress(NerseryError, OSError):  # there is none, or it is damaged; the sentences are written already
            earlier = read_record(run / "grow.json", "fingerprint")["fingerprint"]
    reading = earlier.get("reading", {})
    names = {name: name.replace("_", "-") for name in ("language", "split", "word_column", "tag_column")}
    names["scheme"] = "scheme-in"
    values = {option: getattr(given, name) or reading.get(name) for name, option in names.items()}
    values["model"] = earlier.get("model")
    option_pairs = [(f"--{name}", str(value)) for name, value in values.items() if value]
    option_pairs += [("--repair", name) for name in dict.fromkeys([*given.repair, *reading.get("repair", ())])]
    defined = [("--define", f"{type_}={words}") for type_, words in earlier.get("definitions", {}).items()]
    listed = [("--names", f"{type_}={path}") for type_, path in earlier.get("names", {}).items()]
    return [part for pair in (*option_pairs, *defined, *listed) for part in pair]


@label_group.command(
    cls=options.ReadingCommand,
    epilog="Examples:\n\n  nersery label review predicted.jsonl checked.jsonl\n\n"
    "  nersery label review more.jsonl checked.conll --beside train.conll --types 'PER,LOC' --open",
)
def review(
    *,
    source: options.Source,
    target: options.Target,
    beside: Annotated[str | None, options.file("Corpus of the originals, shown beside each sentence.")] = None,
    types: Annotated[str, Option(help="Additional types, e.g. PER,LOC.")] = "",
    by: Annotated[str, Option(help="Sort by this score, lowest first.", metavar="SCORE")] = "",
    goal: Annotated[
        int | None, Option(min=1, help="Sentences to review, drawn evenly across types and methods.")
    ] = None,
    port: Annotated[int, Option(min=0, max=65535, help="Port of the page; 0 chooses a free one.")] = 0,
    browser: Annotated[bool, Option("--open", help="Open the page in a browser.")] = False,
    page: Annotated[bool, Option("--page/--no-page", help="Show the page, or only write the decisions so far.")] = True,
    force: options.Force = False,
    json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Correct, accept or reject sentences on a web page. Repeat the command to resume.

    Decisions are saved at once in OUTPUT.review. End the review on the page or with Ctrl-C.

    Accepted sentences then go to OUTPUT, all others to OUTPUT.rejects.jsonl.
    """
    from nersery.review.decisions import FILE, Decisions
    from nersery.review.review_loader import ReviewLoader
    from nersery.review.server import Review

    if browser and not page:
        raise SettingsError("--open and --no-page contradict each other. Use one of them")
    format = output_format(target)
    refuse_same_file(target, source, beside)
    names = [name.strip() for name in types.split(",") if name.strip()]
    check_types(names, "--types")
    folder = review_folder(target)
    if force or not (folder / FILE).exists():
        options.refuse_existing_outputs(target, force=force)
    before = _contents(target)
    corpus = options.open_corpus(source)
    originals = None if beside is None else io.open_corpus(beside, options.reading_of_labelled())
    writer = io.writer(format)
    with Decisions.opened(SentenceTable(searchable=True), folder, writer.encode, start_over=force) as decisions:
        loader = ReviewLoader(corpus, decisions, originals, by, goal)
        loader.start()
        added = [name for name in names if name not in loader.types]
        check_types(added, "--types", beside=loader.types)
        hints = {name: did_you_mean(name, loader.types) for name in added}
        for name, hint in hints.items():
            if hint.startswith("did you mean"):
                note(f"--types adds {name}, which no sentence has; {hint}")
        server = _server(Review(decisions, loader, names, source), port) if page else None
        if server is None:
            loader.finish()
        if force and (aside := decisions.put_aside()):  # all checks of the command have passed
            note(f"the earlier decisions are kept in {aside}")
        if server is not None:
            _serve(server, folder / "open.html" if browser else None)
        loader.finish()
        options.report_repairs(corpus)
        decisions.write_again_if_changed()
        tally = _write(target, before, corpus, decisions, writer, quiet=quiet)
    if json:
        methods = {name: asdict(accepted) for name, accepted in decisions.by_method().items()}
        shown = {**tally.as_dict(), "decisions": decisions.counts, "methods": methods}
        options.print_json({"output": str(target), **shown})
    else:
        print(printable(f"{target}: {tally}"))
        _print_progress(decisions, loader.order or range(len(decisions.corpus)))


def _contents(target: Path) -> dict[Path, str]:
    """The hashes of an output and its rejects, if they exist."""
    return {path: content_hash(path) for path in (target, rejects_of(target)) if path.exists()}


def _server(review: Review, port: int) -> ReviewServer:
    """Create the server of the page, without starting it."""
    from nersery.review.server import ReviewServer

    try:
        return ReviewServer(review, port)
    except OSError as error:
        raise SettingsError(f"--port {port} cannot be used: {error.strerror}. Choose another one, or 0") from error


def _serve(server: ReviewServer, redirect: Path | None) -> None:
    """Serve the page until the person ends the review, on the page or with Ctrl-C.

    Args:
        redirect: Path for a file that redirects a browser to the page; None opens no browser.
    """
    try:
        with server:
            print_error(f"review at {server.address}\nEnd it there, or with Ctrl-C.")
            if redirect is not None:
                _write_redirect(redirect, server.address)
                # In a thread, because a browser that runs in the terminal would block until it ends.
                threading.Thread(target=webbrowser.open, args=(redirect.absolute().as_uri(),), daemon=True).start()
            server.review.ended.wait()
    except KeyboardInterrupt as error:
        if isinstance(error, Terminated):  # a terminated review must not write its output
            raise
        INTERRUPTIONS.clear()
    finally:
        if redirect is not None:
            redirect.unlink(missing_ok=True)


def _write_redirect(redirect: Path, address: str) -> None:
    """Write a private file that redirects to the page, because all users can read the arguments of a browser."""
    redirect.unlink(missing_ok=True)
    with open(os.open(redirect, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.write(
            f'<!doctype html><meta http-equiv="refresh" content="0; url={address}"><a href="{address}">review</a>\n'
        )


def _write(
    target: Path, before: Mapping[Path, str], corpus: io.Source, decisions: Decisions, writer: io.Writer, *, quiet: bool
) -> Tally:
    """Write the accepted sentences, and all others as rejects.

    Args:
        before: The `_contents` of the output when the review began.

    Raises:
        NerseryError: If another command has written there since.
    """
    for path, content in _contents(target).items():
        if before.get(path) != content:
            raise NerseryError(
                f"{path} was changed during the review, so it is not overwritten. Move it to keep it, and repeat the "
                "command: the decisions are saved"
            )
    fingerprint = {"review": corpus.fingerprint(), "decisions": content_hash(decisions.file)}
    job = corpus_job(target, fingerprint, writer, rows=corpus)
    items: Iterator[Sentence | Reject] = chain(decisions.corpus, corpus.rejects)  # rejects were left out by a repair
    with Progress("write", quiet=quiet) as progress:
        tally = job.run(items, lambda batch: [*map(decisions.outcome, batch)], progress=progress, overwrite=True)
    job.note_losses()
    return tally


def _print_progress(decisions: Decisions, order: Sequence[int]) -> None:
    """Print what was accepted of each method, and how many of the sentences with these numbers are left to review.

    Sentences with other numbers may have been decided earlier.
    """
    for name, accepted in decisions.by_method().items():
        print(printable(f"  {name}: {accepted}"))
    counts, verdicts = decisions.counts, decisions.verdicts
    left = sum(not verdicts.get(number) for number in order)
    remark(
        f"accepted {counts['accept']} ({counts['corrected']} corrected), rejected {counts['reject']}, "
        + (f"{left} to go: the same command resumes" if left else "none to go")
    )
