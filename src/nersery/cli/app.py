"""The command ``nersery``, a thin layer over the library.

Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 any other error, 2 wrong
settings or usage, 3 wrong data, 4 something to install, 5 the disk or a file could not be written, 130 interrupted,
141 nobody reads the results, 143 terminated.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TextIO, get_args

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from nersery.core.errors import (
    NerseryError,
    SettingsError,
    WaitingError,
    beginning,
    did_you_mean,
    ended_by_exit,
    is_lack_of_memory,
    printable_lines,
)
from nersery.core.system.files import NO_SPACE, os_message, refuse_removed_folder
from nersery.core.version import __version__
from nersery.core.warnings import counted_warnings, print_error
from nersery.core.wording import command_line

DISK_EXIT_CODE = 5
INTERRUPTED_CODE = 130
UNREAD_EXIT_CODE = 141
MORE_MEMORY = (
    "Free some and repeat the command: a long job resumes. Or start again with a smaller batch size or model, and "
    "another output"
)
NO_MORE_THREADS = "can't start new thread"
"""What Python says at a limit of processes and threads."""
NOT_RESUMABLE = ("inspect", "evaluate", "list", "copy", "label next", "dataset sample", "dataset publish")
"""The beginnings of commands that lose their work if they are stopped."""
_FILE_NAME = re.compile(r"\.[A-Za-z]\w*$|/")
READ_ONLY_OPTIONS = {"--plan", "--check"}
"""Options with which a command writes nothing."""


class Terminated(KeyboardInterrupt):
    """A signal that ends a process or reports that its terminal was closed. It is treated like Ctrl-C.

    Args:
        number: Number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


INTERRUPTIONS: list[KeyboardInterrupt] = []
"""The interruptions of the command, kept because safetensors, for example, raises its own error in their place."""


def interrupt(number: int, frame: object) -> None:
    """Handle a signal that stops a command."""
    INTERRUPTIONS.append(KeyboardInterrupt() if number == signal.SIGINT else Terminated(number))
    raise INTERRUPTIONS[-1]


def stopped(error: KeyboardInterrupt) -> tuple[str, int]:
    """The message and exit code of a command that was stopped."""
    message, code = "interrupted.", INTERRUPTED_CODE
    if isinstance(error, Terminated):
        message, code = "terminated.", 128 + error.number
    if not " ".join(sys.argv[1:3]).startswith(NOT_RESUMABLE) and READ_ONLY_OPTIONS.isdisjoint(sys.argv):
        message += " Finished work is saved: the same command resumes (a training loses a minute at most)"
    return message, code


GROUPS: Mapping[str, Sequence[str]] = {
    "Experiments": ("grow", "run", "list", "copy"),
    "Data": ("augment", "annotate", "select", "label", "crosslingual", "dataset"),
    "Taggers": ("train", "predict", "evaluate"),
    "Inspection": ("inspect",),
}
"""The top-level commands in groups, as the help and the documentation show them."""
PLACEHOLDERS: Mapping[type, str] = {int: "N", float: "X", Path: "FILE", str: "TEXT"}
"""What the help and the documentation show for the value of an option that names nothing better."""


class Commands(TyperGroup):
    """The command groups, and the one place where errors are converted to messages and exit codes."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of `GROUPS`."""
        return [name for names in GROUPS.values() for name in names]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. Without arguments, print the help as a usage error."""
        if not args and not ctx.resilient_parsing:
            print_error(ctx.get_help())
            raise typer.Exit(2)
        with command_line(), _errors_as_messages():  # help and version are printed here
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command. If it is unknown but a group has a command of this name, the error suggests that one."""
        name = args[0]
        groups = [group for group, command in self.commands.items() if name in getattr(command, "commands", ())]
        if groups and name not in self.commands and not ctx.resilient_parsing:
            ctx.fail(f"No such command '{name}'. Did you mean 'nersery {groups[0]} {name}'?")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write one screen of plain text: importing the library that draws boxes would take a third of the time."""
        mode, self.rich_markup_mode = self.rich_markup_mode, None
        super().format_help(ctx, formatter)
        self.rich_markup_mode = mode

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each group under its title, with one line per command."""
        width = max(len(name) for name in self.commands)
        for title, names in GROUPS.items():
            with formatter.section(title):
                lines = [self.commands[name].get_short_help_str(formatter.width) for name in names]
                formatter.write_dl([(f"{name:{width}}", line) for name, line in zip(names, lines, strict=True)])

    def invoke(self, ctx: Any) -> Any:
        """Run a command. An error that the user can fix is printed without a traceback."""
        with command_line(), _errors_as_messages(), counted_warnings():
            refuse_removed_folder()
            return super().invoke(ctx)


class Command(TyperCommand):
    """A command that refuses repeated options: otherwise, the first value would be lost.

    If a required option with a list of choices is missing, such as the method, the error lists the choices.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; raise `SettingsError` for a repeated option and for a missing one with choices."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        self._refuse_value_apart(ctx, args)
        values, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for option, count in Counter(given).items():
            takes_one = isinstance(option, TyperOption) and not option.multiple and not option.is_flag
            if takes_one and count > 1:
                raise SettingsError(f"{option.opts[0]} is given {count} times, expected once")
        missing = [one for one in self.get_params(ctx) if one.required and values.get(one.name) is None]
        is_help = any(option.is_eager for option in given)
        if missing and isinstance(missing[0], TyperOption) and not is_help:  # no argument is missing
            choices = [item.value for item in missing[0].shell_complete(ctx, "")]
            name, misplaced = missing[0].opts[0], next((choice for choice in choices if choice in args), "")
            if misplaced:
                raise SettingsError(f'{name} is missing before "{misplaced}": write {name} {misplaced}')
            if choices:
                raise SettingsError(f"{name} is missing, expected one of {', '.join(choices)}")
        return super().parse_args(ctx, args)

    def _refuse_value_apart(self, ctx: Any, args: Sequence[str]) -> None:
        """Raise `SettingsError` for ``--set rate 0.5``: the value would be an argument of the command."""
        pairs = {name for one in self.get_params(ctx) if "=" in (one.metavar or "") for name in one.opts}
        for place, key in enumerate(args[1:], start=1):
            value = next((text.removeprefix("=") for text in args[place + 1 : place + 3] if text != "="), "-")
            if args[place - 1] in pairs and "=" not in key and value[:1] != "-" and not os.path.exists(value):
                option = args[place - 1]
                value = "VALUE" if _FILE_NAME.search(value) else value
                raise SettingsError(f"{option} {key} has no value: write {option} {shlex.quote(f'{key}={value}')}")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The arguments as most tools show them; Typer 0.29 would write ``{INPUT...}...``."""
        return [re.sub(r"^\{(.+)\}(\.\.\.)?$", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help with a placeholder for each value, as in docs/commands.md."""
        _show_placeholders(self.get_params(ctx))
        super().format_help(ctx, formatter)


class Group(TyperGroup):
    """A group of commands, such as ``nersery inspect``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command. If it is unknown, the error lists those of the group."""
        if args[0] not in self.commands and not args[0].startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No such command '{args[0]}'; {did_you_mean(args[0], sorted(self.commands))}.")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help with a placeholder for each value, as in docs/commands.md."""
        _show_placeholders(self.get_params(ctx))
        super().format_help(ctx, formatter)


def placeholder(parameter: Any) -> str:
    """The placeholder for the value of an option, e.g. ``N`` for a number or ``torch|onnx`` for a choice."""
    described = parameter.type_descriptor
    if parameter.metavar or described.is_choice:
        return parameter.metavar or "|".join(described.choices)
    annotation = described.annotation
    return PLACEHOLDERS[next(iter(get_args(annotation)), annotation)]  # of an element, if the option may be repeated


def _show_placeholders(parameters: Sequence[Any]) -> None:
    """Show ``--quiet`` and ``--copies N`` in the help; Typer 0.29 would write ``<bool>`` and ``<int range>``."""
    for parameter in parameters:
        if isinstance(parameter, TyperArgument):
            vars(parameter)["display_type_rich"] = lambda ctx: None  # its name is enough
        else:
            parameter.metavar = "" if getattr(parameter, "is_flag", False) else placeholder(parameter)


@contextmanager
def _errors_as_messages() -> Iterator[None]:
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # so that a full disk or a closed pipe raises its error here
    except KeyboardInterrupt as error:
        _fail(*stopped(error))
    except SystemExit as error:  # from a method, teacher or library; in a job, `ErrorPolicy` rejects the item instead
        if isinstance(error.__context__, BrokenPipeError):  # Rich exits like this if nobody reads a help text
            raise typer.Exit(UNREAD_EXIT_CODE) from None
        _fail(f"{ended_by_exit(error)}. Fix the method, or choose another one", 1)
    except BrokenPipeError:
        drop_output(sys.stdout)
        raise typer.Exit(UNREAD_EXIT_CODE) from None
    except Exception as error:
        if isinstance(error, OSError) and (drop_output(sys.stdout) or _is_of_unbuffered_output(error)):
            error.filename = error.filename or "standard output"
        if INTERRUPTIONS and not isinstance(error, typer.Exit):
            _fail(*stopped(INTERRUPTIONS[0]))
        if isinstance(error, NerseryError):
            _fail(str(error), error.exit_code, "waiting" if isinstance(error, WaitingError) else "error")
        if is_lack_of_memory(error):
            reason, *_ = str(error).splitlines() or ["no more is free"]
            _fail(f"not enough memory ({beginning(reason, 200)}). {MORE_MEMORY}", 1)
        if isinstance(error, RuntimeError) and NO_MORE_THREADS in str(error):
            _fail("no more threads can be started. Allow more (ulimit -u) or end other programs, and repeat it", 1)
        if isinstance(error, OSError):
            _fail(os_message(error), DISK_EXIT_CODE)
        if isinstance(error, UnicodeEncodeError) and error.encoding == sys.getfilesystemencoding() != "utf-8":
            reason = f"{error.object!r} has a character that names of files cannot have here ({error.encoding})"
            _fail(f"{reason}. Set the environment variable PYTHONUTF8=1", 2)
        raise


def drop_output(stream: TextIO) -> bool:
    """Discard output that cannot be printed, and return whether there was any. Python would try again at exit."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return True
    return False


def _is_of_unbuffered_output(error: OSError) -> bool:
    """Whether an error can only be about standard output: with PYTHONUNBUFFERED, `drop_output` has nothing to flush."""
    return error.errno in NO_SPACE and getattr(sys.stdout, "write_through", False)


def _fail(message: str, code: int, kind: str = "error") -> NoReturn:
    print_error(f"{kind}: {printable_lines(message)}")
    raise typer.Exit(code)


app = typer.Typer(
    cls=Commands,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    help="Make training data for named entity recognition, train taggers on it, and measure the gain. "
    "Start with: nersery grow train.conll --raw unlabelled.txt",
)


def _group(name: str, help: str) -> typer.Typer:
    group = typer.Typer(cls=Group, no_args_is_help=True, help=help)
    app.add_typer(group, name=name)
    return group


crosslingual_group = _group("crosslingual", "Align translations, and project labels onto them.")
dataset_group = _group("dataset", "Convert, sample or publish a dataset.")
label_group = _group("label", "Label by hand: choose sentences, and correct them on a web page.")
inspect_group = _group("inspect", "Inspect corpora and the output of methods.")


def _version(value: bool) -> None:
    if value:
        print(f"nersery {__version__}")
        raise typer.Exit()


@app.callback()
def _main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    pass
