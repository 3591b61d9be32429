"""The app with all its commands, and the entry point that runs it."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator
from importlib import import_module
from shutil import get_terminal_size
from typing import Any

import typer

from nersery.cli.app import app, drop_output, interrupt, stopped
from nersery.core.system.process_settings import tune_process
from nersery.core.warnings import print_error

COMMANDS = (
    "catalogue", "datasets", "inspect_agreement", "inspect_doctor", "inspect_measures", "inspect_suggestions",
    "inspect_templates", "labelling", "methods", "parallel_text", "running", "tagging",
)  # fmt: skip
"""The modules that add the commands."""
TERMINATION_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU")
    if hasattr(signal, name)  # Windows has only the first
]
"""The signals that end a command like Ctrl-C. With the last three, batch systems announce the end of the job's time."""
MIN_COLUMNS = 60
"""The help is plain text in terminals with fewer columns, because boxes would cut the names of options."""


def with_commands() -> typer.Typer:
    """The app with all its commands. Importing a module of `COMMANDS` adds its commands."""
    for module in COMMANDS:
        import_module(f"nersery.cli.{module}")
    return app


def all_commands() -> dict[str, Any]:
    """Every command by its full name, such as ``inspect stats``."""

    def below(group: Any, path: str) -> Iterator[tuple[str, Any]]:
        for name in sorted(group.commands) if path else group.list_commands(None):
            command = group.commands[name]
            yield from below(command, f"{path}{name} ") if hasattr(command, "commands") else [(path + name, command)]

    return dict(below(typer.main.get_command(with_commands()), ""))


def main() -> None:
    """Entry point of the command."""
    for number in (signal.SIGINT, *TERMINATION_SIGNALS):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):  # nohup ignores SIGHUP
            signal.signal(number, interrupt)
    try:
        _run()
    except KeyboardInterrupt as error:  # outside a command, e.g. while Typer builds the commands
        message, code = stopped(error)
        print_error(f"error: {message}")
        sys.exit(code)
    finally:  # so that late signals do not print a traceback
        for number in (signal.SIGINT, *TERMINATION_SIGNALS):
            signal.signal(number, signal.SIG_DFL)
        drop_output(sys.stderr)  # else Python 3.13 and later exit with 120


def _run() -> None:
    # Python sets a closed stream to None, and the next opened file would get its file descriptor, also in workers.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
            os.set_inheritable(getattr(sys, name).fileno(), True)
    # Huge pages for large tensors: a training on a CPU takes a sixth less time, with identical results.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    tune_process()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # not every terminal and log can show every script
    if os.environ.get("COLUMNS") == "0":  # of a terminal of unknown size; Rich would print empty lines
        del os.environ["COLUMNS"]
    if get_terminal_size().columns < MIN_COLUMNS:
        app.rich_markup_mode = None
    with_commands()()
