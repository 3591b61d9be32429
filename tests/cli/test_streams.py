"""What goes to standard output and what to standard error, and pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nersery import Entity, Sentence, io
from nersery.cli.running import _print_summary
from nersery.report.model import Report, SystemReport
from nersery.report.parts import AgainstGold, Measure
from nersery.report.verdict import verdict
from tests.cli.calls import AUGMENT, call, nersery
from tests.forks import UNREAD, Server
from tests.standins import environment, register, write_recipe


@pytest.mark.usefixtures("folder")
class TestStreams:
    def test_results_go_to_stdout_and_the_rest_to_stderr(self):
        result = call("augment", "train.conll", "out.jsonl", *AUGMENT)
        count = len(io.read("out.jsonl"))
        assert result.out.startswith(f"out.jsonl: read 24, wrote {count}, rejected {24 - count} (")
        assert result.out.count("\n") == 1
        assert result.err.startswith("train.conll: conll, IOB2")
        assert "mention_replacement: 24" in result.err

    @pytest.mark.parametrize(
        "args",
        [
            ["dataset", "convert", "train.conll", "out.jsonl"],
            ["augment", "train.conll", "out.jsonl", *AUGMENT],
            ["dataset", "sample", "train.conll", "out.jsonl", "--size", "3"],
            ["select", "dev.conll", "out.jsonl", "--method", "duplicates", "--gold", "train.conll"],
        ],
        ids=lambda args: args[0],
    )
    def test_quiet_prints_only_results(self, args: list[str]):
        result = call(*args, "--quiet")
        assert result.err == ""
        assert result.out.startswith("out.jsonl: ")

    def test_repairs_are_reported_unless_quiet(self):
        Path("broken.conll").write_text("Ada\tB_PER\nran\tO\nBo\tB-PER\n")
        for number, options in enumerate(([], ["--quiet"])):
            result = call("augment", "broken.conll", f"{number}.jsonl", *AUGMENT, "--repair", "underscore", *options)
            assert result.code == 0
            assert ("broken.conll was repaired as requested: underscore 1" in result.err) == (number == 0)

    @pytest.mark.parametrize(
        "args",
        [
            ["inspect", "stats", "train.conll", "dev.conll", "--json"],
            ["list", "--json"],
            ["list", "mention_replacement", "--json"],
            ["evaluate", "test.conll", "test.conll", "--json"],
            ["evaluate", "test.conll", "test.conll", "--against", "test.conll", "--samples", "100", "--json"],
            ["inspect", "novelty", "test.conll", "--gold", "train.conll", "--json"],
            ["inspect", "quality", "test.conll", "--gold", "train.conll", "--no-perplexity", "--json"],
            ["run", "demo", "--check", "--json", "--set", "tagger.model=TINY"],
        ],
        ids=" ".join,
    )
    def test_json_output_can_be_parsed(self, args: list[str], tiny_model: str):
        assert json.loads(call(*(arg.replace("TINY", tiny_model) for arg in args)).out)

    def test_train_prints_its_result_as_json(self, memory: object):
        result = call("train", "train.conll", "t", "--method", "memory", "--json")
        assert json.loads(result.out) == {"folder": "t", "sentences": 24, "steps": 1, "best_step": None, "dev_f1": None}

    @pytest.mark.parametrize(
        "args",
        [
            ["inspect", "stats", "EXAMPLE"],
            ["dataset", "convert", "EXAMPLE", "x.jsonl"],
            ["dataset", "sample", "EXAMPLE", "x.jsonl", "--size", "3"],
            ["augment", "EXAMPLE", "x.jsonl", *AUGMENT, "--gold", "EXAMPLE"],
            ["select", "EXAMPLE", "x.jsonl", "--method", "duplicates", "--gold", "EXAMPLE", "--held-out", "EXAMPLE"],
            ["evaluate", "EXAMPLE", "EXAMPLE", "--against", "EXAMPLE", "--samples", "100"],
            ["inspect", "novelty", "EXAMPLE", "--gold", "EXAMPLE"],
            ["inspect", "quality", "EXAMPLE", "--gold", "EXAMPLE", "--no-perplexity"],
            ["train", "EXAMPLE", "t", "--method", "memory", "--dev", "EXAMPLE"],
        ],
        ids=lambda args: args[0],
    )
    def test_examples_can_be_named_as_list_prints_them(self, args: list[str], memory: object):
        (name, *_) = json.loads(call("list", "examples", "--json").out)["examples"]
        result = call(*[arg.replace("EXAMPLE", name.replace(".", "x.")) for arg in args])
        assert result.code == 2
        assert f'did you mean "{name}"' in result.err
        assert call(*[arg.replace("EXAMPLE", name) for arg in args]).code == 0

    def test_a_list_of_everything_leaves_out_the_types(self):
        out = call("list").out
        assert "byte-order-mark" in out
        assert "types mean: nersery list types\nexamples" in out
        assert "Cell_Line" not in out
        assert "Cell_Line" in call("list", "types").out

    def test_a_broken_package_hides_no_other_method(self, monkeypatch: pytest.MonkeyPatch):
        register(monkeypatch, "augment", "broken", "no_such_module:Broken")
        listed = json.loads(call("list", "augment", "--json").out)["augment"]
        assert "cannot be loaded: No module named 'no_such_module'" in listed.pop("broken")
        assert "melm" in listed

    def test_json_has_the_figures_of_the_corpus(self):
        (counted,) = json.loads(call("inspect", "stats", "test.conll", "--json").out)
        gold = io.read("test.conll")
        assert counted["sentences"] == len(gold)
        assert counted["words"] == sum(map(len, gold))
        assert sum(counted["types"].values()) == counted["entities"] == sum(len(s.entities) for s in gold)
        scores = json.loads(call("evaluate", "test.conll", "test.conll", "--json").out)
        assert scores["micro"]["f1"] == 1.0

    def test_run_prints_its_report_as_json(self, memory: object):
        write_recipe(Path())
        result = call("run", "recipe.toml", "--json", "--quiet")
        assert json.loads(result.out) == json.loads(Path("runs/small/report.json").read_text("utf-8"))
        assert result.err == ""

    def test_run_prints_its_systems_and_headline(self, memory: object):
        write_recipe(Path())
        *systems, report = call("run", "recipe.toml", "--out", "run").out.splitlines()
        assert [line.split()[0] for line in systems[:3]] == ["gold", "both", "one"]
        assert "against gold only" in systems[1]
        assert report == "report: run/report.html"
        headline = verdict(Report.model_validate_json(Path("run/report.json").read_text("utf-8")))
        assert systems[3:] == [headline.sentence, *headline.details]

    def test_the_summary_is_no_more_certain_than_the_report(self, capsys: pytest.CaptureFixture[str]):
        tests = {"gold": None, "a": (0.04, 0.03), "b": (0.01, 0.5), "untested": (0.0, None)}
        systems = [
            SystemReport(
                name=name,
                f1=Measure(mean=0.5),
                against_gold=test and AgainstGold(difference=test[0], low=-0.01, high=0.1, p=test[1]),
            )
            for name, test in tests.items()
        ]
        _print_summary(Report(systems=systems, seeds=[0, 1]), Path("run"))
        _, first, second, untested, sentence, holm, *_ = capsys.readouterr().out.splitlines()
        assert first.endswith("(95 % −1.0 to 10.0, corrected p = 0.06)")
        assert second.endswith("corrected p = 0.5)")
        assert untested.endswith("(95 % −1.0 to 10.0)")
        assert "which may be chance" in sentence
        assert holm == "Corrected for 2 comparisons (Holm): p = 0.06, so the difference may be chance."

    def test_reads_standard_input(self):
        content = Path("train.conll").read_bytes()
        assert "24 sentences" in call("inspect", "stats", "-", stdin=content).out
        assert call("dataset", "convert", "-", "out.jsonl", stdin=content).code == 0
        assert [s.labels for s in io.read("out.jsonl")] == [s.labels for s in io.read("train.conll")]
        assert call("augment", "-", "more.jsonl", *AUGMENT, stdin=content).code == 0
        assert "<stdin>:2" in call("inspect", "stats", "-", stdin=b"Ada\tB-PER\nBo\tI-LOC\n").err

    @pytest.mark.parametrize(
        "command",
        [
            ("inspect", "stats", "-", "-"),
            ("inspect", "agreement", "-", "-"),
            ("crosslingual", "align", "-", "-", "x.align"),
        ],
    )
    def test_refuses_standard_input_named_twice(self, command: tuple[str, ...]):
        result = call(*command, stdin=Path("train.conll").read_bytes())
        assert (result.code, result.out) == (2, "")
        assert "standard input (-) is named twice" in result.err

    @pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="the system has no name for standard input")
    def test_refuses_standard_input_named_twice_by_its_file(self):
        script = 'cat train.conll | "$0" -m nersery evaluate /dev/stdin "$1"'
        for other in ("/dev/stdin", "-"):
            command = ["bash", "-c", script, sys.executable, other]
            result = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
            assert (result.returncode, "standard input (-) is named twice" in result.stderr) == (2, True)

    def test_closed_streams_raise_no_error(self):
        command = ["bash", "-c", 'exec "$0" -m nersery inspect stats - <&- >&-', sys.executable]
        assert subprocess.run(command, env=environment(), check=False).returncode == 0

    def test_processes_that_a_command_starts_have_streams_in_place_of_closed_ones(self):
        script = (
            "import subprocess, sys, nersery.cli.main as main\n"
            "child = [sys.executable, '-c', 'import sys; sys.stderr.write(str(1))']\n"
            "main.with_commands = lambda: lambda: subprocess.run(child, check=True)\n"
            "main._run()"
        )
        command = ["bash", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, script]
        assert subprocess.run(command, env=environment(), check=False).returncode == 0

    def test_no_p_value_reads_zero(self):
        Path("gold.conll").write_text("w\tB-X\n\n" * 60)
        Path("none.conll").write_text("w\tO\n\n" * 60)
        files = ["gold.conll", "gold.conll", "--against", "none.conll"]
        assert "p < 0.001" in call("evaluate", *files, "--samples", "30000").out

    @pytest.mark.parametrize("target", ["devices/stdout", "pipe"])
    def test_a_device_is_not_replaced_by_a_file(self, target: str, monkeypatch: pytest.MonkeyPatch):
        """A folder replaces /dev, which a failing test would damage."""
        os.mkfifo("pipe")
        Path("devices").mkdir()
        Path("devices/stdout").write_bytes(b"")
        monkeypatch.setattr("nersery.core.system.files.DEVICES", Path("devices").absolute())
        result = call("dataset", "convert", "train.conll", target, "--to", "jsonl", "--force")
        assert (result.code, result.out) == (2, "")
        assert f"{target} is a device or a pipe" in result.err

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("s3://bucket/x.jsonl", "s3://bucket/x.jsonl is an address, but results go into a file: choose a file"),
            ("file:///tmp/x.jsonl", "file:///tmp/x.jsonl is an address, but results go into a file: leave out file://"),
            ("~root/x.jsonl", "~root/x.jsonl would be a folder in the current one: ~root does not stand for a home"),
            ("~/x.jsonl", "~/x.jsonl would be a folder in the current one: ~ does not stand for a home folder here"),
        ],
    )
    def test_refuses_an_address_or_a_tilde_as_output(self, target: str, message: str):
        before = sorted(Path().iterdir())
        for command in (("dataset", "convert"), ("augment", *AUGMENT), ("train",), ("dataset", "publish")):
            result = call(*command, "train.conll", target)
            assert (result.code, result.out) == (2, "")
            assert message in result.err
        for command in (("run", "demo"), ("grow", "train.conll", "--raw", "test.conll")):
            result = call(*command, f"--out={target}")
            assert (result.code, message in result.err) == (2, True)
        assert sorted(Path().iterdir()) == before

    def test_refuses_a_recipe_from_a_pipe(self):
        os.mkfifo("recipe")
        for name in ("recipe", "-"):
            result = call("run", name, "--check")
            assert (result.code, result.out) == (2, "")
            assert f"{name} is not a regular file: save it as one" in result.err

    def test_a_file_in_the_current_folder_replaces_no_module(self):
        for name in ("random", "json", "signal", "typer"):
            Path(f"{name}.py").write_text("raise SystemExit")
        assert " sentences" in nersery("inspect", "stats", "train.conll").stdout

    def test_version_is_printed(self):
        assert call("--version").out.startswith("nersery ")


class TestPipes:
    """Tests that need real processes."""

    def test_ends_quietly_if_nobody_reads_the_results(self, folder: Path):
        many = [Sentence((f"w{n}",), (Entity(0, 1, f"TYPE{n}"),)) for n in range(5_000)]
        io.write(many, "many.jsonl")
        process = subprocess.Popen(
            [sys.executable, "-m", "nersery", "inspect", "stats", "many.jsonl"],
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

    @pytest.mark.parametrize("args", [("--help",), ("list", "--help")], ids=" ".join)
    def test_ends_quietly_if_nobody_reads_the_help(self, args: tuple[str, ...], server: Server):
        process = server.start(*args, cwd=Path(), output=UNREAD)
        assert (process.wait(), process.err) == (141, "")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
    @pytest.mark.parametrize(
        "args",
        [("list", "repairs"), ("--help",), ("--version",), pytest.param(("list", "--help"), marks=pytest.mark.torture)],
        ids=" ".join,
    )
    @pytest.mark.parametrize("unbuffered", ["", "1"])
    def test_reports_a_full_disk_on_standard_output(self, args: tuple[str, ...], unbuffered: str):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "nersery", *args],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                env=environment() | {"PYTHONUNBUFFERED": unbuffered},
                check=False,
            )
        assert done.returncode == 5
        assert done.stderr.startswith("error: cannot read or write standard output: No space left on device. ")
        assert done.stderr.count("\n") == 1

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
    @pytest.mark.parametrize(("args", "code"), [("dataset convert nothing.conll x.jsonl", 3), ("", 2)])
    def test_a_message_that_cannot_be_printed_changes_no_exit_code(self, args: str, code: int):
        command = ["bash", "-c", f'exec "$0" -m nersery {args} 2> /dev/full', sys.executable]
        assert subprocess.run(command, env=environment(), check=False).returncode == code

    def test_refuses_a_removed_current_folder(self, tmp_path: Path):
        script = 'cd "$1" && rmdir "$1" && exec "$0" -m nersery run demo --check'
        command = ["bash", "-c", script, sys.executable, str(tmp_path / "gone")]
        (tmp_path / "gone").mkdir()
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
        expected = "error: the current folder was removed. Change to another one (cd)\n"
        assert (done.returncode, done.stderr) == (2, expected)

    def test_escapes_characters_that_a_terminal_cannot_encode(self, folder: Path):
        io.write([Sentence(("नमस्ते",), (Entity(0, 1, "जगह"),))], "हिन्दी.jsonl")
        done = nersery("inspect", "stats", "हिन्दी.jsonl", env={"PYTHONIOENCODING": "ascii"})
        assert done.returncode == 0
        assert r"\u091c\u0917\u0939" in done.stdout

    def test_json_is_readable_if_the_terminal_is_not_utf_8(self, folder: Path):
        io.write([Sentence(("É",), (Entity(0, 1, "PÉR"),))], "e.jsonl")
        done = nersery("inspect", "stats", "e.jsonl", "--json", env={"PYTHONIOENCODING": "ascii"})
        assert "PÉR" in str(json.loads(done.stdout))

    def test_name_that_the_locale_cannot_encode(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        """As in a recipe that names trän.conll, with LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0."""
        monkeypatch.setattr("sys.getfilesystemencoding", lambda: "ascii")
        monkeypatch.setattr("nersery.io.open_corpus", lambda *_: "trän.conll".encode("ascii"))
        result = call("inspect", "stats", "train.conll")
        expected = "error: 'trän.conll' has a character that names of files cannot have here (ascii). Set the"
        assert (result.code, result.err) == (2, f"{expected} environment variable PYTHONUTF8=1\n")

    def test_file_names_that_are_not_utf_8_raise_no_bug(self, folder: Path):
        name = os.fsdecode(b"caf\xe9.conll")
        Path(name).write_bytes(Path("train.conll").read_bytes())
        done = nersery("dataset", "convert", name, os.fsdecode(b"\xe9.jsonl"))
        assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
        done = nersery("train", name, os.fsdecode(b"\xe9"))
        expected = "error: the folder name '\\udce9' is not UTF-8. Choose another one\n"
        assert (done.returncode, done.stderr) == (2, expected)
