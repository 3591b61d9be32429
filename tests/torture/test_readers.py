"""Commands that write no file: signals, a full disk, a reader that goes away; and `grow`, which depends on time."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from nersery import io
from nersery.taggers.base import load_tagger
from tests.cli.calls import COMMANDS
from tests.forks import UNREAD, Process, Server
from tests.standins import files, sentences, write_recipe
from tests.torture.faults import FAULTS, places
from tests.torture.test_faults import CASES as WRITERS
from tests.torture.test_faults import WRITE_NOTHING, check_ending, chosen

pytestmark = pytest.mark.torture
Record = Callable[..., None]

CASES = {
    "list": "",
    "list one": "mention_replacement",
    "list examples": "examples",
    "evaluate": "gold.jsonl lost.jsonl --against gold.jsonl --samples 100",
    "evaluate another order": "gold.jsonl turned.jsonl",
    "evaluate json": "gold.jsonl lost.jsonl --json",
    "inspect agreement": "gold.jsonl lost.jsonl",
    "inspect alignments": "links links",
    "inspect doctor": "",
    "inspect novelty": "gold.jsonl --gold lost.jsonl",
    "inspect quality": "gold.jsonl --gold lost.jsonl --no-perplexity",
    "inspect results": "finished",
    "inspect stats": "gold.jsonl lost.jsonl",
    "inspect suggestions": "gold.jsonl --model MODEL --id gold:1",
    "inspect templates": "gold.jsonl --sentence gold:1 --tagger attentive",
}
"""Commands that write nothing, and their arguments."""
GROW_PLACES = 5
"""Number of places where each fault strikes a grow job; each takes as long as a job."""


def _command(case: str) -> list[str]:
    return case.split()[: 2 if case.startswith("inspect") else 1]


def test_every_command_that_only_reads_has_a_case() -> None:
    names = {name for name in COMMANDS if name.split()[0] in WRITE_NOTHING}
    assert {" ".join(_command(case)) for case in CASES} == names


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, server: Server, tiny_model: str) -> Path:
    """A folder with all input of the commands."""
    folder = tmp_path_factory.mktemp("original")
    write_recipe(folder)
    gold = sentences(24)
    io.write([s.with_entities(()) for s in sentences(24, start=100)], folder / "raw.jsonl")
    for name in ("gold", "train"):
        io.write(gold, folder / f"{name}.jsonl")
    read = [*io.read(folder / "gold.jsonl")]
    io.write([read[0].with_entities(()), *read[1:]], folder / "lost.jsonl")
    io.write(read[::-1], folder / "turned.jsonl")
    (folder / "links").write_text("".join(" ".join(f"{n}-{n}" for n in range(len(s))) + "\n" for s in gold))
    for args in (
        ("train", "train.conll", "my-tagger", "--method", "memory"),
        ("train", "train.jsonl", "attentive", "--set", f"model={tiny_model}", "--set", "steps=2"),
        ("run", "recipe.toml", "--out", "finished"),
    ):
        assert server.run(*args, "-q", cwd=folder)[0] == 0
    return folder


def arguments(case: str, model: str) -> list[str]:
    return [*_command(case), *CASES[case].replace("MODEL", model).split()]


@pytest.mark.parametrize("fault", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("case", CASES)
def test_signal_ends_a_command_with_one_line(
    case: str, fault: str, original: Path, server: Server, tiny_masked_lm: str, record_property: Record
) -> None:
    args, before = arguments(case, tiny_masked_lm), files(original)
    process = server.start(*args, cwd=original, strike={"fault": fault, "place": -1, "reads": True})
    assert process.wait() == 0, process.err
    assert process.out
    assert files(original) == before
    struck = 0
    for where, place in chosen(places(process.changes), fault):
        process = server.start(*args, cwd=original, strike={"fault": fault, "place": place, "reads": True})
        code = process.wait()
        struck += 1
        assert code == {"SIGTERM": 143, "SIGINT": 130}[fault], (where, process.err)
        (line,) = errors(process)
        assert line.startswith(f"error: {'terminated' if fault == 'SIGTERM' else 'interrupted'}."), where
        assert files(original) == before
    record_property("tried", f"{struck} times")
    assert struck or case.startswith("list") or case == "inspect doctor"


def errors(process: Process) -> list[str]:
    """The errors of a process, without its notes and progress."""
    return [line for line in process.err.splitlines() if line.startswith(("error: ", "Traceback"))]


def outputs(case: str, model: str) -> list[str]:
    if case in CASES:
        return arguments(case, model)
    return [*case.removesuffix(" shards").removesuffix(" again").split(), *WRITERS[case].split()]


@pytest.mark.parametrize("case", [*CASES, *WRITERS])
def test_ends_quietly_if_nobody_reads_the_results(
    case: str, original: Path, tmp_path: Path, server: Server, tiny_masked_lm: str
) -> None:
    """As in ``nersery ... | head``. The files that a command writes are still complete."""
    folder, args = _copied(original, tmp_path), outputs(case, tiny_masked_lm)
    process = server.start(*args, cwd=folder, output=UNREAD)
    assert (process.wait(), errors(process)) == (141, [])
    check_files(case, folder, original, tmp_path, server, args)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("case", [*CASES, *WRITERS])
def test_error_if_results_go_to_a_full_disk(
    case: str, original: Path, tmp_path: Path, server: Server, tiny_masked_lm: str
) -> None:
    folder, args = _copied(original, tmp_path), outputs(case, tiny_masked_lm)
    process = server.start(*args, cwd=folder, output="/dev/full")
    code = process.wait()
    assert code == 5, process.err
    (line,) = errors(process)
    assert line.startswith("error: cannot read or write ")
    assert "No space left on device. Free some space" in line
    check_files(case, folder, original, tmp_path, server, args)


def _copied(original: Path, folder: Path, name: str = "here") -> Path:
    import shutil

    return Path(shutil.copytree(original, folder / name))


def check_files(case: str, folder: Path, original: Path, beside: Path, server: Server, args: list[str]) -> None:
    if case in CASES:
        assert files(folder) == files(original)
        return
    whole = _copied(original, beside, "whole")
    assert server.run(*args, cwd=whole)[0] == 0
    assert files(folder) == files(whole)


class TestGrow:
    """A job that is struck resumes, and leaves all its files."""

    ARGS = (
        "grow",
        "train.jsonl",
        "--raw",
        "raw.jsonl",
        "--test",
        "test.conll",
        "--out",
        "grown",
        "--minutes",
        "20",
        "-q",
    )

    @pytest.mark.parametrize("fault", FAULTS)
    def test_grow_resumes_after_a_fault(
        self, fault: str, original: Path, tmp_path: Path, server: Server, tiny_model: str, record_property: Record
    ) -> None:
        options = {"grow_with": tiny_model}
        whole = _copied(original, tmp_path, "whole")
        process = server.start(*self.ARGS, cwd=whole, strike={"fault": fault, "place": -1}, **options)
        assert process.wait() == 0, process.err
        kinds = list(places(process.changes).items())
        struck = 0
        for where, numbers in random.Random(fault).sample(kinds, GROW_PLACES):
            folder = _copied(original, tmp_path, f"struck-{numbers[0]}")
            process = server.start(*self.ARGS, cwd=folder, strike={"fault": fault, "place": numbers[0]}, **options)
            code = process.wait()
            if code != 0:
                struck += 1
                check_ending(process, code, fault, where)
            code, _, err = server.run(*self.ARGS, cwd=folder, **options)
            assert code == 0, (where, err)
            check_grown(folder / "grown")
        record_property("tried", f"{struck} times at {len(kinds)} kinds of places")
        assert struck

    @pytest.mark.parametrize("output", [UNREAD, "/dev/full"])
    def test_grow_completes_its_files_if_results_cannot_be_shown(
        self, output: str, original: Path, tmp_path: Path, server: Server, tiny_model: str
    ) -> None:
        folder = _copied(original, tmp_path)
        process = server.start(*self.ARGS, cwd=folder, output=output, grow_with=tiny_model)
        assert process.wait() == (141 if output == UNREAD else 5), process.err
        assert process.err.count("\n") == (0 if output == UNREAD else 1)
        check_grown(folder / "grown")

    @pytest.mark.parametrize("name", ["grow.json", "lock", "search.toml", "data", "run", "tagger", "grow.json.tmp"])
    def test_files_of_the_user_in_our_place_are_unharmed(
        self, name: str, original: Path, tmp_path: Path, server: Server, tiny_model: str
    ) -> None:
        precious = tmp_path / "of-the-user" / "thesis"
        precious.parent.mkdir()
        precious.write_text("years of work")
        folder = _copied(original, tmp_path)
        (folder / "grown").mkdir()
        (folder / "grown" / name).symlink_to(precious)
        code, _, err = server.run(*self.ARGS, cwd=folder, grow_with=tiny_model)
        assert code in (0, 2, 5), err
        assert code == 0 or err.count("\n") == err.count("error: ") == 1, err
        assert precious.read_text() == "years of work"
        assert os.listdir(precious.parent) == ["thesis"]


def check_grown(folder: Path) -> None:
    assert load_tagger(folder / "tagger").types == ("LOC", "PER")
    assert len(io.read(folder / "corpus.jsonl")) >= 24
    assert {"recipe.toml", "report.json", "report.md", "report.html"} <= {path.name for path in folder.iterdir()}
