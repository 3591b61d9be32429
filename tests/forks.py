"""Processes that run the command ``nersery``, forked from one that has imported everything: they start immediately.

Tests can thus kill or interrupt a command, or fill its disk, without the seconds that torch takes to import.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import typer.main

from tests.standins import environment
from tests.torture.faults import watch

ROOT = Path(__file__).parent.parent
UNREAD = "unread"


@dataclass
class Process:
    """A running command."""

    server: Server
    pid: int
    log: Path

    def kill(self, sign: signal.Signals = signal.SIGKILL) -> None:
        os.kill(self.pid, sign)  # until `wait` the server has not reaped it, so the number is still its own

    def kill_when_there_is(self, path: Path, sign: signal.Signals = signal.SIGKILL, *, delay: float = 0.0) -> None:
        """Kill it as soon as a file or folder exists, or a little later; it may have ended by then."""
        self._await(path.exists)
        time.sleep(delay)
        self.kill(sign)

    def kill_when_there_is_one(self, folder: Path, pattern: str) -> Path:
        """Kill it as soon as a path of some pattern exists, and return the path."""
        found = list[Path]()
        self._await(lambda: found.extend(folder.glob(pattern)) or bool(found))
        self.kill()
        assert found, f"it ended without {pattern}"
        return found[0]

    def _await(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + 60
        for turn in count():
            if condition() or time.monotonic() > until:
                return
            if turn % 20 == 0 and self.server.ask(poll=self.pid)["ended"]:  # an answer takes longer than the condition
                return
            time.sleep(0.001)

    @property
    def changes(self) -> Path:
        """The log of `tests.torture.faults.watch`."""
        return self.log.with_suffix(".changes")

    def wait(self) -> int:
        """The exit code; that of a killed process is minus the signal."""
        return int(self.server.ask(wait=self.pid)["code"])

    @property
    def out(self) -> str:
        return self.log.with_suffix(".out").read_text("utf-8")

    @property
    def err(self) -> str:
        return self.log.with_suffix(".err").read_text("utf-8")


@dataclass
class Options:
    """Options of a process.

    Args:
        largest_file: No file may grow beyond this many bytes; 0: without limit.
        strike: See `tests.torture.faults.watch`.
        output: A file for standard output, `UNREAD` for a pipe that nobody reads, or the log.
        grow_with: An encoder with which `nersery grow` takes seconds.
        function: A function to call with the arguments instead of the command: ``module:name``.
    """

    largest_file: int = 0
    strike: Mapping[str, Any] | None = None
    output: str = ""
    grow_with: str = ""
    function: str = ""


class Server:
    """The process that forks."""

    def __init__(self, logs: Path) -> None:
        self._logs, self._number = logs, 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.forks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment(),
        )

    def ask(self, **question: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def start(self, *args: str, cwd: Path, **options: Any) -> Process:
        """Start ``nersery ARGS``.

        Args:
            options: See `Options`.
        """
        self._number += 1
        log = self._logs / str(self._number)
        answer = self.ask(start=list(args), cwd=str(cwd), log=str(log), **asdict(Options(**options)))
        return Process(self, answer["pid"], log)

    def run(self, *args: str, cwd: Path, **options: Any) -> tuple[int, str, str]:
        """Exit code, output and errors of ``nersery ARGS``; see `start`."""
        process = self.start(*args, cwd=cwd, **options)
        return process.wait(), process.out, process.err

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Runs commands in processes of their own."""
    server = Server(tmp_path_factory.mktemp("logs"))
    yield server
    server.close()


def serve() -> None:
    """Answer questions until there are no more."""
    gc.disable()
    from transformers import AutoModelForTokenClassification, AutoTokenizer  # noqa: F401
    from transformers.conversion_mapping import get_checkpoint_conversion_mapping
    from transformers.models.bert import modeling_bert  # noqa: F401

    from nersery.augment import mention_replacement  # noqa: F401
    from nersery.cli.main import with_commands
    from nersery.experiments import runner  # noqa: F401
    from nersery.models.training import checkpoint, trainer  # noqa: F401
    from nersery.pipeline import stage_job  # noqa: F401
    from nersery.report.model import Report
    from nersery.report.rendering import report_files
    from nersery.select import agreement, duplicates  # noqa: F401
    from nersery.taggers import transformer  # noqa: F401
    from tests.standins import register

    # Each fork would otherwise compile these for itself.
    get_checkpoint_conversion_mapping("bert")
    report_files(Report())

    typer.main.get_command = cache(typer.main.get_command)
    typer.main.get_command(with_commands())
    register(pytest.MonkeyPatch())
    checkpoint.CHECKPOINT_SECONDS = 0.0  # trainings are short here, but killed nevertheless
    answers = os.fdopen(os.dup(1), "w")
    gc.freeze()  # a collection in a fork would copy all memory
    gc.enable()
    for line in sys.stdin:
        question = json.loads(line)
        answer: dict[str, Any]
        if "start" in question:
            answer = {"pid": os.fork()}
            if answer["pid"] == 0:
                become(question)
        elif "poll" in question:
            answer = {"ended": os.waitid(os.P_PID, question["poll"], os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None}
        else:
            answer = {"code": os.waitstatus_to_exitcode(os.waitpid(question["wait"], 0)[1])}
        print(json.dumps(answer), file=answers, flush=True)


def _unread() -> int:
    """The write end of a pipe without a reader."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def grow_quickly(encoder: str) -> None:
    """Have `nersery grow` in this process try one tiny encoder and two methods, for a few steps."""
    from nersery.experiments.grow import budget, candidates, plan, search
    from nersery.experiments.grow.schedules import Schedule

    systems_for = plan.systems_for

    def two_methods(*args: Any, **sizes: int) -> list[dict[str, Any]]:
        return [one for one in systems_for(*args, **sizes) if one["name"] in ("self-training", "mention replacement")]

    patch = pytest.MonkeyPatch()
    patch.setattr(plan, "systems_for", two_methods)
    for module in (plan, search):
        patch.setattr(module, "SCHEDULES", (Schedule(20, 4),))
    patch.setattr(plan, "MIN_STEPS", 20)
    patch.setattr(candidates, "ENGLISH", encoder)
    patch.setattr(candidates, "MULTILINGUAL", encoder)
    patch.setattr(budget, "CLOSING", 1.0)


def become(question: dict[str, Any]) -> None:
    """Run the requested command to its end."""
    import resource

    from nersery.cli.main import main

    for stream, suffix in ((sys.stdout, ".out"), (sys.stderr, ".err")):
        os.dup2(os.open(f"{question['log']}{suffix}", os.O_WRONLY | os.O_CREAT), stream.fileno())
    if question["output"]:
        os.dup2(_unread() if question["output"] == UNREAD else os.open(question["output"], os.O_WRONLY), 1)
    if question["grow_with"]:
        grow_quickly(question["grow_with"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(question["cwd"])
    if question["largest_file"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (question["largest_file"],) * 2)
    if question["strike"] is not None:
        watch(Path(question["cwd"]).resolve(), Path(f"{question['log']}.changes"), question["strike"])
    sys.argv = ["nersery", *question["start"]]
    code: Any = 1
    try:
        if question["function"]:
            module, _, name = question["function"].partition(":")
            getattr(importlib.import_module(module), name)(*question["start"])
            code = 0
        else:
            main()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
