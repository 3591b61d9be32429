"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
import json
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from nersery import io
from nersery.core.errors import NerseryError, SettingsError, did_you_mean
from nersery.core.files import content_hash, files_of
from nersery.core.outcome import Tally
from nersery.core.sentence import Corpus
from nersery.core.version import __version__
from nersery.core.warnings import NO_NOTES
from nersery.experiments.paths import EXAMPLE_PREFIX, shipped
from nersery.experiments.recipe import LARGEST_SEED, MOST_SAMPLES
from nersery.pipeline.job import FileJob, rejects_of

T = TypeVar("T")

DEVICES = Path("/dev")
"""Also its links to files, such as /dev/stdout, would be replaced by a file that is moved there."""
Target = Annotated[Path, typer.Argument(help="The file to write: .jsonl, .conll or .txt.", metavar="OUTPUT")]
Source = Annotated[
    str, typer.Argument(help="A corpus: a file, a folder of files, or - for standard input.", metavar="INPUT")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting of the method; may be repeated. `nersery list METHOD` shows them.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="The same seed gives the same bytes.")]
BatchSize = Annotated[int, typer.Option(min=1, help="Sentences at once; changes speed, never results.")]
Samples = Annotated[int, typer.Option(min=100, max=MOST_SAMPLES, help="Bootstrap resamplings.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output, or a job that was left unfinished.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]


def _hush(context: typer.Context, quiet: bool) -> bool:
    """Print no notes until the command ends."""
    token = NO_NOTES.set(quiet)
    context.call_on_close(lambda: NO_NOTES.reset(token))
    return quiet


Quiet = Annotated[bool, typer.Option("--quiet", "-q", callback=_hush, help="No progress and no notes.")]

_READING: dict[str, Any] = {
    "format": Annotated[
        str,
        typer.Option(
            "--format",
            help="Format of the input: auto, conll, jsonl, parquet, text, spans or brat.",
            rich_help_panel="Reading",
        ),
    ],
    "encoding": Annotated[
        str, typer.Option("--encoding", help="Encoding of the input, e.g. latin-1.", rich_help_panel="Reading")
    ],
    "language": Annotated[
        str, typer.Option("--language", help="Language of the input, e.g. en or hi.", rich_help_panel="Reading")
    ],
    "scheme_in": Annotated[
        str | None,
        typer.Option(
            "--scheme-in",
            help="Tag scheme of the input; recognised when not given.",
            rich_help_panel="Reading",
        ),
    ],
    "split": Annotated[
        str,
        typer.Option(
            "--split",
            help="How lines of text are cut into words: at spaces; at punctuation too; or into characters where a "
            "script has no spaces.",
            rich_help_panel="Reading",
        ),
    ],
    "word_column": Annotated[
        int | None,
        typer.Option(
            "--word-column",
            help="Where words stand, counted from 1; recognised when not given.",
            rich_help_panel="Reading",
        ),
    ],
    "tag_column": Annotated[
        int | None,
        typer.Option(
            "--tag-column",
            help="Where tags stand, counted from 1; recognised when not given.",
            rich_help_panel="Reading",
        ),
    ],
    "repair": Annotated[
        list[str] | None,
        typer.Option(
            "--repair",
            metavar="NAME",
            help="Mend what is broken, by this repair of `nersery list repairs`; may be repeated.",
            rich_help_panel="Reading",
        ),
    ],
}
_DEFAULTS: dict[str, Any] = {
    "format": "auto", "encoding": "utf-8", "language": "", "scheme_in": None,
    "word_column": None, "tag_column": None, "repair": None, "split": "spaces",
}  # fmt: skip


def with_options(
    parameter: str, options: Mapping[str, Any], defaults: Mapping[str, Any], build: Callable[..., Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command more options, of which it receives what is built of them as one parameter."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        hints = get_type_hints(command, include_extras=True)

        @functools.wraps(command)
        def wrapper(**values: Any) -> None:
            chosen = {name: values.pop(name) for name in options}
            command(**values, **{parameter: build(**chosen)})

        own = [
            each.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
            for name, each in signature.parameters.items()
            if name != parameter
        ]
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=annotation)
            for name, annotation in options.items()
        ]
        wrapper.__signature__ = signature.replace(parameters=own + shared)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {each.name: each.annotation for each in own + shared}
        return wrapper

    return decorate


def _read_options(*, repair: list[str] | None, scheme_in: str | None, **others: Any) -> io.ReadOptions:
    return io.ReadOptions(**others, repair=tuple(repair or ()), scheme=scheme_in)


reads_corpora = with_options("reading", _READING, _DEFAULTS, _read_options)
"""Give a command the reading options; it receives them as one ``reading: ReadOptions``."""


def input_path(name: str) -> str:
    """Where an input lies; ``example:NAME`` comes with nersery.

    Raises:
        SettingsError: When there is no such example.
    """
    if not name.startswith(EXAMPLE_PREFIX):
        return name
    known = {f"{EXAMPLE_PREFIX}{path.name}": path for path in sorted(shipped("recipes/example").iterdir())}
    if name not in known:
        raise SettingsError(f'there is no example file "{name}"; {did_you_mean(name, known)}')
    return str(known[name])


def open_corpus(path: str, reading: io.ReadOptions, *, quiet: bool = False) -> io.Source:
    """A corpus by path; says on standard error what it was recognised as."""
    source = io.open_corpus(input_path(path), reading)
    if not quiet:
        print(f"{path}: {source.description}", file=sys.stderr)
    return source


def read_relabelled(first: Corpus, name: str, reading: io.ReadOptions) -> Corpus:
    """Its sentences under other labels; where a format kept no ids, the first belongs to the first, and so on."""
    other = Corpus(io.open_corpus(input_path(name), reading))
    if len(other) != len(first) or any(sentence.id in first.by_id for sentence in other):
        return other
    return Corpus(replace(there, id=here.id) for here, there in zip(first, other, strict=True))


def report_repairs(*sources: io.Source, quiet: bool = False) -> None:
    """Say after a full pass what was repaired."""
    for source in sources:
        if source.repaired and not quiet:
            counts = ", ".join(f"{repair} {count}" for repair, count in sorted(source.repaired.items()))
            print(f"{source.file.name}: repaired {counts}", file=sys.stderr)


def output_format(path: Path, wanted: str | None = None) -> str:
    """The format to write, by name or by the path's extension.

    Raises:
        SettingsError: When the extension says nothing, or no file is named.
    """
    if str(path) == io.STANDARD_INPUT:
        raise SettingsError("results are not written to standard output, for they could not be resumed: name a file")
    return wanted or io.format_of(path)


def file_job(target: Path, made_by: Mapping[str, Any], writer: io.Writer | None = None) -> FileJob:
    """A loop into a corpus file.

    Args:
        made_by: All that the result depends on; by it an unfinished job knows its own.
        writer: None takes that of the target's extension.
    """
    writer = writer or io.writer(output_format(target))
    return FileJob(target, writer.encode, io.reject_line, {"nersery": __version__, **made_by}, writer.header)


def content_of(*sources: io.Source) -> list[str]:
    """The content of inputs, standard input too, so that a job never goes on with changed ones.

    With the name that a format without ids makes them of.
    """
    return [f"{source.file.stem} {content_hash(source.file.path)}" for source in sources]


def refuse_same_file(target: Path, *sources: str) -> None:
    """Reading and writing one file would destroy it, and so would a file that takes the place of a device.

    Raises:
        SettingsError: When the target, or the file of its rejects, is one of the sources or lies in one; or when the
            target is a device or a pipe.
    """
    if target.absolute().parent == DEVICES or not (target.is_file() or target.is_dir() or not target.exists()):
        raise SettingsError(f"{target} is a device or a pipe, and results go into a file. Choose another output")
    for path in (target, rejects_of(target)):
        for source, there in [(name, file) for name in sources for file in files_of(Path(input_path(name)))]:
            if there.resolve() in path.resolve().parents:
                raise SettingsError(f"{path} lies in the input {source}. Choose another output")
            if path.exists() and there.exists() and path.samefile(there):
                raise SettingsError(f"{source} is an input and would be overwritten. Choose another output")


def refuse_odd_bytes(folder: Path) -> None:
    """Some libraries write only where the name is UTF-8; this says so before the work.

    Raises:
        SettingsError: When the folder's name is not.
    """
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise SettingsError(f"the folder name {str(folder)!r} is not UTF-8. Choose another one") from None


def refuse_existing(target: Path, *, force: bool) -> None:
    """Refuse to overwrite a file that the user did not give up.

    Raises:
        SettingsError: When the file is there and not to be overwritten, or is a folder.
    """
    if target.is_dir():
        raise SettingsError(f"{target} is a folder, expected the name of a file to write")
    if target.exists() and not force:
        raise SettingsError(f"{target} exists already. Choose another name, or allow to overwrite it (--force)")


def check_picture(picture: Path, *, force: bool) -> None:
    """Refuse a picture that would not be what its name says, and make the folder that it goes to.

    Raises:
        SettingsError: Naming it; see also `refuse_existing`.
    """
    if picture.suffix.lower() != ".svg":
        raise SettingsError(
            f"--picture {picture}: pictures are drawn as SVG. Expected a name that ends so, e.g. {picture.stem}.svg"
        )
    refuse_existing(picture, force=force)
    picture.parent.mkdir(parents=True, exist_ok=True)


def print_tally(target: Path, tally: Tally, *, as_json: bool) -> None:
    """What became of the items of a job."""
    print_json({"output": str(target), **tally.as_dict()}) if as_json else print(f"{target}: {tally}")


def print_json(value: Any) -> None:
    """A result for scripts."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def check_training(folder: Path) -> None:
    """Refuse to keep a training in a folder with somebody else's files, for it is removed in the end."""
    if not folder.exists():
        return
    from nersery.models.training.checkpoint import is_foreign

    if is_foreign(folder):
        raise SettingsError(
            f"{folder} holds files of no unfinished training, and they are not overwritten even by --force. "
            "Move them, or choose another folder"
        )


def resumed(fit: Callable[[], T], folder: Path, *, force: bool) -> T:
    """Go on with an unfinished training; one that cannot go on is started anew when forced."""
    try:
        return fit()
    except NerseryError as error:
        from nersery.models.training.checkpoint import BrokenStateError, OtherTrainingError

        if not isinstance(error, BrokenStateError | OtherTrainingError):
            raise
        if not force:
            raise type(error)(f"{error}, or use --force") from None
    shutil.rmtree(folder)
    return fit()
