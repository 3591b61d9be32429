"""The text of `--help`, its examples, and how little it imports."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from nersery import Sentence, io
from nersery.cli.app import GROUPS
from nersery.core.alignments import Alignment, Link
from nersery.experiments.grow import candidates, plan, search
from nersery.experiments.grow.schedules import Schedule
from nersery.io.pharaoh import format_alignment
from nersery.report.model import Report
from nersery.report.rendering import write_report
from nersery.review.server import ReviewServer
from tests.cli.calls import AUGMENT, COMMANDS, FILELESS, call
from tests.pipeline.fakes import Inline
from tests.report.report_fixture import build
from tests.standins import environment, files, sentences, tiny, write_recipe


def examples(name: str) -> list[list[str]]:
    """The commands in the help of a command, up to the first pipe."""
    epilog = str(COMMANDS[name].epilog)
    lines = [line.strip() for line in epilog.split("\n") if line.strip().startswith("nersery ")]
    return [shlex.split(line.split(" | ")[0])[1:] for line in lines]


class TestHelp:
    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_command_has_two_examples_of_itself(self, name: str):
        assert len(examples(name)) >= 2
        assert all(" ".join(example).startswith(f"{name} ") for example in examples(name))
        shown = " ".join(call(*name.split(), "--help").out.split())
        for line in str(COMMANDS[name].epilog).split("\n"):
            assert " ".join(line.split()) in shown

    @pytest.mark.parametrize("example", [e for name in COMMANDS for e in examples(name)], ids=" ".join)
    def test_the_examples_work(
        self,
        example: list[str],
        folder: Path,
        tiny_model: str,
        tiny_masked_lm: str,
        tagger: Path,
        monkeypatch: pytest.MonkeyPatch,
    ):
        monkeypatch.setattr(ReviewServer, "__enter__", lambda server: server.review.ended.set())
        monkeypatch.setattr(ReviewServer, "__exit__", lambda server, *error: server.server_close())
        monkeypatch.setattr("webbrowser.open", bool)
        monkeypatch.setattr("nersery.pipeline.engines.local.LocalEngine", Inline)  # four processes take a second
        prepare(folder, example, tiny_model, tagger)
        if example[0] == "train":
            example = [*example, "--set", "epochs=1", "--set", f"model={tiny_model}"]
        if example[0] == "run":
            quick = (f"tagger.model={tiny_model}", "tagger.steps=1", "evaluate.bootstrap_samples=100")
            example = [*example, *(f"--set={setting}" for setting in quick)]
        if example[:2] == ["run", "demo"]:
            melm, aclm = (f"systems.{name} + agreement" for name in ("melm", "aclm"))
            quick = (f"model={tiny_masked_lm}", "epochs=1", "copies=1")
            small = [f"{system}.{setting}" for system in (melm, aclm) for setting in quick]
            small += [f"{aclm}.candidates=1", "sample.size=16", "sample.dev_size=8"]
            example += [f"--set={setting}" for setting in small]
        if "teacher.model=roberta-large" in example:
            example = [*(part.replace("roberta-large", tiny_model) for part in example), "--set", "teacher.steps=2"]
        if example[1] in ("suggestions", "quality"):
            example = [on_tiny(*pair, tiny_masked_lm) for pair in pairwise(["", *example])]
        if example[0] == "grow":
            io.write([sentence.with_entities(()) for sentence in sentences(8, 300)], folder / "unlabelled.txt")
            Path("places.txt").write_text("Oslo\n")
            monkeypatch.setattr(candidates, "MULTILINGUAL", tiny_model)
            for module in (plan, search):
                monkeypatch.setattr(module, "SCHEDULES", (Schedule(2, 16),))
            monkeypatch.setattr(plan, "MIN_STEPS", 2)
            monkeypatch.setattr(plan, "systems_for", lambda *of, **sizes: candidates.systems_for(*of, **sizes)[:1])
            example += ["--language", "xx"]
            if "--minutes" not in example:  # one whole job is enough
                example += ["--plan"]
        if example[:2] == ["label", "next"]:
            Path("runs/grow").mkdir(parents=True)
            os.symlink(tagger, "runs/grow/tagger", target_is_directory=True)
            Path("runs/grow/grow.json").write_text("{}")
        before = set(files(folder))
        result = call(*example)
        assert result.code == 0, result.err
        assert result.out
        assert set(files(folder)) > before or example[0] in FILELESS or {"--plan", "--check"} & {*example}

    def test_the_list_of_commands_is_short_and_in_order(self):
        result = call("--help")
        assert result.code == 0
        lines = result.out.splitlines()
        assert len(lines) <= 40
        assert max(map(len, lines)) <= 100
        in_groups = [name for names in GROUPS.values() for name in names]
        assert len(in_groups) <= 14
        shown = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
        assert [name for name in shown if name in in_groups] == in_groups
        assert list(dict.fromkeys(name.split()[0] for name in COMMANDS)) == in_groups
        assert not [line for line in lines[1:] if line.endswith("...")]

    def test_convert_names_the_formats_of_its_error_message(self, folder: Path):
        listed = ", ".join(io.writable())
        assert listed in " ".join(call("dataset", "convert", "--help").out.replace("│", "").split())
        assert listed in call("dataset", "convert", "train.conll", "x", "--to", "xyz").err

    def test_repeatable_options_say_so(self):
        options = [option for command in COMMANDS.values() for option in command.params]
        options = [option for option in options if getattr(option, "multiple", False)]
        assert options
        assert not [option.name for option in options if "epeated" not in option.help]

    def test_no_option_name_is_cut_on_a_narrow_terminal(self):
        command = [sys.executable, "-m", "nersery", "augment", "--help"]
        shown = subprocess.check_output(command, text=True, env={**environment(), "COLUMNS": "40"})
        assert "…" not in shown
        for option in COMMANDS["augment"].params:
            assert all(name in shown for name in option.opts if name.startswith("--"))

    @pytest.mark.parametrize(
        ("name", "arguments"),
        [("grow", "TRAIN..."), ("predict", "TAGGER INPUT OUTPUT"), ("train", "INPUT... FOLDER"), ("list", "[WHAT]")],
    )
    def test_the_usage_line_names_the_arguments(self, name: str, arguments: str):
        assert f"Usage: nersery {name} [OPTIONS] {arguments} " in call(name, "--help").out

    @pytest.mark.parametrize("name", COMMANDS)
    def test_the_usage_line_has_arguments_in_capitals_without_braces(self, name: str):
        usage = next(line for line in call(*name.split(), "--help").out.split("\n") if "Usage: " in line)
        arguments = usage.partition("[OPTIONS]")[2]
        assert arguments == arguments.upper()
        assert "{" not in arguments

    @pytest.mark.parametrize("name", [*COMMANDS, *sorted({name.split()[0] for name in COMMANDS if " " in name})])
    def test_the_help_shows_no_types_of_python(self, name: str):
        assert not re.search(r"<(str|int|float|bool|path|list|file)", call(*name.split(), "--help").out)

    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("grow", ("--raw FILE", "--test FILE", "--minutes X", "--model MODEL", "--word-column N")),
            ("augment", ("--method METHOD", "--copies N [x>=1]", "--gold FILE", "--dev FILE", "--set KEY=VALUE")),
            ("predict", ("--backend torch|onnx", "--encoding TEXT")),
        ],
    )
    def test_options_have_a_placeholder_for_their_value(self, name: str, values: tuple[str, ...]):
        shown = " ".join(call(name, "--help").out.replace("--plan", "").split())
        assert [value for value in values if value not in shown] == []

    def test_shows_errors_in_a_terminal_of_unknown_size(self):
        command = [sys.executable, "-m", "nersery", "list", "--unknown"]
        shown = subprocess.run(command, capture_output=True, text=True, env={**environment(), "COLUMNS": "0"}).stderr
        assert "No such option: --unknown" in shown

    @pytest.mark.parametrize(
        ("name", "option"), [("grow", "--out"), ("run", "--out"), ("crosslingual align", "--keep")]
    )
    def test_an_option_for_a_folder_names_one(self, name: str, option: str):
        assert f"{option} FOLDER" in " ".join(call(*name.split(), "--help").out.replace("--plain", "").split())

    def test_predict_names_both_bundled_taggers(self):
        shown = " ".join(call("predict", "--help").out.replace("│", "").split())
        assert "`bundled-ner`, `bundled-multilingual-ner`" in shown

    def test_shows_help_without_a_command(self):
        assert "Usage" in call().out + call().err


def on_tiny(option: str, value: str, model: str) -> str:
    """Return the value of an option of `suggest`, with a tiny model in place of any other."""
    if option == "--method":
        return f"{value} model={model}" + (" epochs=1" if value.startswith("melm") else "")
    return model if option == "--model" else value


def prepare(folder: Path, example: list[str], tiny_model: str, tagger: Path) -> None:
    """Write the files that an example reads."""
    if example[0] == "copy":
        for path in folder.iterdir():
            path.unlink()
        return
    write_recipe(folder, tiny(tiny_model), "my-recipe.toml")
    io.write(sentences(120), folder / "train.conll")
    Path("my.conll").write_bytes(Path("train.conll").read_bytes())
    if example[1] == "convert":
        Path("train.conll").unlink()
    Path("train.iob1").write_text("Ada\tI-PER\nwrote\tO\n\n")
    Path("broken.conll").write_text("Ada\t-PER\nLovelace\t-PER\nwrote\t-\nto\tO\nBo\tB-PER\n")
    Path("words.tsv").write_text("lives\tdwells\n")
    Path("raw.txt").write_text("Ada lives in Oslo .\n")
    if example[0] != "train":
        os.symlink(tagger, "my-tagger", target_is_directory=True)
    test = list(io.read("test.conll"))
    for name in ("predicted", "better", *(["labelled"] if example[0] == "grow" else [])):
        io.write(test, f"{name}.jsonl")
    io.write([sentence.with_entities(()) for sentence in test], "baseline.jsonl")
    for name in ("anna", "bela"):
        io.write(test, f"{name}.conll")
    Path("about.toml").write_text('license = "cc0-1.0"\n[[sources]]\nname = "here"\n')
    if {"select", "novelty", "quality", "review"} & set(example[:2]):
        assert call("augment", "train.conll", "more.jsonl", *AUGMENT).code == 0
    if example[0] == "crosslingual":
        for name in ("text.en", "text.de"):
            io.write([sentence.with_entities(()) for sentence in sentences(120)], name, format="text")
    if example[1] in ("project", "alignments"):
        first = 1 if "--gold-first" in example else 0
        for name, number in (("en-de", 0), ("gold", first)):
            lines = (format_alignment(identity(sentence), first=number) for sentence in sentences(120))
            Path(f"{name}.align").write_text("".join(f"{line}\n" for line in lines))
    if example[1] == "results":
        for name in ("demo", "mine"):
            Path("runs", name).mkdir(parents=True)
            write_report(Report.model_validate(build()), Path("runs", name))
    if example[1] == "quality":
        Path("kept.jsonl").write_bytes(Path("more.jsonl").read_bytes())


def identity(sentence: Sentence) -> Alignment:
    """Link each word with the one at the same position."""
    return tuple(Link(place, place) for place in range(len(sentence)))


LIGHT = [
    ["--help"],
    ["inspect", "stats", "train.conll"],
    ["dataset", "convert", "train.conll", "converted.jsonl"],
    ["dataset", "sample", "train.conll", "sampled.jsonl", "--size", "3", "--protocol", "random"],
    ["copy", "demo", "copied.toml"],
    ["list"],
    ["run", "nowhere"],
    ["augment", "train.conll", "augmented.jsonl", *AUGMENT],
    ["inspect", "novelty", "train.conll", "--gold", "dev.conll"],
    ["inspect", "quality", "train.conll", "--gold", "dev.conll", "--no-perplexity"],
    ["inspect", "templates", "train.conll", "--keywords", "none"],
    ["inspect", "suggestions", "train.conll", "--method", "mention_replacement"],
]
"""Commands that need no heavy library."""


class TestQuickness:
    def test_nothing_heavy_is_imported(self, folder: Path):
        """All commands run in one process, one after the other."""
        code = (
            "import contextlib, json, sys\n"
            "from nersery.cli.main import main\n"
            "heavy, found = {'torch', 'transformers', 'pydantic', 'numpy', 'rapidfuzz', 'jinja2'}, []\n"
            f"for args in {LIGHT!r}:\n"
            "    sys.argv = ['nersery', *args]\n"
            "    with contextlib.suppress(SystemExit):\n"
            "        main()\n"
            "    found.append([*heavy.intersection(sys.modules)])\n"
            "print(json.dumps(found), file=sys.stderr)\n"
        )
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
        found = dict(zip(map(" ".join, LIGHT), json.loads(done.stderr.splitlines()[-1]), strict=True))
        assert found.pop("--help") == []
        # typer reads the values of options with pydantic
        assert not {name: heavy for name, heavy in found.items() if heavy not in ([], ["pydantic"])}

    def test_commands_that_need_no_torch_work_without_it(self, folder: Path):
        code = (
            "import sys; sys.modules['torch'] = sys.modules['transformers'] = None\n"
            "sys.argv = ['nersery', 'augment', 'train.conll', 'out.jsonl', '--method', 'mention_replacement']\n"
            "from nersery.cli.main import main\n"
            "main()\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True, env=environment())
        assert len(io.read("out.jsonl")) > 0
