"""Options that several commands share."""

from __future__ import annotations

import codecs
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import typer
from typer import Argument, Option

from nersery import io
from nersery.cli.app import Command
from nersery.core import registry
from nersery.core.errors import DataError, SettingsError, printable
from nersery.core.outcome import Tally
from nersery.core.random import MAX_SEED
from nersery.core.sentence import Corpus, Sentence
from nersery.core.system.files import refuse_unwritable, write_output
from nersery.core.system.job_records import already_exists_error
from nersery.core.warnings import NO_NOTES, note, remark
from nersery.evaluate.scores import paired_by_order
from nersery.experiments.data.corpus_notes import note_of_learnt_words, note_of_splitting, notes_of_reading
from nersery.experiments.data.text_profile import note_of_tagger
from nersery.io.input_files.same_file import refuse_same_file
from nersery.io.jsonl import rejects_of
from nersery.io.repairs import DROP_SENTENCE

T = TypeVar("T")
FORMATS = ", ".join(io.readable())


def file(help: str) -> Any:
    """An option that names a file."""
    return Option(metavar="FILE", help=help)


Target = Annotated[Path, Argument(help="The file to write; its extension sets the format.", metavar="OUTPUT")]
Source = Annotated[str, Argument(help="A corpus: a file, a folder of files, or - for standard input.", metavar="INPUT")]
Settings = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="A setting of the method (`nersery list METHOD`); may be repeated."),
]
Seed = Annotated[int, Option("--seed", min=0, max=MAX_SEED, help="Random seed; the same seed repeats the result.")]
Dev = Annotated[str | None, file("Labelled sentences for choosing the best weights.")]
GoldToLearn = Annotated[str | None, file("Labelled sentences to learn from; by default the input itself.")]
First = Annotated[int, Option(min=0, max=1, help="Whether alignment files count words from 0 or 1.")]
Force = Annotated[bool, Option("--force", help="Overwrite the output or an unfinished job.")]
AsJson = Annotated[bool, Option("--json", help="Print JSON for scripts.")]
Format = Annotated[
    str | None, Option("--to", help=f"Output format: {', '.join(io.writable())}; by default from the extension.")
]


def _suppress_notes(context: typer.Context, quiet: bool) -> bool:
    """Suppress notes until the command ends if ``quiet`` is set."""
    token = NO_NOTES.set(quiet)
    context.call_on_close(lambda: NO_NOTES.reset(token))
    return quiet


Quiet = Annotated[bool, Option("--quiet", "-q", callback=_suppress_notes, help="Hide progress and notes.")]


def method_option(kind: str, help: str) -> Any:
    """The option that names a method of a kind, with completion by the tab key."""

    def completed(incomplete: str) -> list[str]:
        return [name for name in registry.names(kind) if name.startswith(incomplete)]

    return Option(metavar="METHOD", help=help, autocompletion=completed)


_reading_option = partial(Option, rich_help_panel="Reading")


def read_options(
    format: Annotated[str, _reading_option(help=f"Format: auto, {FORMATS}.")] = io.AUTO,
    encoding: Annotated[str, _reading_option(help="Encoding, such as latin-1.")] = "utf-8",
    language: Annotated[str, _reading_option(help="Language code, such as hi.")] = "",
    scheme_in: Annotated[str | None, _reading_option(help="Tag scheme; detected by default.")] = None,
    word_column: Annotated[
        int | None, _reading_option(help="Column of the words, counted from 1; detected by default.")
    ] = None,
    tag_column: Annotated[
        int | None, _reading_option(help="Column of the tags, counted from 1; detected by default.")
    ] = None,
    repair: Annotated[
        list[str] | None,
        _reading_option(metavar="NAME", help="A repair of broken input (`nersery list repairs`); may be repeated."),
    ] = None,
    split: Annotated[
        str | None,
        _reading_option(
            help="How to split plain text into words: spaces, punctuation, signs (also inside words), or "
            "characters (scripts without spaces). By default, as in gold, or as the first lines suggest."
        ),
    ] = None,
) -> io.ReadOptions:
    """Build the options for reading input. The parameters become options of each `ReadingCommand`."""
    return io.ReadOptions(
        format=format, encoding=encoding, language=language, scheme=scheme_in, word_column=word_column,
        tag_column=tag_column, repair=tuple(repair or ()), split=split,
    )  # fmt: skip


_OPTION_GROUPS: ContextVar[Mapping[type[Any], Any]] = ContextVar("_OPTION_GROUPS")
"""The objects built from the option groups of the running command, by type."""


class ReadingCommand(Command):
    """A command that also takes the options of some functions, such as `read_options`.

    Typer has no option groups. Therefore, the options are added when the command is built. When it runs, each function
    gets the values of its options, and the command gets the results from `option_group`.
    """

    option_groups: ClassVar[Sequence[Callable[..., Any]]] = (read_options,)

    def __init__(self, *, params: list[Any], **settings: Any) -> None:
        self.groups = [(build, _options_of(build)) for build in self.option_groups]
        super().__init__(params=[*params, *(option for _, options in self.groups for option in options)], **settings)

    def invoke(self, ctx: Any) -> Any:
        """Call the functions of the option groups, then run the command with its own options."""
        results = [build(**{o.name: ctx.params.pop(o.name) for o in options}) for build, options in self.groups]
        token = _OPTION_GROUPS.set({type(result): result for result in results})
        ctx.call_on_close(lambda: _OPTION_GROUPS.reset(token))
        return super().invoke(ctx)


@cache
def _options_of(function: Callable[..., Any]) -> list[Any]:
    """The parameters of a function as options, built by Typer."""
    app = typer.Typer(add_completion=False)  # never called, only used to convert a signature to options
    app.command()(function)
    return list(typer.main.get_command(app).params)


def option_group(kind: type[T]) -> T:
    """The object built from an option group of the running command, such as the `ReadOptions` of a `ReadingCommand`."""
    return _OPTION_GROUPS.get()[kind]


def reading_of_labelled() -> io.ReadOptions:
    """The reading options for labelled sentences beside raw text; ``--format`` is the format of the raw text only."""
    return replace(option_group(io.ReadOptions), format=io.AUTO)


def open_corpus(
    path: str, reading: io.ReadOptions | None = None, *, raw: bool = False, attached: float | None = None
) -> io.Source:
    """Open a corpus, and print on standard error what it was recognised as.

    Args:
        reading: How to read the corpus; by default, the options of the running command.
        raw: Read a file of an unknown format as text.
        attached: Share for the labelled sentences that the raw text goes with; see `nersery.io.open_text`.
    """
    reading = reading or option_group(io.ReadOptions)
    source = io.open_text(path, reading, attached) if raw else io.open_corpus(path, reading)
    remark(f"{path}: {source.description}")
    return source


def open_corpora(names: Iterable[str | None], reading: io.ReadOptions | None = None) -> list[io.Source]:
    """Open the corpora that options name; None stands for an option that is not given."""
    return [open_corpus(name, reading) for name in names if name is not None]


def sentences_of(sources: Iterable[io.Source]) -> list[Sentence]:
    """The sentences of all sources."""
    return [sentence for source in sources for sentence in source]


def read_relabelled(first: Corpus, name: str) -> Corpus:
    """Read a file with other labels for the sentences of a corpus; without ids, sentences are paired by order."""
    return paired_by_order(first, Corpus(io.open_corpus(name, option_group(io.ReadOptions))))


def note_training_mismatch(tagger: object, source: io.Source, gold: Iterable[Sentence] = ()) -> None:
    """Print a note if gold or the data of a named tagger are split differently, or the tagger's language is another."""
    of_gold = note_of_splitting(gold, source) if gold else ""
    note(of_gold)
    if isinstance(tagger, str):  # otherwise, it is a tagger to train, or None
        note("" if of_gold else note_of_learnt_words(tagger, source))
        note(note_of_tagger(tagger, source))


def report_repairs(*sources: io.Source) -> None:
    """Report what was repaired or skipped in the sources, after a full pass over them."""
    for source in sources:
        for text in notes_of_reading(source.file.name, source):
            remark(text)


def values_by_type(option: str, pairs: Sequence[str], expected: str, *, empty: bool = False) -> dict[str, str]:
    """Parse the values of an option that is given as ``TYPE=VALUE``.

    Args:
        expected: The expected form with an example, for messages.
        empty: Whether a value may be empty.
    """
    values: dict[str, str] = {}
    for pair in pairs:
        type_, equals, value = map(str.strip, pair.partition("="))
        if pair.encode(errors="replace").decode() != pair:
            raise SettingsError(f"{option} is {pair!r}, which is not UTF-8")
        if not equals or not type_ or not (value or empty):
            raise SettingsError(f'{option} is "{printable(pair)}", expected {expected}')
        if type_ in values:
            raise SettingsError(f"{option} names the type {printable(type_)} twice")
        values[type_] = value
    return values


def split_folder(files: Sequence[str], example: str) -> tuple[list[str], Path]:
    """Split the names into the inputs and the folder to write, which is named last.

    Raises:
        SettingsError: If there are fewer than two names, or the last is not UTF-8 or cannot be written.
    """
    if len(files) < 2:
        raise SettingsError(f"name at least one corpus and, last, the folder to write: {example}")
    *names, folder = files
    refuse_non_utf_8(Path(folder))
    refuse_unwritable(Path(folder))
    return names, Path(folder)


def refuse_non_utf_8(folder: Path) -> None:
    """Raise `SettingsError`, before the work, if a folder's name is not UTF-8: some libraries cannot write there."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise SettingsError(f"the folder name {str(folder)!r} is not UTF-8. Choose another one") from None


def write_chosen(target: Path, corpus: Corpus, source: io.Source, format: str) -> None:
    """Write sentences of a source and, beside them, its rejects; report what the format does not keep."""
    io.write(corpus, target, format=format)
    losses = io.Losses(io.formats()[format], source.stems)
    for sentence in io.as_written(corpus, io.formats()[format]):
        losses.see(sentence)
    losses.report()
    if source.rejects:
        write_output(rejects_of(target), "".join(map(io.reject_line, source.rejects)))
    else:
        rejects_of(target).unlink(missing_ok=True)


def refuse_existing_outputs(target: Path, *others: Path | None, force: bool) -> None:
    """Call `refuse_existing` for an output and its rejects, and for other outputs, if they are named."""
    for path in filter(None, (target, rejects_of(target), *others)):
        refuse_existing(path, force=force)


def refuse_existing(target: Path, *, force: bool) -> None:
    """Raise `SettingsError` if the output is a folder, or exists and must not be overwritten."""
    if target.is_dir():
        raise SettingsError(f"{target} is a folder, expected the name of a file to write")
    if os.path.lexists(target) and not force:
        raise already_exists_error(target)


def check_picture(picture: Path, *sources: str, force: bool, output: Path | None = None) -> None:
    """Raise `SettingsError` if a picture would replace another file or is not an SVG; create its folder."""
    refuse_same_file(picture, *sources)
    if output is not None and picture.resolve() in (output.resolve(), rejects_of(output).resolve()):
        raise SettingsError(f"--picture {picture}: the results are written there. Choose another name for the picture")
    if picture.suffix.lower() != ".svg":
        raise SettingsError(
            f"--picture {picture}: pictures are drawn as SVG. Expected a name that ends with .svg, "
            f"e.g. {picture.stem}.svg"
        )
    refuse_existing(picture, force=force)
    picture.parent.mkdir(parents=True, exist_ok=True)


def print_tally(target: Path, tally: Tally, *sources: io.Source, as_json: bool) -> None:
    """Print the counts of a job's items, and what was repaired; a `DataError` if all were too broken to be read."""
    report_repairs(*sources)
    if as_json:
        print_json({"output": str(target), **tally.as_dict()})
    else:
        print(printable(f"{target}: {tally}"))
    dropped = sum(source.repaired[DROP_SENTENCE] for source in sources)
    if dropped and not tally.written and dropped == tally.read:
        raise DataError(f"{target} is empty: all sentences are broken", fix="its rejects say why; correct the input")


def print_json(value: Any) -> None:
    """Print a result as JSON; escape non-ASCII characters if standard output is not UTF-8."""
    is_utf_8 = codecs.lookup(sys.stdout.encoding or "utf-8").name == "utf-8"
    print(json.dumps(value, ensure_ascii=not is_utf_8, indent=2))
