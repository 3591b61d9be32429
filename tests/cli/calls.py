"""Helpers that call the command, in this process or in a new one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from typer import testing

from nersery.cli.main import all_commands, with_commands
from tests.standins import environment

testing._get_command = cache(testing._get_command)  # it builds all commands, which takes longer than most calls
app = with_commands()
COMMANDS = all_commands()
AUGMENT = ("--method", "mention_replacement")
FILELESS = ("list", "evaluate", "inspect")
"""Commands that write no file."""


def nersery(*args: str, env: Mapping[str, str] = {}, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the command in a new process."""
    command = [sys.executable, "-m", "nersery", *args]
    return subprocess.run(command, capture_output=True, text=True, env=environment() | env, check=False, **options)


@dataclass
class Result:
    """The output and exit code of a command."""

    code: int
    out: str
    err: str


def call(*args: str, stdin: bytes = b"") -> Result:
    """Run the command in this process."""
    result = testing.CliRunner().invoke(app, list(args), input=stdin, prog_name="nersery")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Result(result.exit_code, result.stdout, result.stderr)


def interrupted_once(original: Callable[..., None]) -> Callable[..., None]:
    """Return the function, interrupted at its first call."""
    calls = []

    def function(*args: object) -> None:
        calls.append(args)
        if len(calls) == 1:
            raise KeyboardInterrupt
        original(*args)

    return function
