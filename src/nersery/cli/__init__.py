"""The command ``nersery``: thin over the library, results on standard output, everything else on standard error.

Exit codes: 0 done, 1 a fault of ours, 2 wrong settings or usage, 3 wrong data, 4 something to install, 5 the disk or
a file could not be written, 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from nersery import __version__
from nersery.errors import NerseryError

DISK_EXIT_CODE = 5
INTERRUPTED_EXIT_CODE = 130


class Commands(TyperGroup):
    """The commands in the order of the work, and one place where errors become messages and exit codes."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order in which they were added."""
        return list(self.commands)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what the user can mend is told without a traceback."""
        try:
            return super().invoke(ctx)
        except NerseryError as error:
            _fail(str(error), error.exit_code)
        except KeyboardInterrupt:
            _fail(
                "interrupted. What is finished is kept: the same command goes on from there",
                INTERRUPTED_EXIT_CODE,
            )
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except OSError as error:
            _fail(_os_message(error), DISK_EXIT_CODE)


def _os_message(error: OSError) -> str:
    name = f" {error.filename}" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"no space left to write{name}. Free some and repeat the command: it goes on where it stopped"
    return f"cannot read or write{name}: {error.strerror or error}"


def _fail(message: str, code: int) -> None:
    print(f"error: {message}", file=sys.stderr)
    raise typer.Exit(code)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    help="Grow training data for named entity recognition, and show whether it helped. "
    "Start with: nersery run demo --out runs/demo",
)


def _version(value: bool) -> None:
    if value:
        print(f"nersery {__version__}")
        raise typer.Exit()


@app.callback()
def _main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    pass


def main() -> None:
    """Entry point of the command."""
    from nersery.cli import corpora, methods, models, recipes  # noqa: F401 - they add their commands

    app()
