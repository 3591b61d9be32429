"""Every benchmark runs with ``--quick``; every command in docs/results.md exists and accepts its arguments."""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nersery.experiments import recipe
from tests.cli.calls import COMMANDS
from tests.conftest import MASKED_TEXT, TINY, build_tokenizer

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "benchmarks"
RECIPES = sorted(FOLDER.glob("*.toml"))
HELPERS = {"flair_tagger.py", "gpu_models.py", "measuring.py", "tiny.py"}
OTHERS = {"flair_training.py", "gpu.py", "mpnet.py", "onnx_speed.py"}
"""gpu.py is run below. flair_training.py needs another environment, onnx_speed.py the extra onnx, and mpnet.py reads
wheels that must be downloaded."""
RUNS: dict[str, list[list[str]]] = {
    "active_learning.py": [["OUT", "--data", "DATA/multiconer/en", "--model", "MODEL"]],
    "alignment.py": [["quality"], ["speed"]],
    "attention.py": [["--model", "MODEL"]],
    "bilstm_crf.py": [["--model", "MODEL"]],
    "busy.py": [["--model", "MODEL"]],
    "embedding_aligner.py": [["--model", "MODEL"]],
    "engine.py": [[]],
    "encoders.py": [["OUT", "--data", "DATA", "--models", "MODEL", "bundled"]],
    "entities_or_contexts.py": [["OUT", "--data", "DATA/multiconer/en", "--model", "MODEL"]],
    "four_bits.py": [["OUT", "--model", "MODEL"]],
    "grow_choice.py": [["OUT", "--data", "DATA"]],
    "head_rates.py": [["OUT", "--data", "DATA", "--model", "MODEL"]],
    "llm.py": [[]],
    "masked_lm.py": [["--model", "MODEL"]],
    "memory.py": [["dataset convert"], ["label review"]],
    "name_lists.py": [["OUT", "--data", "DATA", "--model", "MODEL"]],
    "neighbours.py": [[]],
    "projection.py": [[]],
    "qa_prompting.py": [["--model", "QA", "--types", "PER", "LOC"]],
    "read_conll.py": [[]],
    "review.py": [[]],
    "rule_methods.py": [[]],
    "scoring.py": [[]],
    "seq2seq.py": [[]],
    "sweep_cost.py": [["--model", "MODEL"]],
    "tagger.py": [["--model", "MODEL"]],
    "training_step.py": [["--model", "MODEL"]],
    "usual_trainers.py": [
        [*(f"DATA/multiconer/en/{name}.conll" for name in ("100", "dev", "test")), "--model", "MODEL"]
    ],
}
"""How each program is run here, besides ``--quick``."""
SLOW = {
    "active_learning.py", "busy.py", "encoders.py", "grow_choice.py", "head_rates.py", "memory.py", "name_lists.py",
    "sweep_cost.py", "usual_trainers.py",
}  # fmt: skip
"""Those that only `make torture` runs."""
CODE = re.compile(r"```sh\n(.*?)```|```text\n.*?```|`([^`]+)`", re.DOTALL)


class ParsedError(Exception):
    """Raised at the point where the work would begin."""


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny files with the names of ../shared/data."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        importlib.import_module("tiny").write_data(folder)
    return folder


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Tiny models that read long sentences."""
    from transformers import BertConfig, BertForMaskedLM, BertForQuestionAnswering

    folder = tmp_path_factory.mktemp("models")
    build_tokenizer("wordpiece", folder, MASKED_TEXT)
    settings = folder / "tokenizer_config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text("utf-8")), "model_max_length": 512}), "utf-8")
    config = BertConfig(**{**TINY, "vocab_size": 600, "max_position_embeddings": 512})
    for name, cls in (("MODEL", BertForMaskedLM), ("QA", BertForQuestionAnswering)):
        shutil.copytree(folder, folder.parent / name)
        cls(config).save_pretrained(folder.parent / name)
    return {name: str(folder.parent / name) for name in ("MODEL", "QA")}


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The helpers of the benchmarks. Their processes run within this one, which has imported everything."""
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setattr("nersery.cli.main.tune_process", lambda: None)
    module = importlib.import_module("measuring")

    def in_this_process(*command: str, folder: str | Path | None = None) -> Any:
        start, printed = time.process_time(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.chdir(folder or Path.cwd()):
            execute(*command)
        return module.Finished(printed.getvalue(), time.process_time() - start, 1.0)

    monkeypatch.setattr(module, "in_own_process", in_this_process)
    return module


def execute(*command: str) -> None:
    """``python COMMAND``, within this process."""
    with pytest.MonkeyPatch.context() as patch:
        try:
            if command[0] == "-m":
                patch.setattr(sys, "argv", [*command[1:]])
                runpy.run_module(command[1], run_name="__main__", alter_sys=True)
            else:
                patch.setattr(sys, "argv", [*command])
                runpy.run_path(command[0], run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise AssertionError(f"{command}: {end.code}") from end


# --- programs -------------------------------------------------------------------------------------------------------


def test_every_program_is_run_here() -> None:
    assert {path.name for path in FOLDER.glob("*.py")} == {*RUNS, *OTHERS, *HELPERS}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param(name, each, marks=[pytest.mark.torture] * (name in SLOW))
        for name, runs in RUNS.items()
        for each in runs
    ],
)
def test_quick_run(
    name: str, arguments: list[str], measuring: ModuleType, data: Path, models: dict[str, str], tmp_path: Path, capsys
) -> None:
    places = {**models, "DATA": str(data), "OUT": str(tmp_path / "out")}
    filled = [re.sub("^(MODEL|QA|DATA|OUT)", lambda found: places[found[1]], argument) for argument in arguments]
    execute(str(FOLDER / name), *filled, "--quick")
    machine, speeds, *figures = capsys.readouterr().out.splitlines()
    assert " threads" in machine
    assert speeds.startswith("matrix product: fp32 ")
    assert figures


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=[pytest.mark.torture] * (part in "1256")) for part in "123456"]
)
def test_part_for_a_gpu(part: str, measuring: ModuleType, tmp_path: Path, monkeypatch) -> None:
    """Every row succeeds; here on the processor, with tiny models."""
    monkeypatch.setenv("OUT", str(tmp_path))
    execute(str(FOLDER / "gpu.py"), part, "--quick")
    table = (tmp_path / f"gpu-{part}.md").read_text("utf-8")
    assert table.count("\n| ") > 3


def test_lists_the_parts_for_a_gpu(measuring: ModuleType, capsys) -> None:
    execute(str(FOLDER / "gpu.py"))
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [*"123456"]


def test_measures_a_command_in_its_own_process() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        module = importlib.import_module("measuring")
        done = module.in_own_process("-c", "print('x' * 3)")
        assert done.output == "xxx\n"
        assert done.seconds > 0
        assert done.peak > 1
        with pytest.raises(SystemExit, match="this command failed: python -c 1/0"):
            module.in_own_process("-c", "1/0")


# --- recipes and scripts that run them ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipes_are_valid(path: Path, data: Path, tmp_path: Path, measuring: ModuleType) -> None:
    """Everything that they name exists, once the files of this machine are replaced."""
    text = importlib.import_module("tiny").tiny_recipe(path.read_text("utf-8"), data, tmp_path)
    (tmp_path / "recipe.toml").write_text(text, "utf-8")
    assert recipe.load(str(tmp_path / "recipe.toml")).seeds == [0]
    names = [name for name in re.findall(r'"([^"]*/[^"]*)"', text) if name.startswith(str(data))]
    assert [name for name in names if not Path(name).is_file()] == []


STUBS = {
    "nersery": """printf '%q ' "$@" >> "$LOG"; echo >> "$LOG"
case $1-$2 in
  dataset-convert | dataset-sample) cp "$3" "$4" ;;
esac""",
    "python": """case $2 in
  data) mkdir -p "${3%/*}" && ln -s "$DATA" "$3" ;;
  recipe) cat "$3" ;;
esac""",
}
"""Stubs: `nersery` logs its arguments and writes the input of the next command; `python` stands in for tiny.py."""


@pytest.fixture
def repository(tmp_path: Path, data: Path) -> Path:
    """A folder with the benchmarks, with tiny data beside it, and with the stubs in ``bin``."""
    folder = tmp_path / "repository"
    (folder / "bin").mkdir(parents=True)
    (folder / "benchmarks").symlink_to(FOLDER)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "data").symlink_to(data)
    for name, text in STUBS.items():
        (folder / "bin" / name).write_text(f"#!/bin/bash\n{text}\n", "utf-8")
        (folder / "bin" / name).chmod(0o755)
    return folder


def check_script(command: list[str], repository: Path, data: Path) -> list[str]:
    """Run a shell script; each recipe that it runs must exist and accept the settings. The recipes' names."""
    log = repository / "log"
    log.touch()
    changed = {"PATH": f"{repository}/bin:{os.environ['PATH']}", "LOG": str(log), "DATA": str(data)}
    done = subprocess.run(command, cwd=repository, env={**os.environ, **changed}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [shlex.split(line) for line in log.read_text("utf-8").splitlines()]
    runs = [arguments[1:] for arguments in lines if arguments[0] == "run"]
    for name, *options in runs:
        recipe.load(str(FOLDER / Path(name).name), options[3::2])
    return [Path(name).name for name, *_ in runs]


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.sh") if os.access(path, os.X_OK)))
def test_quick_script(name: str, repository: Path, data: Path) -> None:
    if name == "gpu.sh":
        return  # its parts are run below
    plain = check_script([f"benchmarks/{name}"], repository, data)
    (repository / "log").unlink()
    assert check_script([f"benchmarks/{name}", "--quick"], repository, data) == plain != []
    assert {path.name for path in (repository / "runs" / "quick").glob("*.toml")} == {*plain}


def test_tiny_run_has_a_table_of_results(
    data: Path, models: dict[str, str], tmp_path: Path, measuring: ModuleType, capsys
) -> None:
    path = tmp_path / "recipe.toml"
    text = (FOLDER / "multiconer_en.toml").read_text("utf-8")
    path.write_text(importlib.import_module("tiny").tiny_recipe(text, data, tmp_path), "utf-8")
    settings = ("--set", f"tagger.model={models['MODEL']}", "--set", "evaluate.bootstrap_samples=100", "--quiet")
    execute("-m", "nersery", "run", str(path), "--out", str(tmp_path / "run"), *settings)
    capsys.readouterr()
    execute("-m", "nersery", "inspect", "results", str(tmp_path / "run"), "--as", "markdown")
    head, _, gold, *others = capsys.readouterr().out.splitlines()
    assert head.startswith("| Run | Method | Seeds |")
    assert gold.startswith("| multiconer-en-100 | gold only | 1 | 30 |")
    assert len(others) == text.count("[[systems]]")


# --- docs/results.md ------------------------------------------------------------------------------------------------


def documented() -> Iterator[list[str]]:
    """The commands in docs/results.md that run something in benchmarks."""
    for block, inline in CODE.findall((ROOT / "docs" / "results.md").read_text("utf-8")):
        for line in (block or inline).replace("\\\n", " ").splitlines():
            words = shlex.split(line)
            if any(word.startswith("benchmarks/") for word in words):
                yield words


DOCUMENTED = list(documented())


def commands_of_nersery() -> Iterator[str]:
    """Those in docs/results.md that name a file or a setting."""
    for block, inline in CODE.findall((ROOT / "docs" / "results.md").read_text("utf-8")):
        for line in (block or inline).replace("\\\n", " ").splitlines():
            if re.match(r"nersery( [a-z]+)* [^ ]*[-.=:]", line) and "…" not in line:
                yield line


def parse(line: str) -> None:
    _, *words = shlex.split(line)
    name = max((name for name in COMMANDS if words[: len(name.split())] == name.split()), key=len)
    COMMANDS[name].make_context(name, words[len(name.split()) :])


@pytest.mark.parametrize("line", dict.fromkeys(commands_of_nersery()))
def test_documented_nersery_command_accepts_its_arguments(line: str) -> None:
    parse(line)


def test_commands_measured_for_memory_accept_their_arguments(measuring: ModuleType) -> None:
    for case in importlib.import_module("memory").CASES.values():
        parse(f"nersery {re.sub('[{}]', '', case.arguments)}")


def test_an_unknown_option_is_noticed() -> None:
    with pytest.raises(Exception, match="No such option"):
        COMMANDS["annotate"].make_context("annotate", ["raw.txt", "out.jsonl", "--types", "PER"])


def test_finds_the_documented_commands() -> None:
    assert len(DOCUMENTED) > 25


@pytest.mark.parametrize("words", DOCUMENTED, ids=" ".join)
def test_documented_command(
    words: list[str], repository: Path, data: Path, measuring: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program exists and takes these arguments; a recipe accepts these settings."""

    def stop() -> None:
        raise ParsedError

    monkeypatch.chdir(repository)
    monkeypatch.setattr(measuring, "print_machine", stop)
    match words:
        case ["python", "benchmarks/mpnet.py" as program, _folder]:  # it measures nothing, and downloads
            assert Path(program).is_file()
        case ["python", program, *arguments]:
            with pytest.raises(ParsedError):
                execute(program, *arguments)
        case ["nersery", "run", name, *options]:
            recipe.load(name, [value for option, value in itertools.pairwise(options) if option == "--set"])
        case ["benchmarks/gpu.sh", *parts]:  # they are run above, where there is no GPU
            assert {*parts} <= {*"123456"}
        case [script, *_] if script.endswith(".sh"):
            assert check_script(words, repository, data)
        case [program, *_] if program.endswith(".py"):
            assert Path(program).is_file()
        case [name]:
            assert recipe.load(name)
        case _:
            pytest.fail("this command is unknown here")


def test_a_wrong_argument_is_noticed(measuring: ModuleType) -> None:
    with pytest.raises(AssertionError):
        execute(str(FOLDER / "tagger.py"), "--nothing")
