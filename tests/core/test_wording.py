"""Messages name options to users of the commands, and parameters to users of the library."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
import threading
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest

import nersery
from nersery.core.errors import DataError, SettingsError, UnfittedError
from nersery.core.warnings import note
from nersery.core.wording import PARAMETERS, as_parameters, command_line, either, is_command_line
from nersery.experiments.execution.jobs import failure_text
from nersery.io.base import ReadOptions
from nersery.io.input_files.foreign import foreign_formats
from nersery.pipeline.engines.worker import BatchRunner, WorkerTask
from nersery.pipeline.error_policy import reason_of
from nersery.pipeline.stage_options import JobOptions
from tests.cli.calls import call

ROOT = Path(nersery.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
COMMANDS_ALONE = {
    "crosslingual/aligner_components/keep_lexicon.py": "--keep",
    "evaluate/missing_sentences.py": "--missing",
    "publish/about.py": "--leaks",
    "publish/dataset.py": "--no-parquet",
    "publish/hub.py": "--push",
    "publish/splits.py": "--leaks",
    "report/pictures/alignment_map.py": "--picture-of",
    "review/review_loader.py": "--beside",
}
"""Options in messages that only a command can cause."""
COMMAND = re.compile(r"\b(?:nersery|pip|rasa|hf) [^`(),;\n]*")


def messages(path: Path) -> Iterator[str]:
    """The texts of a module for both readers, without docstrings, program arguments and texts in `either`."""
    tree = ast.parse(path.read_text("utf-8"))
    left_out = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "either":
            left_out |= {id(part) for argument in node.args for part in ast.walk(argument)}
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.JoinedStr):
            left_out |= {id(value) for value in node.values}
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not OPTION.fullmatch(node.value):
            yield node.value


@cache
def parameters() -> frozenset[str]:
    """The parameters of all public functions."""
    functions = [function for name in nersery.__all__ if inspect.isroutine(function := getattr(nersery, name))]
    functions += [getattr(nersery, name) for name in ("annotate", "augment", "evaluate", "select")]
    named = {name for function in functions for name in inspect.signature(function).parameters}
    return frozenset(named | {field.name for kind in (ReadOptions, JobOptions) for field in fields(kind)})


MODULES = [str(path.relative_to(ROOT)) for path in sorted(ROOT.rglob("*.py")) if path.parent.name != "cli"]


@pytest.mark.parametrize("module", MODULES)
def test_each_option_that_a_message_names_has_a_parameter(module: str) -> None:
    if module == "core/wording.py":
        return
    for message in messages(ROOT / module):
        left = set(OPTION.findall(COMMAND.sub("", as_parameters(message))))
        assert left <= {COMMANDS_ALONE.get(module)}, message


@pytest.mark.parametrize("name", foreign_formats())
def test_each_option_that_the_advice_for_a_foreign_format_names_has_a_parameter(name: str) -> None:
    assert OPTION.findall(COMMAND.sub("", as_parameters(foreign_formats()[name].advice))) == []


@pytest.mark.parametrize("parameter", PARAMETERS.values())
def test_each_parameter_exists(parameter: str) -> None:
    assert parameter.partition("=")[0] in parameters()


@pytest.mark.parametrize(
    ("of_command", "of_library"),
    [
        ("leave out --word-column and --format", "leave out `word_column` and `format`"),
        ("columns: --word-column 2 --tag-column 4", "columns: word_column=2, tag_column=4"),
        ("e.g. --encoding utf-16", 'e.g. encoding="utf-16"'),
        ("--encoding cp1252. Or", 'encoding="cp1252". Or'),
        ("--scheme-in NAME if", 'scheme="NAME" if'),
        ("even --force does not", "even force=True does not"),
        ('--set "a": expected', '`overrides` "a": expected'),
        ("--set a.b=[1: this", "`overrides` a.b=[1: this"),
        ("conll with --separator space: so", 'conll with separator=" ": so'),
        ("(run nersery train A --force), or another (--out)", "(run nersery train A --force), or another (`output`)"),
        ("see `nersery run --out X` or --out", "see `nersery run --out X` or `output`"),
        ("rename: nersery dataset convert --type OLD=NEW", 'rename: sentence.with_types({"OLD": "NEW"})'),
        ("nersery dataset convert OLD NEW --type 'B-a b=BX'", 'sentence.with_types({"B-a b": "BX"})'),
        ("drop them: nersery dataset convert --to words", 'drop them: format="words"'),
        ("see nersery dataset convert a.conll b.jsonl", "see nersery dataset convert a.conll b.jsonl"),
        ("pip install --force-reinstall x", "pip install --force-reinstall x"),
        ('the word "--force" of a/--out and --outer', 'the word "--force" of a/--out and --outer'),
        ('"push --force now" is no model; --force', '"push --force now" is no model; force=True'),
        ("use --force to start over", "use force=True to start over"),
        ("--force --workers 2", "force=True workers=2"),
        ("expected what `nersery train` wrote", "expected what `nersery.train` wrote"),
        ("by `nersery train --set model=NAME`", "by `nersery.train(…, model=NAME)`"),
        ('(files = { PER = "persons.txt" })', '(files={"PER": "persons.txt"})'),
        ('a table, e.g. { "a b" = "text", … }', 'a table, e.g. {"a b": "text", …}'),
    ],
)
def test_options_become_parameters(of_command: str, of_library: str) -> None:
    assert as_parameters(of_command) == of_library == as_parameters(of_library)
    assert str(SettingsError(of_command)) == of_library
    with command_line():
        assert str(SettingsError(of_command)) == of_command


def test_notes_use_the_wording_of_their_reader(capsys: pytest.CaptureFixture[str]) -> None:
    note("give --split spaces")
    with command_line():
        note("give --split spaces")
    assert capsys.readouterr().err == 'note: give split="spaces"\nnote: give --split spaces\n'


def test_messages_about_a_recipe_keep_toml(tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text('name = "r"\n[[systems]]\nmethod = "label_conditioned"\ndefinitions = 3\n', "utf-8")
    with pytest.raises(SettingsError, match=r'expected a table, e\.g\. \{ name = "text" \}'):
        nersery.run(recipe)
    gold = nersery.read(nersery.example("train.conll"))
    with pytest.raises(SettingsError, match=r'expected a table, e\.g\. \{"name": "text"\}'):
        nersery.augment(gold, "label_conditioned", definitions=3)


class WordingProbe:
    """A stand-in for a stage. Its training records whose wording the process uses."""

    sentence_of = None
    found: ClassVar[list[bool]] = []

    def load(self) -> None:
        """There is nothing to load."""

    def fit(self, *_: object) -> None:
        """Records the wording."""
        self.found.append(is_command_line())


def test_workers_use_the_wording_of_their_parent() -> None:
    stage: Any = WordingProbe()
    with command_line():
        of_command = pickle.dumps(WorkerTask(stage))
    for task in (of_command, pickle.dumps(WorkerTask(stage))):
        BatchRunner(pickle.loads(task))
    assert WordingProbe.found == [True, False]


def test_threads_use_the_wording_of_the_process() -> None:
    found: list[bool] = []
    with command_line():
        thread = threading.Thread(target=lambda: found.append(is_command_line()))
        thread.start()
        thread.join()
    assert found == [True]


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a line that lacks its tag."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "broken.conll"
    path.write_text("Ada B-PER\nwrote\n\nIn O\nOslo B-LOC\n" * 3, "utf-8")
    return path


def test_wording_for_a_line_without_a_tag(broken: Path) -> None:
    with pytest.raises(DataError) as caught:
        nersery.read(broken)
    text = str(caught.value)
    assert "--" not in text
    assert "correct the file, or read it with other arguments of nersery.read: " in text
    assert 'repair="drop-sentence" leaves each broken sentence out' in text
    assert (
        "--repair drop-sentence moves each broken sentence to the rejects" in call("inspect", "stats", str(broken)).err
    )


def test_wording_for_a_folder_without_a_run(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(SettingsError, match=r"holds no run. Choose another folder \(`output`\)"):
        nersery.run("demo", output=tmp_path)
    assert "(--out)" in call("run", "demo", "--out", str(tmp_path)).err
    with pytest.raises(SettingsError, match=r'`overrides` "tagger": expected key=value'):
        nersery.run("demo", overrides=["tagger"])


def test_wording_for_an_existing_output(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    output.touch()
    gold = nersery.read(nersery.example("train.conll"))
    with pytest.raises(SettingsError, match=r"or overwrite it \(force=True\)"):
        nersery.augment(gold, "mention_replacement", output=output)
    with pytest.raises(SettingsError, match=r"e\.g\. shards=10000"):
        nersery.augment(gold, "mention_replacement", output=output, workers=2)


def test_wording_for_too_little_data() -> None:
    empty = [nersery.Sentence(("Ada", "wrote"))]
    with pytest.raises(
        DataError, match=r"nothing to learn from\nFix: name a file with entities; nersery inspect stats"
    ):
        nersery.augment(empty, "mention_replacement")
    with pytest.raises(DataError, match=r"name the column of their tags \(`tag_column`\)$"):
        nersery.train(empty)


def test_files_have_the_wording_of_commands() -> None:
    error = SettingsError("give --format text")
    assert (str(error), error.text) == ('give format="text"', "give --format text")
    assert reason_of(UnfittedError("give --format text")) == "failed: UnfittedError: give --format text"
    assert failure_text(error) == "give --format text"


def test_either_chooses_between_two_texts() -> None:
    assert either("a", "b") == "b"
    with command_line():
        assert either("a", "b") == "a"
