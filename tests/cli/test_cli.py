from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nersery import Entity, Sentence, io
from nersery.cli import (  # noqa: F401 - they add their commands
    agreement,
    app,
    corpora,
    labels,
    methods,
    models,
    parallel,
    publishing,
    quality,
    recipes,
    suggestions,
    templates,
)
from nersery.io.pharaoh import format_links
from nersery.links import Link, Links
from nersery.loop import FileJob
from tests.forks import Server
from tests.standins import environment, files, sentences, tiny, write_data, write_recipe

COMMANDS = {
    command.name or str(getattr(command.callback, "__name__", "")): command for command in app.registered_commands
}
AUGMENT = ("--method", "mention_replacement")
FILELESS = ("stats", "list", "evaluate", "evaluate-links", "agree", "suggest", "novelty", "quality", "templates")
"""Commands that write no file."""


def nersery(*args: str, **options: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "nersery", *args]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), check=False, **options)


@dataclass
class Result:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


def call(*args: str, stdin: bytes = b"") -> Result:
    """The command in this process."""
    result = CliRunner().invoke(app, list(args), input=stdin, prog_name="nersery")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Result(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user is, with data files."""
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def tagger(tmp_path_factory: pytest.TempPathFactory, tiny_model: str) -> Path:
    """A trained folder."""
    folder = tmp_path_factory.mktemp("tagger")
    write_data(folder)
    settings = [f"--set={line.replace(' = ', '=')}" for line in tiny(tiny_model).split("\n")]
    result = call("train", str(folder / "train.conll"), str(folder / "my-tagger"), *settings)
    assert result.code == 0
    return folder / "my-tagger"


# --- help ---------------------------------------------------------------------------------------------------


def examples(name: str) -> list[list[str]]:
    """The commands in the help of a command, up to the first pipe."""
    epilog = str(COMMANDS[name].epilog)
    lines = [line.strip() for line in epilog.split("\n") if line.strip().startswith("nersery ")]
    return [shlex.split(line.split(" | ")[0])[1:] for line in lines]


class TestHelp:
    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_command_has_two_examples_of_itself(self, name: str):
        assert len(examples(name)) >= 2
        assert all(example[0] == name for example in examples(name))
        shown = " ".join(call(name, "--help").out.split())
        for line in str(COMMANDS[name].epilog).split("\n"):
            assert " ".join(line.split()) in shown

    @pytest.mark.parametrize("example", [e for name in COMMANDS for e in examples(name)], ids=" ".join)
    def test_the_examples_work(
        self, example: list[str], folder: Path, tiny_model: str, tiny_masked_lm: str, tagger: Path
    ):
        prepare(folder, example, tiny_model, tagger)
        if example[0] == "train":
            example = [*example, "--set", "epochs=1", "--set", f"model={tiny_model}"]
        if example[0] == "run":
            example = [*example, "--set", f"tagger.model={tiny_model}", "--set", "tagger.steps=1"]
        if example[:2] == ["run", "demo"]:
            arms = [f"augment.{name} + agreement" for name in ("melm", "aclm")]
            small = [f"{arm}.{setting}" for arm in arms for setting in (f"model={tiny_masked_lm}", "epochs=1")]
            example += [f"--set={setting}" for setting in (*small, "sample.size=16", "sample.dev_size=8")]
        if example[0] in ("suggest", "quality"):
            example = [on_tiny(*pair, tiny_masked_lm) for pair in pairwise(["", *example])]
        before = set(files(folder))
        result = call(*example)
        assert result.code == 0, result.err
        assert result.out
        assert set(files(folder)) > before or example[0] in FILELESS

    def test_the_whole(self):
        result = call("--help")
        assert result.code == 0
        words = [line.split()[1] for line in result.out.split("Commands")[1].split("\n") if len(line.split()) > 1]
        assert [word for word in words if word in COMMANDS] == list(COMMANDS)

    def test_without_a_command_it_helps(self):
        assert "Usage" in call().out + call().err


def on_tiny(option: str, value: str, model: str) -> str:
    """What follows an option of `suggest`, with a tiny model in place of any other."""
    if option == "--method":
        return f"{value} model={model}" + (" epochs=1" if value.startswith("melm") else "")
    return model if option == "--model" else value


def prepare(folder: Path, example: list[str], tiny_model: str, tagger: Path) -> None:
    """Put what an example reads where it reads it."""
    if example[0] == "copy":
        for path in folder.iterdir():
            path.unlink()
        return
    write_recipe(folder, tiny(tiny_model), "my-recipe.toml")
    io.write(sentences(120), folder / "train.conll")
    Path("my.conll").write_bytes(Path("train.conll").read_bytes())
    if example[0] == "convert":
        Path("train.conll").unlink()
    Path("train.iob1").write_text("Ada\tI-PER\nwrote\tO\n\n")
    Path("broken.conll").write_text("Ada\t-PER\nLovelace\t-PER\nwrote\t-\nto\tO\nBo\tB-PER\n")
    Path("words.tsv").write_text("lives\tdwells\n")
    Path("raw.txt").write_text("Ada lives in Oslo .\n")
    if example[0] != "train":
        os.symlink(tagger, "my-tagger", target_is_directory=True)
    test = list(io.read("test.conll"))
    for name in ("predicted", "better"):
        io.write(test, f"{name}.jsonl")
    io.write([sentence.with_entities(()) for sentence in test], "baseline.jsonl")
    for name in ("anna", "bela"):
        io.write(test, f"{name}.conll")
    Path("about.toml").write_text('license = "cc0-1.0"\n[[sources]]\nname = "here"\n')
    if example[0] in ("select", "novelty", "quality"):
        assert call("augment", "train.conll", "more.jsonl", *AUGMENT).code == 0
    if example[0] in ("align", "project"):
        for name in ("text.en", "text.de"):
            io.write(sentences(120), name, format="text")
    if example[0] in ("project", "evaluate-links"):
        first = 1 if "--gold-first" in example else 0
        for name, number in (("en-de", 0), ("gold", first)):
            lines = (format_links(identity(sentence), first=number) for sentence in sentences(120))
            Path(f"{name}.links").write_text("".join(f"{line}\n" for line in lines))
    if example[0] == "quality":
        Path("kept.jsonl").write_bytes(Path("more.jsonl").read_bytes())


def identity(sentence: Sentence) -> Links:
    """Links of each word with the one in its place."""
    return tuple(Link(place, place) for place in range(len(sentence)))


# --- quickness ------------------------------------------------------------------------------------------------


class TestQuickness:
    @pytest.mark.parametrize(
        "args",
        [
            ["--help"],
            ["stats", "train.conll"],
            ["convert", "train.conll", "out.jsonl"],
            ["sample", "train.conll", "out.jsonl", "--size", "3", "--protocol", "random"],
            ["copy", "demo", "out.toml"],
            ["list", "recipes"],
            ["run", "nowhere"],
            ["augment", "train.conll", "out.jsonl", *AUGMENT],
            ["novelty", "train.conll", "--gold", "dev.conll"],
            ["quality", "train.conll", "--gold", "dev.conll", "--no-perplexity"],
            ["templates", "train.conll", "--keywords", "none"],
            ["suggest", "train.conll", "--method", "mention_replacement"],
        ],
        ids=lambda args: args[0],
    )
    def test_nothing_heavy_is_imported(self, folder: Path, args: list[str]):
        code = (
            "import sys, atexit\n"
            "heavy = {'torch', 'transformers', 'pydantic', 'numpy', 'rapidfuzz', 'jinja2'}\n"
            "atexit.register(lambda: print('heavy:', *sorted(heavy & set(sys.modules)), file=sys.stderr))\n"
            f"sys.argv = ['nersery', *{args!r}]\n"
            "from nersery.cli import main\n"
            "main()\n"
        )
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
        allowed = set() if args == ["--help"] else {"pydantic"}  # typer reads the values of options by it
        assert set(done.stderr.splitlines()[-1].removeprefix("heavy:").split()) <= allowed

    def test_without_torch_what_needs_none_works(self, folder: Path):
        code = (
            "import sys; sys.modules['torch'] = sys.modules['transformers'] = None\n"
            "sys.argv = ['nersery', 'augment', 'train.conll', 'out.jsonl', '--method', 'mention_replacement']\n"
            "from nersery.cli import main\n"
            "main()\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True, env=environment())
        assert len(io.read("out.jsonl")) > 0


# --- what goes where ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
class TestStreams:
    def test_results_on_output_and_the_rest_on_errors(self):
        result = call("augment", "train.conll", "out.jsonl", *AUGMENT)
        count = len(io.read("out.jsonl"))
        assert result.out.startswith(f"out.jsonl: read 24, wrote {count}, rejected {24 - count} (")
        assert result.out.count("\n") == 1
        assert result.err.startswith("train.conll: conll, IOB2")
        assert "mention_replacement: 24" in result.err

    @pytest.mark.parametrize(
        "args",
        [
            ["convert", "train.conll", "out.jsonl"],
            ["augment", "train.conll", "out.jsonl", *AUGMENT],
            ["sample", "train.conll", "out.jsonl", "--size", "3"],
            ["select", "dev.conll", "out.jsonl", "--method", "duplicates", "--gold", "train.conll"],
        ],
        ids=lambda args: args[0],
    )
    def test_quiet_means_results_alone(self, args: list[str]):
        result = call(*args, "--quiet")
        assert result.err == ""
        assert result.out.startswith("out.jsonl: ")

    def test_repairs_are_told_unless_quiet(self):
        Path("broken.conll").write_text("Ada\tB_PER\nran\tO\nBo\tB-PER\n")
        for number, options in enumerate(([], ["--quiet"])):
            result = call("augment", "broken.conll", f"{number}.jsonl", *AUGMENT, "--repair", "underscore", *options)
            assert result.code == 0
            assert ("broken.conll: repaired underscore 1" in result.err) == (number == 0)

    @pytest.mark.parametrize(
        "args",
        [
            ["stats", "train.conll", "dev.conll", "--json"],
            ["list", "--json"],
            ["list", "mention_replacement", "--json"],
            ["evaluate", "test.conll", "test.conll", "--json"],
            ["evaluate", "test.conll", "test.conll", "--against", "test.conll", "--samples", "100", "--json"],
            ["novelty", "test.conll", "--gold", "train.conll", "--json"],
            ["quality", "test.conll", "--gold", "train.conll", "--no-perplexity", "--json"],
            ["run", "demo", "--check", "--json"],
        ],
        ids=" ".join,
    )
    def test_json(self, args: list[str]):
        assert json.loads(call(*args).out)

    def test_a_training_in_json(self, memory: object):
        result = call("train", "train.conll", "t", "--method", "memory", "--json")
        assert json.loads(result.out) == {
            "folder": "t",
            "sentences": 24,
            "steps": 1,
            "best_step": None,
            "dev_f1": None,
        }

    @pytest.mark.parametrize(
        "args",
        [
            ["stats", "EXAMPLE"],
            ["convert", "EXAMPLE", "x.jsonl"],
            ["sample", "EXAMPLE", "x.jsonl", "--size", "3"],
            ["augment", "EXAMPLE", "x.jsonl", *AUGMENT, "--learn-from", "EXAMPLE"],
            ["select", "EXAMPLE", "x.jsonl", "--method", "duplicates", "--gold", "EXAMPLE", "--held-out", "EXAMPLE"],
            ["evaluate", "EXAMPLE", "EXAMPLE", "--against", "EXAMPLE", "--samples", "100"],
            ["novelty", "EXAMPLE", "--gold", "EXAMPLE"],
            ["quality", "EXAMPLE", "--gold", "EXAMPLE", "--no-perplexity"],
            ["train", "EXAMPLE", "t", "--method", "memory", "--dev", "EXAMPLE"],
        ],
        ids=lambda args: args[0],
    )
    def test_an_example_by_the_name_that_list_prints(self, args: list[str], memory: object):
        (name, *_) = json.loads(call("list", "examples", "--json").out)["examples"]
        result = call(*[arg.replace("EXAMPLE", name.replace(".", "x.")) for arg in args])
        assert result.code == 2
        assert f'did you mean "{name}"' in result.err
        assert call(*[arg.replace("EXAMPLE", name) for arg in args]).code == 0

    def test_figures_in_json(self):
        (counted,) = json.loads(call("stats", "test.conll", "--json").out)
        gold = io.read("test.conll")
        assert counted["sentences"] == len(gold)
        assert counted["words"] == sum(map(len, gold))
        assert sum(counted["types"].values()) == counted["entities"] == sum(len(s.entities) for s in gold)
        scores = json.loads(call("evaluate", "test.conll", "test.conll", "--json").out)
        assert scores["micro"]["f1"] == 1.0

    def test_a_run_in_json(self, memory: object):
        write_recipe(Path())
        result = call("run", "recipe.toml", "--json", "--quiet")
        assert json.loads(result.out) == json.loads(Path("runs/small/report.json").read_text("utf-8"))
        assert result.err == ""

    def test_a_run_in_words(self, memory: object):
        write_recipe(Path())
        lines = call("run", "recipe.toml", "--out", "run").out.splitlines()
        assert [line.split()[0] for line in lines] == ["gold", "both", "one", "report:"]
        assert "against gold only" in lines[1]

    def test_standard_input(self):
        content = Path("train.conll").read_bytes()
        assert "24 sentences" in call("stats", "-", stdin=content).out
        assert call("convert", "-", "out.jsonl", stdin=content).code == 0
        assert [s.labels for s in io.read("out.jsonl")] == [s.labels for s in io.read("train.conll")]
        assert call("augment", "-", "more.jsonl", *AUGMENT, stdin=content).code == 0
        assert "<stdin>:2" in call("stats", "-", stdin=b"Ada\tB-PER\nBo\tI-LOC\n").err

    @pytest.mark.parametrize("command", [("stats", "-", "-"), ("agree", "-", "-"), ("align", "-", "-", "x.links")])
    def test_standard_input_named_twice(self, command: tuple[str, ...]):
        result = call(*command, stdin=Path("train.conll").read_bytes())
        assert (result.code, result.out) == (2, "")
        assert "standard input (-) is named twice" in result.err

    @pytest.mark.parametrize("target", ["devices/stdout", "pipe"])
    def test_a_device_is_not_replaced_by_a_file(self, target: str, monkeypatch: pytest.MonkeyPatch):
        """With a folder that stands in for /dev, which a failing test would damage."""
        os.mkfifo("pipe")
        Path("devices").mkdir()
        Path("devices/stdout").write_bytes(b"")
        monkeypatch.setattr("nersery.cli.options.DEVICES", Path("devices").absolute())
        result = call("convert", "train.conll", target, "--to", "jsonl", "--force")
        assert (result.code, result.out) == (2, "")
        assert f"{target} is a device or a pipe" in result.err

    def test_version(self):
        assert call("--version").out.startswith("nersery ")


class TestPipes:
    """Real processes, for what only they have."""

    def test_nobody_reads_the_results(self, folder: Path):
        many = [Sentence((f"w{n}",), (Entity(0, 1, f"TYPE{n}"),)) for n in range(20_000)]
        io.write(many, "many.jsonl")
        process = subprocess.Popen(
            [sys.executable, "-m", "nersery", "stats", "many.jsonl"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
    def test_results_onto_a_full_disk(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "nersery", "list", "repairs"],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(),
                check=False,
            )
        assert done.returncode == 5
        assert done.stderr.startswith("error: no space left to write")
        assert done.stderr.count("\n") == 1

    def test_a_terminal_without_the_script(self, folder: Path):
        io.write([Sentence(("नमस्ते",), (Entity(0, 1, "जगह"),))], "हिन्दी.jsonl")
        done = subprocess.run(
            [sys.executable, "-m", "nersery", "stats", "हिन्दी.jsonl"],
            capture_output=True,
            env={**environment(), "PYTHONIOENCODING": "ascii"},
            check=False,
        )
        assert done.returncode == 0
        assert b"\\u091c\\u0917\\u0939" in done.stdout

    def test_a_file_name_in_no_encoding(self, folder: Path):
        name = os.fsdecode(b"caf\xe9.conll")
        Path(name).write_bytes(Path("train.conll").read_bytes())
        done = nersery("convert", name, os.fsdecode(b"\xe9.jsonl"))
        assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
        done = nersery("train", name, os.fsdecode(b"\xe9"))
        expected = "error: the folder name '\\udce9' is not UTF-8. Choose another one\n"
        assert (done.returncode, done.stderr) == (2, expected)


# --- exit codes -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
class TestExitCodes:
    @pytest.mark.parametrize(
        ("code", "args", "message"),
        [
            (0, ["stats", "train.conll"], ""),
            (2, ["bogus"], "No such command"),
            (2, ["stats"], "Missing argument"),
            (2, ["augment", "train.conll", "out.jsonl", "--method", "mention_replacment"], "did you mean"),
            (2, ["augment", "train.conll", "out.jsonl", *AUGMENT, "--set", "rate=1.5"], "rate is 1.5"),
            (2, ["augment", "train.conll", "out.jsonl", *AUGMENT, "--set", "rate"], "expected key=value"),
            (2, ["augment", "train.conll", "out.jsonl", *AUGMENT, "--set", "rat=1"], 'did you mean "rate"'),
            (2, ["augment", "train.conll", "out.jsonl", *AUGMENT, "--seed", str(2**32)], "--seed"),
            (2, ["augment", "train.conll", "out.jsonl", *AUGMENT, "--copies", "0"], "--copies"),
            (2, ["augment", "train.conll", "out.xml", *AUGMENT], 'the extension ".xml" names no format'),
            (2, ["convert", "train.conll", "-"], "not written to standard output"),
            (2, ["convert", "train.conll", "-", "--to", "jsonl"], "not written to standard output"),
            (2, ["convert", "train.conll", "x.conll", "--scheme", "BOI"], "BOI"),
            (2, ["convert", "train.conll", "x.conll", "--type", "PER"], "expected OLD=NEW"),
            (2, ["convert", "train.conll", "x.conll", "--type", "PER=A", "--type", "PER=B"], "names a type twice"),
            (2, ["convert", "train.conll", "x.conll", "--separator", "comma"], "Known: tab, space"),
            (2, ["convert", "train.conll", "x.conll", "--to", "xml"], 'no output format "xml"'),
            (2, ["stats", "train.conll", "--encoding", "klingon"], 'no encoding "klingon"'),
            (2, ["stats", "train.conll", "--repair", "lost-prefixes"], 'did you mean "lost-prefix"'),
            (2, ["stats", "train.conll", "--scheme", "BIOES"], "--scheme-in"),
            (2, ["sample", "train.conll", "x.jsonl", "--size", "25"], "cannot sample 25 of 24"),
            (2, ["sample", "train.conll", "x.jsonl", "--size", "1", "--protocol", "al"], "Known: random, stratified"),
            (2, ["list", "mention_replacment"], 'did you mean "mention_replacement"'),
            (2, ["copy", "dmeo", "x.toml"], 'did you mean "demo"'),
            (2, ["copy", "example:trian.conll", "x.conll"], 'did you mean "example:train.conll"'),
            (2, ["train", "train.conll"], "name at least one corpus and, last, the folder"),
            (2, ["train", "train.conll", "t", "--preset", "mlem"], 'did you mean "melm"'),
            (2, ["run", "dmeo"], 'did you mean "demo"'),
            (2, ["run", "demo", "--set", "tagger.stepz=3"], 'did you mean "steps"'),
            (3, ["stats", "train.con"], "the folder has train.conll"),
            (3, ["evaluate", "test.conll", "dev.conll"], "none of the 12 gold ids is among the 6 predicted ones"),
            (3, ["run", "demo", "--check", "--set", "data.dev=nothing.conll"], "there is no such file"),
            (4, ["predict", "./nothing", "train.conll", "x.jsonl"], "./nothing is no tagger"),
            (4, ["train", "train.conll", "t", "--set", "model=./nothing"], "there is no model folder ./nothing"),
            (
                4,
                ["augment", "train.conll", "x.jsonl", "--method", "synonym_replacement", "--set", "wordnet=/none"],
                "WordNet is not in /none",
            ),
            (5, ["convert", "train.conll", "dev.conll/x.jsonl"], "cannot read or write dev.conll/x.jsonl.part"),
            (5, ["augment", "train.conll", "dev.conll/x.jsonl", *AUGMENT], "cannot read or write dev.conll"),
            (5, ["sample", "train.conll", "dev.conll/x.jsonl", "--size", "3"], "cannot read or write dev.conll"),
            (5, ["copy", "demo", "dev.conll/x.toml"], "cannot read or write dev.conll"),
            (5, ["train", "train.conll", "dev.conll/tagger"], "cannot read or write dev.conll/tagger.part"),
            (5, ["run", "demo", "--out", "dev.conll/run"], "cannot read or write dev.conll/run"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_code_and_message(self, code: int, args: list[str], message: str):
        before = files(Path())
        result = call(*args)
        assert result.code == code
        assert message in " ".join(result.err.replace("│", "").split())
        assert code == 0 or result.out == ""
        assert code != 0 or result.err == ""
        assert files(Path()) == before

    def test_interrupted(self, monkeypatch: pytest.MonkeyPatch):
        def interrupt(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(FileJob, "run", interrupt)
        result = call("convert", "train.conll", "x.jsonl")
        assert result.code == 130
        assert result.err.splitlines()[-1].startswith("error: interrupted. What is finished is kept")

    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.EIO])
    def test_the_disk(self, number: int, monkeypatch: pytest.MonkeyPatch):
        def fail(*_: object) -> None:
            raise OSError(number, os.strerror(number), "x.jsonl")

        monkeypatch.setattr(os, "replace", fail)
        result = call("sample", "train.conll", "x.jsonl", "--size", "3")
        assert result.code == 5
        full = number in (errno.ENOSPC, errno.EDQUOT)
        expected = "no space left to write x.jsonl" if full else f"write x.jsonl: {os.strerror(number)}"
        assert expected in result.err
        assert files(Path()).keys() == {"train.conll", "dev.conll", "test.conll"}

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_folder_that_may_not_be_written(self):
        Path("locked").mkdir(mode=0o555)
        for command in (["convert"], ["sample", "--size", "3"], ["augment", *AUGMENT]):
            result = call(command[0], "train.conll", "locked/x.jsonl", *command[1:])
            assert result.code == 5
            assert "Choose another place, or allow to write there" in result.err


# --- outputs --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
class TestOutputs:
    WRITERS = (
        ["convert", "train.conll", "OUT.jsonl"],
        ["sample", "train.conll", "OUT.jsonl", "--size", "3"],
        ["augment", "train.conll", "OUT.jsonl", *AUGMENT],
        ["select", "train.conll", "OUT.jsonl", "--method", "duplicates", "--gold", "dev.conll"],
        ["copy", "demo", "OUT.jsonl"],
    )

    @pytest.mark.parametrize("args", WRITERS, ids=lambda args: args[0])
    def test_an_existing_one_is_kept_unless_forced(self, args: list[str]):
        Path("OUT.jsonl").write_text("precious")
        result = call(*args)
        assert result.code == 2
        assert "OUT.jsonl exists already. Choose another name, or allow to overwrite it (--force)" in result.err
        assert Path("OUT.jsonl").read_text() == "precious"
        assert call(*args, "--force").code == 0
        assert Path("OUT.jsonl").read_text() != "precious"

    @pytest.mark.parametrize("args", WRITERS, ids=lambda args: args[0])
    def test_missing_folders_are_made(self, args: list[str]):
        args = [arg.replace("OUT", "new/folder/OUT") for arg in args]
        assert call(*args).code == 0
        assert Path("new/folder/OUT.jsonl").exists()

    @pytest.mark.parametrize("force", [[], ["--force"]])
    @pytest.mark.parametrize(
        "args",
        [
            ["convert", "train.conll", "train.conll"],
            ["convert", "train.conll", "./link.conll"],
            ["convert", "a.jsonl.rejects.jsonl", "a.jsonl"],
            ["sample", "train.conll", "train.conll", "--size", "3"],
            ["sample", "train.conll", "x.conll", "--size", "3", "--ids", "train.conll"],
            ["augment", "train.conll", "train.conll", *AUGMENT],
            ["augment", "train.conll", "dev.conll", *AUGMENT, "--learn-from", "dev.conll"],
            ["select", "train.conll", "train.conll", "--method", "duplicates", "--gold", "dev.conll"],
            ["select", "train.conll", "dev.conll", "--method", "duplicates", "--gold", "dev.conll"],
            [
                *("select", "train.conll", "test.conll", "--method", "duplicates"),
                *("--gold", "dev.conll", "--held-out", "test.conll"),
            ],
            ["predict", "my-tagger", "train.conll", "train.conll"],
            ["copy", "train.conll", "train.conll"],
        ],
        ids=" ".join,
    )
    def test_an_input_is_never_overwritten(self, args: list[str], force: list[str]):
        os.link("train.conll", "link.conll")
        io.write(sentences(3), "a.jsonl.rejects.jsonl")
        before = files(Path())
        result = call(*args, *force)
        assert result.code == 2
        assert "is an input and would be overwritten" in result.err
        assert files(Path()) == before

    def test_the_ids_are_an_output_too(self):
        sample = ["sample", "train.conll", "x.jsonl", "--size", "3", "--ids"]
        result = call(*sample, "dev.conll")
        assert result.code == 2
        assert "dev.conll exists already" in result.err
        for same in ("x.jsonl", "x.jsonl.rejects.jsonl"):
            result = call(*sample, same)
            assert result.code == 2
            assert "--ids names an output" in result.err
        assert call(*sample, "new/ids.txt").code == 0
        assert Path("new/ids.txt").read_text().splitlines() == [s.id for s in io.read("x.jsonl")]

    def test_a_sample_of_each_language(self):
        both = [replace(s, id=f"{n}/{i}", language=n) for n in ("en", "hi") for i, s in enumerate(sentences(6))]
        io.write(both, "both.jsonl")
        size = ("--size", "2", "--protocol", "random", "--each-language")
        assert call("sample", "both.jsonl", "x.jsonl", *size).code == 0
        assert [sentence.language for sentence in io.read("x.jsonl")] == ["en", "en", "hi", "hi"]
        result = call("sample", "both.jsonl", "y.jsonl", "--size", "7", "--each-language")
        assert result.code == 2
        assert "en: cannot sample 7 of 6 sentences" in result.err

    @pytest.mark.parametrize("name", [".", "thesis", "my.conll"])
    def test_train_never_overwrites_what_is_no_tagger(self, name: str):
        Path("thesis").mkdir()
        Path("thesis/thesis.tex").write_text("precious")
        Path("my.conll").write_text("precious")
        before = files(Path())
        for force in ([], ["--force"]):
            result = call("train", "train.conll", name, "--method", "memory", *force)
            assert result.code == 2
            assert name in result.err
        assert files(Path()) == before

    def test_train_replaces_a_tagger_when_forced(self, memory: list[tuple[int, int]]):
        train = ["train", "train.conll", "deep/tagger", "--method", "memory"]
        assert call(*train, "--seed", "1").out == "deep/tagger: 24 sentences, 1 steps\n"
        result = call(*train)
        assert result.code == 2
        assert "deep/tagger exists already" in result.err
        assert call(*train, "dev.conll", "--force").code == 2
        assert call("train", "train.conll", "dev.conll", "deep/tagger", "--method", "memory", "--force").code == 0
        assert memory == [(1, 24), (0, 30)]
        assert set(os.listdir("deep")) == {"tagger"}

    def test_a_tagger_that_cannot_be_trained_leaves_nothing(self):
        io.write(sentences(1, 3), "none.conll")
        assert call("train", "none.conll", "tagger").code == 3
        assert not list(Path().glob("tagger*"))

    def test_a_run_s_folder_must_be_its_own(self, memory: object):
        write_recipe(Path())
        assert call("run", "recipe.toml", "--out", "run", "-q").code == 0
        result = call("run", "recipe.toml", "--out", "run", "--set", "sample.size=15", "-q")
        assert result.code == 2
        assert "run holds a run with other settings:\n  recipe.sample.size: there 16, asked for 15\n" in result.err
        result = call("run", "recipe.toml", "--out", ".", "-q")
        assert result.code == 2
        assert "is not empty and holds no run" in result.err

    def test_an_unfinished_job_goes_on_only_with_what_it_had(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("nersery.loop.CHECKPOINT_SECONDS", 0.0)
        augment = ["augment", "train.conll", "x.jsonl", *AUGMENT, "--batch-size", "4"]
        assert call(*augment[:2], "whole.jsonl", *augment[3:]).code == 0
        monkeypatch.setattr("nersery.loop.FileJob._publish", interrupted_once(FileJob._publish))
        assert call(*augment).code == 130
        for other in (["--language", "en"], ["--seed", "1"], ["--set", "rate=0.4"], ["--repair", "underscore"]):
            result = call(*augment, *other)
            assert result.code == 2
            assert "x.jsonl.part holds an unfinished job with other settings" in result.err
        content = Path("train.conll").read_text()
        Path("train.conll").write_text(content.replace("lives", "dwells"))
        assert "inputs: there" in call(*augment).err
        assert "unfinished job" in call("augment", "-", *augment[2:], stdin=b"Ada\tB-PER\nran\tO\n").err
        Path("train.conll").write_text(content)
        assert call(*augment).code == 0
        assert Path("x.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


def interrupted_once(original: Callable[..., None]) -> Callable[..., None]:
    """The function, interrupted the first time."""
    calls = []

    def function(*args: object) -> None:
        calls.append(args)
        if len(calls) == 1:
            raise KeyboardInterrupt
        original(*args)

    return function


# --- bad input ------------------------------------------------------------------------------------------------

BAD = {
    "columns": ("Ada\tB-PER\n" + 15 * "a\tO\n" + "a\tO\tx\ty\n" + "b\tO\n").encode(),
    "tags": b"Ada\tB_PER\nx\t-NEL\ny\t-\nz\tO\nBo\tB-PER\n",
    "latin": "Ada\tO\nJosé\tB-PER\n".encode("latin-1"),
    "broken": b"Ada\tI-PER\nx\tB-LOC\nBo\tB-PER\ny\tI-LOC\n",
    "binary": bytes(range(256)) * 4,
}
COLUMNS = ["bad.conll:17 (sentence bad:1): the number of columns is 4, expected 2", "Fix: "]
TAGS = [
    "3 problems:",
    "bad.conll:1 (sentence bad:1): the tag 'B_PER' cannot be read",
    "bad.conll:2 (sentence bad:1): the tag '-NEL' cannot be read",
    "bad.conll:3 (sentence bad:1): the tag '-' cannot be read",
    "--repair underscore",
    "--repair lost-prefix",
    "--repair bare-dash",
]
LATIN = ["bad.conll:2: the byte 0xe9 is not utf-8", "--encoding latin-1"]
READERS: dict[str, list[str]] = {
    "stats": ["stats", "bad.conll"],
    "convert": ["convert", "bad.conll", "x.jsonl"],
    "sample": ["sample", "bad.conll", "x.jsonl", "--size", "1"],
    "augment": ["augment", "bad.conll", "x.jsonl", *AUGMENT],
    "learn": ["augment", "train.conll", "x.jsonl", *AUGMENT, "--learn-from", "bad.conll"],
    "select": ["select", "bad.conll", "x.jsonl", "--method", "duplicates", "--gold", "train.conll"],
    "gold": ["select", "train.conll", "x.jsonl", "--method", "duplicates", "--gold", "bad.conll"],
    "train": ["train", "bad.conll", "x"],
    "dev": ["train", "train.conll", "x", "--dev", "bad.conll"],
    "predict": ["predict", "none", "bad.conll", "x.jsonl"],
    "evaluate": ["evaluate", "test.conll", "bad.conll"],
    "run": ["run", "demo", "--out", "x", "--set", "data.train=bad.conll"],
}


class TestBadInput:
    @pytest.mark.parametrize(("kind", "parts"), [("columns", COLUMNS), ("tags", TAGS), ("latin", LATIN)])
    @pytest.mark.parametrize("reader", READERS)
    def test_every_reader_names_file_line_and_fix(self, folder: Path, reader: str, kind: str, parts: list[str]):
        Path("bad.conll").write_bytes(BAD[kind])
        before = set(files(folder))
        result = call(*READERS[reader])
        assert result.code == 3
        for part in parts:
            assert part in result.err
        assert result.out == ""
        assert set(files(folder)) == before

    @pytest.mark.parametrize("kind", ["broken", "binary"])
    def test_other_faults(self, folder: Path, kind: str):
        Path("bad.conll").write_bytes(BAD[kind])
        result = call("stats", "bad.conll")
        assert result.code == 3
        assert "bad.conll" in result.err

    def test_the_named_repairs_mend_it(self, folder: Path):
        Path("bad.conll").write_bytes(BAD["tags"])
        repairs = [f"--repair={name}" for name in ("underscore", "lost-prefix", "bare-dash")]
        assert call("convert", "bad.conll", "x.jsonl", *repairs).code == 0
        assert [entity.type for entity in io.read("x.jsonl")[0].entities] == ["PER", "NEL", "PER"]

    def test_what_a_repair_rejects_lies_beside(self, folder: Path):
        Path("bad.conll").write_bytes(b"Bo\tB-PER\n\n" + BAD["columns"])
        result = call("convert", "bad.conll", "x.jsonl", "--repair", "drop-sentence")
        assert "read 2, wrote 1, rejected 1 (wrong number of columns: 1)" in result.out
        assert "drop-sentence 1" in result.err

    @pytest.mark.parametrize("stale", [False, True])
    @pytest.mark.parametrize(
        ("args", "read"),
        [
            (["convert", "bad.conll", "x.jsonl"], 2),
            (["sample", "bad.conll", "x.jsonl", "--size", "1"], 2),
            (["augment", "bad.conll", "x.jsonl", *AUGMENT, "--learn-from", "train.conll", "--set", "rate=1"], 2),
            (["augment", "bad.conll", "x.jsonl", *AUGMENT, "--learn-from", "train.conll", "--copies", "3"], 4),
            (["select", "bad.conll", "x.jsonl", "--method", "duplicates", "--gold", "train.conll"], 2),
            (["predict", "TAGGER", "bad.conll", "x.jsonl"], 2),
        ],
        ids=lambda value: value[0] if isinstance(value, list) else str(value),
    )
    def test_every_command_keeps_what_a_repair_rejects(
        self, folder: Path, tagger: Path, args: list[str], read: int, stale: bool
    ):
        Path("bad.conll").write_bytes(b"Bo\tB-PER\n\n" + BAD["columns"])
        if stale:
            Path("x.jsonl.rejects.jsonl").write_text("precious")
        args = [arg.replace("TAGGER", str(tagger)) for arg in args] + ["--repair", "drop-sentence", "--json"]
        result = call(*args)
        if stale:
            assert (result.code, result.out) == (2, "")
            assert "x.jsonl.rejects.jsonl exists already" in result.err
            assert Path("x.jsonl.rejects.jsonl").read_text() == "precious"
            result = call(*args, "--force")
        tally = json.loads(result.out)
        assert (tally["output"], tally["read"]) == ("x.jsonl", read)
        assert tally["written"] == len(io.read("x.jsonl"))
        rejects = list(io.read_rejects(Path("x.jsonl.rejects.jsonl")))
        assert tally["rejected"] == len(rejects) == read - tally["written"]
        assert tally["reasons"]["wrong number of columns"] == 1
        (dropped,) = (reject for reject in rejects if reject.reason == "wrong number of columns")
        assert dropped.sentence is not None
        assert dropped.sentence.id == "bad:2"

    def test_a_sample_without_rejects_removes_stale_ones(self, folder: Path):
        Path("x.jsonl.rejects.jsonl").write_text("stale")
        assert call("sample", "train.conll", "x.jsonl", "--size", "3", "--force").code == 0
        assert not Path("x.jsonl.rejects.jsonl").exists()

    @pytest.mark.parametrize("content", [b"", b"\n\n\n", b"\xef\xbb\xbf"])
    def test_an_empty_file(self, folder: Path, content: bytes):
        Path("empty.conll").write_bytes(content)
        assert "0 sentences, 0 words" in call("stats", "empty.conll").out
        assert "read 0, wrote 0" in call("convert", "empty.conll", "x.jsonl").out
        assert Path("x.jsonl").read_bytes() == b""
        for args, part in (
            (["augment", "empty.conll", "y.jsonl", *AUGMENT], "hold no entity"),
            (["train", "empty.conll", "y"], "there is no training sentence"),
            (["run", "demo", "--out", "y", "--set", "data.train=empty.conll"], "the train file has no sentence"),
            (["run", "demo", "--out", "y", "--set", "data.test=empty.conll"], "the test file has no sentence"),
        ):
            result = call(*args)
            assert result.code == 3
            assert part in result.err
        assert call("sample", "empty.conll", "y.jsonl", "--size", "1").code == 2
        assert call("evaluate", "test.conll", "empty.conll").code == 3

    def test_a_file_without_entities(self, folder: Path):
        io.write(sentences(1, 3), "none.conll")
        for args in (["augment", "none.conll", "x.jsonl", *AUGMENT], ["train", "none.conll", "x"]):
            result = call(*args)
            assert result.code == 3
            assert "entity" in result.err
            assert "Fix: " in result.err
        assert call("evaluate", "none.conll", "none.conll").code == 0

    def test_a_sentence_of_two_thousand_words(self, folder: Path, tiny_model: str):
        words = tuple(f"w{number}" for number in range(1998))
        long = Sentence((*words, "Ada", "Lovelace"), (Entity(1998, 2000, "PER"),))
        io.write([long, *sentences(8)], "long.conll")
        assert call("convert", "long.conll", "x.jsonl").code == 0
        assert io.read("x.jsonl")[0].labels == ((1998, 2000, "PER"),)
        assert call("augment", "long.conll", "y.jsonl", *AUGMENT, "--set", "rate=1", "--copies", "4").code == 0
        made = [s for s in io.read("y.jsonl") if len(s) > 1000]
        assert made
        assert all(s.words[:1998] == words and s.entities[-1].end == len(s) for s in made)
        settings = [f"--set={line.replace(' = ', '=')}" for line in tiny(tiny_model, steps=2).split("\n")]
        assert call("train", "long.conll", "tagger", *settings).code == 0
        assert call("predict", "tagger", "long.conll", "z.jsonl").code == 0
        assert [len(sentence) for sentence in io.read("z.jsonl")] == [len(s) for s in io.read("long.conll")]

    def test_odd_names_of_files_types_and_ids(self, folder: Path):
        name = "a file\n🚀 हिन्दी.jsonl"
        ids = ["a/b", "two\nlines", "../..", "x" * 10_000, '"']
        made = [
            Sentence(("Ada", "Lovelace", "ran", str(number)), (Entity(0, 2, kind),), id=id)
            for number, (id, kind) in enumerate(zip(ids, ["place name", "जगह", "PER", "PER", "जगह"], strict=True))
        ]
        io.write(made, name)
        assert call("stats", name).code == 0
        assert call("convert", name, "out dir/ü\n.conll").code == 0
        assert [s.labels for s in io.read("out dir/ü\n.conll")] == [s.labels for s in made]
        assert call("augment", name, "more.jsonl", "--method", "shuffle_within_segments", "--copies", "9").code == 0
        assert call("sample", name, "s.jsonl", "--size", "5", "--ids", "i.txt").code == 0
        listed = Path("i.txt").read_text("utf-8").split("\n")[:-1]
        assert [json.loads(id) if id[0] == '"' else id for id in listed] == ids

    def test_a_file_of_one_name_never_goes_on_with_one_of_another(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("nersery.loop.FileJob._publish", interrupted_once(FileJob._publish))
        shutil.copy("train.conll", "other.conll")
        assert call("convert", "train.conll", "x.jsonl").code == 130
        result = call("convert", "other.conll", "x.jsonl")
        assert result.code == 2
        assert "unfinished job with other settings" in result.err

    def test_a_type_that_columns_cannot_hold(self, folder: Path):
        io.write([Sentence(("Ada",), (Entity(0, 1, "place name"),))], "x.jsonl")
        result = call("convert", "x.jsonl", "x.conll", "--separator", "space")
        assert result.code == 3
        assert "'place name' cannot be a value between spaces" in result.err


class TestDamagedTagger:
    @pytest.mark.parametrize(
        "name", ["model.safetensors", "crf.safetensors", "nersery.json", "config.json", "tokenizer.json"]
    )
    def test_it_is_named(self, folder: Path, tagger: Path, name: str):
        for content in (None, b"{"):
            shutil.rmtree("damaged", ignore_errors=True)
            shutil.copytree(tagger, "damaged")
            Path("damaged", name).unlink() if content is None else Path("damaged", name).write_bytes(content)
            if (name, content) == ("nersery.json", None):
                continue  # then it is any model of transformers
            result = call("predict", "damaged", "test.conll", "x.jsonl", "-q")
            assert (result.code, result.out) == (4, "")
            assert "damaged" in result.err


class TestFullDisk:
    @pytest.mark.parametrize(
        "args",
        [
            ["convert", "big.conll", "x.jsonl", "-q"],
            ["augment", "big.conll", "x.jsonl", "-q", *AUGMENT],
            ["sample", "big.conll", "x.jsonl", "-q", "--size", "300", "--protocol", "random"],
            ["train", "train.conll", "x", "-q", "--method", "memory"],
        ],
        ids=lambda args: args[0],
    )
    def test_it_says_so_and_goes_on(self, folder: Path, server: Server, args: list[str]):
        io.write(sentences(400), "big.conll")
        expected_args = ["whole" + Path(arg).suffix if arg in ("x.jsonl", "x") else arg for arg in args]
        assert server.run(*expected_args, cwd=folder)[0] == 0
        code, out, err = server.run(*args, cwd=folder, largest_file=200)
        assert (code, out) == (5, "")
        told, _, advice = err.partition(". ")
        assert told.startswith(f"error: no space left to write {args[2]}")
        assert advice == "Free some and repeat the command: it goes on where it stopped\n"
        assert not Path(args[2]).exists()
        assert server.run(*args, cwd=folder)[0] == 0
        made = {name: content for name, content in files(folder).items() if name.startswith("x")}
        assert made == {
            name.replace("whole", "x", 1): content
            for name, content in files(folder).items()
            if name.startswith("whole")
        }


@pytest.mark.usefixtures("folder")
def test_types_are_called_otherwise_or_left_out():
    assert call("convert", "train.conll", "out.jsonl", "--type", "PER=PERSON", "--type", "LOC=").code == 0
    for before, after in zip(io.read("train.conll"), io.read("out.jsonl"), strict=True):
        assert after.words == before.words
        assert after.labels == tuple((start, end, "PERSON") for start, end, type_ in before.labels if type_ == "PER")


@pytest.mark.usefixtures("folder")
class TestSentencesThatAreMissing:
    @pytest.fixture(autouse=True)
    def _some(self, folder: Path):
        io.write(list(io.read("test.conll"))[:6], "some.jsonl")
        io.write(io.read("test.conll"), "test.jsonl")

    def f1(self, *options: str):
        result = call("evaluate", "test.conll", "some.jsonl", "--json", *options)
        assert result.code == 0, result.err
        assert "6 of 12 gold sentences are not in some.jsonl" in result.err
        return json.loads(result.out)["micro"]

    def test_they_are_refused(self):
        assert call("evaluate", "test.conll", "some.jsonl").code == 3

    def test_they_are_left_out(self):
        assert self.f1("--missing", "leave-out")["f1"] == 1

    def test_they_count_as_missed(self):
        micro = self.f1("--missing", "missed")
        assert micro["precision"] == 1
        assert micro["gold"] == sum(len(s.entities) for s in io.read("test.conll"))
        assert micro["recall"] < 1

    def test_another_tagger_may_lack_others(self):
        io.write(list(io.read("test.conll"))[4:9], "other.jsonl")
        options = ("--missing", "leave-out", "--against", "other.jsonl", "--json")
        result = call("evaluate", "test.conll", "some.jsonl", *options)
        assert result.code == 0, result.err
        both = list(io.read("test.conll"))[4:6]
        assert json.loads(result.out)["micro"]["gold"] == sum(len(sentence.entities) for sentence in both)
        assert "7 of 12 gold sentences are not in other.jsonl" in result.err

    def test_what_is_not_in_gold_is_counted(self):
        result = call("evaluate", "some.jsonl", "test.jsonl", "--missing", "leave-out")
        assert "0 of 6 gold sentences are not in test.jsonl, and 6 of its sentences are not in gold" in result.err

    @pytest.mark.parametrize("missing", ["leave-out", "missed"])
    def test_some_must_be_there(self, missing: str):
        result = call("evaluate", "test.conll", "dev.conll", "--missing", missing)
        assert result.code == 3
        assert "dev.conll: none of the gold sentences is left to score" in result.err


@pytest.mark.usefixtures("folder")
def test_types_to_rename_that_nobody_has_are_told():
    result = call("convert", "train.conll", "out.jsonl", "--type", "PRE=PERSON", "--type", "LOC=PLACE")
    assert result.code == 0
    assert "note: no entity has the type PRE that --type names" in result.err
    wrong = call("convert", "train.conll", "out2.jsonl", "--type", "PER=a\tb")
    assert wrong.code == 2
    assert wrong.err.startswith("error: --type PER=a\\tb: ")


@pytest.mark.usefixtures("folder")
def test_dev_without_entities_chooses_no_weights():
    io.write([sentence.with_entities(()) for sentence in io.read("dev.conll")], "none.conll")
    result = call("train", "train.conll", "out", "--dev", "none.conll", "--set", "steps=1")
    assert result.code == 3
    assert "none.conll: no sentence of the dev file has an entity" in result.err
