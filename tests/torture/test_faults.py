"""Kills, signals and a full disk at every change that a command makes on disk; the next call gives the same result."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from nersery import io
from tests.cli.calls import COMMANDS
from tests.forks import Process, Server
from tests.standins import files, sentences, write_recipe
from tests.torture.faults import FAULTS, FULL, places

pytestmark = pytest.mark.torture
Record = Callable[..., None]

MAX_POINTS = 40
"""Number of places of a command that each fault strikes; a kill strikes each kind of place, without this limit."""
CASES = {
    "dataset convert": "train.conll out.jsonl -q",
    "augment": "train.conll out.jsonl --method mention_replacement --set rate=0.2 --copies 2 -q",
    "augment shards": "train.conll out --method mention_replacement --shards 10 -q",
    "annotate": "raw.jsonl out.jsonl --method tagger_labels --set tagger=my-tagger -q",
    "select": "train.conll out.jsonl --method duplicates --gold dev.conll -q",
    "label next": "raw.jsonl out.jsonl --tagger my-tagger --count 5 -q",
    "label review": "train.conll out.jsonl --no-page -q",
    "crosslingual align": "train.jsonl raw.jsonl out.align --keep learnt -q",
    "crosslingual project": "train.jsonl raw.jsonl out.jsonl --alignments links -q",
    "dataset publish": "train.conll out -q",
    "dataset sample": "train.conll out.jsonl --size 5 -q",
    "train": "train.conll out --method memory -q",
    "train again": "train.conll my-tagger --method memory --force -q",
    "predict": "my-tagger raw.jsonl out.jsonl -q",
    "run": "recipe.toml --out out -q",
    "copy": "demo out.toml",
}
"""Commands that write files, and their arguments."""
OWN = re.compile(r"\.(part|training)(-[0-9a-f]{8})?(/|$)")
"""Folders beside an output that are removed once it exists."""
WRITE_NOTHING = {"list", "evaluate", "inspect"}
ELSEWHERE = {"grow"}
"""Its decisions depend on time: `tests/experiments/grow` kills it."""


def test_every_command_that_writes_has_a_case() -> None:
    names = {name for name in COMMANDS if name.split()[0] not in WRITE_NOTHING | ELSEWHERE}
    assert {_command(case) for case in CASES} == names


def _command(case: str) -> str:
    return case.removesuffix(" shards").removesuffix(" again")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Path:
    """A folder with all input of the commands."""
    folder = tmp_path_factory.mktemp("original")
    write_recipe(folder)
    gold = sentences(24)
    io.write([s.with_entities(()) for s in gold], folder / "raw.jsonl")
    io.write(gold, folder / "train.jsonl")
    (folder / "links").write_text("".join(" ".join(f"{n}-{n}" for n in range(len(s))) + "\n" for s in gold))
    assert server.run("train", "train.conll", "my-tagger", "--method", "memory", "-q", cwd=folder)[0] == 0
    return folder


class Runs:
    """Runs of one command, each in a fresh copy of the folder, or again in the same one."""

    def __init__(self, server: Server, original: Path, folder: Path, args: list[str]) -> None:
        self._server, self._original, self._folder, self._args = server, original, folder, args
        process = self.run(place=-1)
        assert process.wait() == 0, process.err
        self.expected, self.places = self._files(), places(process.changes)

    def fresh(self) -> Path:
        """The folder as it was before the first run."""
        shutil.rmtree(self._folder, ignore_errors=True)
        return Path(shutil.copytree(self._original, self._folder))

    def run(self, fault: str = FULL, place: int = -1, *, again: bool = False) -> Process:
        if not again:
            self.fresh()
        return self._server.start(*self._args, cwd=self._folder, strike={"fault": fault, "place": place})

    def _files(self) -> dict[str, bytes]:
        return files(self._folder)

    def check_again(self, where: str) -> None:
        """The same command, without a fault, ends as if nothing had happened."""
        process = self.run(again=True)
        code = process.wait()
        was_done = code == 2 and "exists already" in process.err
        assert code == 0 or was_done, (where, process.err)
        found = self._files()
        if was_done:  # struck after the output was complete, while it removed its own folders: they may stay
            left = [name for name in found.keys() - self.expected.keys() if OWN.search(name)]
            found = {name: content for name, content in found.items() if name not in left}
        assert found.keys() == self.expected.keys(), where
        assert found == self.expected, where


def chosen(kinds: dict[str, list[int]], fault: str) -> list[tuple[str, int]]:
    """The first place of each kind of change, all of them for a kill; others by chance, if there are not many."""
    chance = random.Random(0)
    firsts = [(name, numbers[0]) for name, numbers in kinds.items()]
    more = [(name, number) for name, numbers in kinds.items() for number in numbers[1:]]
    if len(firsts) > MAX_POINTS and fault != "SIGKILL":
        return chance.sample(firsts, MAX_POINTS)
    return firsts + chance.sample(more, min(len(more), max(0, MAX_POINTS - len(firsts))))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("case", CASES)
def test_resumes_after_a_fault(
    case: str, fault: str, original: Path, tmp_path: Path, server: Server, record_property: Record
) -> None:
    runs = Runs(server, original, tmp_path / "here", [*_command(case).split(), *CASES[case].split()])
    struck = 0
    for where, place in chosen(runs.places, fault):
        process = runs.run(fault, place)
        code = process.wait()
        if code != 0:  # 0: it had finished, or did not need that file
            struck += 1
            check_ending(process, code, fault, where)
        runs.check_again(f"{fault} at {place}: {where}")
    record_property("tried", f"{struck} times at {len(runs.places)} kinds of places")
    assert struck


def check_ending(process: Process, code: int, fault: str, where: str) -> None:
    """A process that is struck reports it in one line."""
    if fault == "SIGKILL":
        assert code == -signal.SIGKILL
        return
    assert code == {"SIGINT": 130, "SIGTERM": 143, FULL: 5}[fault], (where, code, process.err)
    (line,) = process.err.splitlines()
    message = {"SIGINT": "error: interrupted.", "SIGTERM": "error: terminated.", FULL: "o space left "}[fault]
    assert message in line, where
    assert line.startswith("error: "), where
    assert process.out == ""


def _folder_with_a_file(path: Path, precious: Path) -> None:
    path.mkdir()
    shutil.copy(precious, path)


FOREIGN: dict[str, Callable[[Path, Path], object]] = {
    "link": lambda path, precious: path.symlink_to(precious),
    "link to a folder": lambda path, precious: path.symlink_to(precious.parent),
    "file": lambda path, precious: shutil.copy(precious, path),
    "folder": _folder_with_a_file,
    "pipe": lambda path, precious: os.mkfifo(path),
}
"""Makes something of the user in the place of our file, from a file that must not change."""


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("case", CASES)
def test_files_of_the_user_in_our_place_are_unharmed(
    case: str, kind: str, original: Path, tmp_path: Path, server: Server, record_property: Record
) -> None:
    precious = tmp_path / "of-the-user" / "thesis"
    precious.parent.mkdir()
    precious.write_text("years of work")
    runs = Runs(server, original, tmp_path / "here", [*_command(case).split(), *CASES[case].split()])
    paths = {where.split(" ", 1)[1] for where in runs.places}
    names = sorted(path for path in paths if path.endswith((".tmp", ".part", "lock")) and "N" not in path)
    for name in names:
        foreign = runs.fresh() / name
        foreign.parent.mkdir(parents=True, exist_ok=True)
        FOREIGN[kind](foreign, precious)
        process = runs.run(again=True)
        code = process.wait()
        assert code in (0, 2, 5), (name, process.err)
        assert code == 0 or process.err.count("\n") == process.err.count("error: ") == 1, (name, process.err)
        assert code == 0 or os.path.lexists(foreign), name
        assert precious.read_text() == "years of work", name
        assert [path.name for path in precious.parent.iterdir()] == ["thesis"], name
        assert kind != "folder" or (foreign / "thesis").exists(), name
    record_property("tried", f"{len(names)} names")
