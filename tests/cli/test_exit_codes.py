"""How a command ends: exit codes, a full disk, a damaged tagger."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

import nersery
from nersery import io
from nersery.cli import app
from nersery.cli.app import Terminated, interrupt, stopped
from nersery.core.errors import MissingResourceError
from nersery.pipeline.job import FileJob
from nersery.taggers.base import load_tagger
from tests.cli.calls import AUGMENT, call
from tests.cli.calls import nersery as nersery_command
from tests.forks import Server
from tests.standins import files, sentences


@pytest.mark.usefixtures("folder")
class TestExitCodes:
    @pytest.mark.parametrize(
        ("code", "args", "message"),
        [
            (0, ["inspect", "stats", "train.conll"], ""),
            (2, ["bogus"], "No such command"),
            (2, ["evalute"], "Did you mean 'evaluate'?"),
            (2, ["convert", "train.conll", "x.jsonl"], "Did you mean 'nersery dataset convert'?"),
            (2, ["inspect", "train.conll"], "No such command 'train.conll'; known: agreement, "),
            (2, ["inspect", "stats"], "Missing argument"),
            (2, ["inspect", "stats", "x" * 300], 'x …" is too long for the name of a file. Name a file'),
            (2, ["augment", "train.conll", "out.jsonl"], "--method is missing, expected one of "),
            (2, ["augment", "melm", "train.conll", "out.jsonl"], 'is missing before "melm": write --method melm'),
            (2, ["augment", "train.conll", "out.jsonl", "--method", "mention_replacment"], "did you mean"),
            (2, ["augment", "train.conll", "out.jsonl", *AUGMENT, "--set", "rate=1.5"], "rate is 1.5"),
            (2, ["augment", "train.conll", "out.jsonl", *AUGMENT, "--set", "rate"], "expected key=value"),
            (2, ["augment", "train.conll", "out.jsonl", *AUGMENT, "--set", "rate", "0.5"], "write --set rate=0.5"),
            (2, ["train", "--set", "rate", "=", "0.5", "train.conll", "new"], "write --set rate=0.5"),
            (2, ["augment", "train.conll", "--set", "rate", "out.jsonl", *AUGMENT], "write --set rate=VALUE"),
            (2, ["augment", "--set", "rate", "train.conll", "out.jsonl", *AUGMENT], "expected key=value"),
            (2, ["grow", "train.conll", "--define", "ALLOY", "metal alloy"], "write --define 'ALLOY=metal alloy'"),
            (2, ["augment", "train.conll", "out.jsonl", *AUGMENT, "--set", "rat=1"], 'did you mean "rate"'),
            (2, ["augment", "train.conll", "out.jsonl", *AUGMENT, "--seed", str(2**32)], "--seed"),
            (2, ["augment", "train.conll", "out.jsonl", *AUGMENT, "--copies", "0"], "--copies"),
            (
                2,
                ["augment", "train.conll", "out.jsonl", *AUGMENT, *AUGMENT],
                "--method is given 2 times, expected once",
            ),
            (2, ["grow", "train.conll", "--raw", "a.txt", "--raw", "b.txt"], "--raw is given 2 times"),
            (2, ["run", "demo", "--out", "a", "--out", "b", "--out", "c"], "--out is given 3 times"),
            (2, ["augment", "train.conll", "out.xml", *AUGMENT], 'the extension ".xml" names no format'),
            (2, ["dataset", "convert", "train.conll", "-"], "not written to standard output"),
            (2, ["dataset", "convert", "train.conll", "-", "--to", "jsonl"], "not written to standard output"),
            (2, ["copy", "demo", "-"], "not written to standard output"),
            (2, ["crosslingual", "align", "train.conll", "train.conll", "-"], "not written to standard output"),
            (2, ["train", "train.conll", "-"], "not written to standard output"),
            (2, ["inspect", "stats", ""], "the name of an input is empty"),
            (2, ["grow", "train.conll", "--raw", "", "--plan"], "the name of an input is empty"),
            (2, ["inspect", "suggestions", "train.conll", "--gold", ""], "the name of an input is empty"),
            (2, ["inspect", "results", "runs", "--as", "csv", "--json"], "--json and --as name two formats"),
            (2, ["dataset", "publish", "train.conll", "d", "--private"], "--private needs --push"),
            (2, ["label", "review", "train.conll", "x.jsonl", "--open", "--no-page"], "contradict each other"),
            (
                2,
                ["crosslingual", "project", *["train.conll"] * 2, "x.jsonl", "--alignments", "a", "--picture-of", "1"],
                "--picture-of needs --picture",
            ),
            (2, ["dataset", "convert", "train.conll", "x.conll", "--scheme", "BOI"], "BOI"),
            (2, ["dataset", "convert", "train.conll", "x.jsonl", "--scheme", "BIOES"], "--scheme is for CoNLL output"),
            (2, ["dataset", "convert", "train.conll", "x.conll", "--type", "PER"], "expected OLD=NEW"),
            (
                2,
                ["dataset", "convert", "train.conll", "x.conll", "--type", "PER=A", "--type", "PER=B"],
                "names the type PER twice",
            ),
            (2, ["dataset", "convert", "train.conll", "x.conll", "--separator", "comma"], "known: tab, space"),
            (2, ["dataset", "convert", "train.conll", "x.conll", "--to", "xml"], 'no output format "xml"'),
            (2, ["inspect", "stats", "train.conll", "--encoding", "klingon"], 'no encoding "klingon"'),
            (2, ["inspect", "stats", "train.conll", "--repair", "lost-prefixes"], 'did you mean "lost-prefix"'),
            (2, ["inspect", "stats", "train.conll", "--scheme", "BIOES"], "--scheme-in"),
            (2, ["dataset", "sample", "train.conll", "x.jsonl", "--size", "25"], "cannot sample 25 of 24"),
            (
                2,
                ["dataset", "sample", "train.conll", "x.jsonl", "--size", "1", "--protocol", "al"],
                "known: random, stratified",
            ),
            (2, ["list", "mention_replacment"], 'did you mean "mention_replacement"'),
            (2, ["copy", "dmeo", "x.toml"], 'did you mean "demo"'),
            (2, ["copy", "example:trian.conll", "x.conll"], 'did you mean "example:train.conll"'),
            (2, ["train", "train.conll"], "name at least one corpus and, last, the folder"),
            (2, ["train", "train.conll", "t", "--preset", "mlem"], 'did you mean "melm"'),
            (2, ["run", "dmeo"], 'did you mean "demo"'),
            (2, ["run", "demo", "--set", "tagger.stepz=3"], 'did you mean "steps"'),
            (3, ["inspect", "stats", "train.con"], "did you mean train.conll?"),
            (3, ["evaluate", "test.conll", "dev.conll"], "no id is in both the 12 gold and the 6 predicted ids"),
            (3, ["run", "demo", "--check", "--set", "data.dev=nothing.conll"], "there is no such file"),
            (4, ["predict", "./nothing", "train.conll", "x.jsonl"], "there is no folder ./nothing: expected"),
            (4, ["predict", "no/such/tagger", "train.conll", "x.jsonl"], "there is no folder no/such/tagger: expected"),
            (4, ["predict", "train.conll", "train.conll", "x.jsonl"], "train.conll is not a tagger"),
            (4, ["train", "train.conll", "t", "--set", "model=./nothing"], "there is no model folder ./nothing"),
            (4, ["train", "train.conll", "t", "--set", "model=~/nothing"], "~ does not stand for a home folder"),
            (4, ["predict", "~/nothing", "train.conll", "x.jsonl"], "~ does not stand for a home folder"),
            (
                4,
                ["augment", "train.conll", "x.jsonl", "--method", "synonym_replacement", "--set", "wordnet=/none"],
                "WordNet is not in /none",
            ),
            (
                5,
                ["dataset", "convert", "train.conll", "dev.conll/x.jsonl"],
                "cannot read or write dev.conll/x.jsonl.part",
            ),
            (5, ["augment", "train.conll", "dev.conll/x.jsonl", *AUGMENT], "cannot read or write dev.conll"),
            (
                5,
                ["dataset", "sample", "train.conll", "dev.conll/x.jsonl", "--size", "3"],
                "cannot read or write dev.conll",
            ),
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

    def test_an_interrupted_command_exits_with_130(self, monkeypatch: pytest.MonkeyPatch):
        def interrupt(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(FileJob, "run", interrupt)
        result = call("dataset", "convert", "train.conll", "x.jsonl")
        assert result.code == 130
        assert result.err.splitlines()[-1].startswith("error: interrupted. Finished work is saved")

    @pytest.mark.parametrize(
        "command",
        ["inspect quality", "label next", "dataset sample", "dataset publish", "grow x --plan", "run demo --check"],
    )
    def test_an_interrupted_command_that_saves_nothing_promises_nothing(
        self, command: str, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(sys, "argv", ["nersery", *command.split()])
        assert stopped(KeyboardInterrupt()) == ("interrupted.", 130)
        assert stopped(Terminated(signal.SIGTERM)) == ("terminated.", 143)

    @pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
    @pytest.mark.parametrize("is_ignored", [False, True])
    def test_an_interruption_during_the_imports_prints_no_traceback(self, *, is_ignored: bool):
        """The shell reports it as 130. A process that ignores Ctrl-C, as in the background of a script, goes on."""
        Path("typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nraise SystemExit\n")
        before = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_ignored else signal.getsignal(signal.SIGINT)
        try:
            done = nersery_command(env={"PYTHONPATH": os.pathsep.join([".", *sys.path])})
        finally:
            signal.signal(signal.SIGINT, before)
        assert (done.returncode, done.stderr) == (0 if is_ignored else -signal.SIGINT, "")

    def test_exits_with_130_if_interrupted_while_deleting_a_folder(self, monkeypatch: pytest.MonkeyPatch):
        close, opened = os.close, os.open
        folders = set[int]()

        def interrupted_in_close(number: int) -> None:
            close(number)  # the second time, it is already closed
            if number in folders:
                folders.remove(number)
                interrupt(signal.SIGINT, None)

        def open_folder(*args: Any, **options: Any) -> int:
            folders.add(number := opened(*args, **options))
            return number

        def delete(*_: object, **__: object) -> None:
            monkeypatch.setattr(os, "close", interrupted_in_close)
            monkeypatch.setattr(os, "open", open_folder)
            shutil.rmtree("old", ignore_errors=True)

        Path("old").mkdir()
        monkeypatch.setattr(app, "INTERRUPTIONS", [])
        monkeypatch.setattr(FileJob, "run", delete)
        result = call("dataset", "convert", "train.conll", "x.jsonl")
        assert result.code == 130, result.err
        assert result.err.splitlines()[-1].startswith("error: interrupted. Finished work is saved")

    @pytest.mark.parametrize(
        ("number", "code", "what"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
    )
    @pytest.mark.parametrize("disguise", [ValueError, MissingResourceError, OSError])
    def test_reports_an_interruption_that_a_library_turns_into_another_error(
        self, disguise: type[Exception], number: int, code: int, what: str, monkeypatch: pytest.MonkeyPatch
    ):
        def damaged(*_: object, **__: object) -> None:
            with suppress(KeyboardInterrupt):
                interrupt(number, None)
            raise disguise("a tensor is damaged")

        monkeypatch.setattr(app, "INTERRUPTIONS", [])
        monkeypatch.setattr(FileJob, "run", damaged)
        result = call("dataset", "convert", "train.conll", "x.jsonl")
        assert result.code == code, result.err
        assert result.err.splitlines()[-1].startswith(f"error: {what}. Finished work is saved")

    @pytest.mark.parametrize(
        "error",
        [
            MemoryError(),
            OSError(errno.ENOMEM, "Cannot allocate memory", "tagger"),
            ImportError("libtorch_cpu.so: failed to map segment from shared object"),
            RuntimeError("unable to mmap 9 bytes from file <model.safetensors>: Cannot allocate memory (12)"),
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes. Error code 12"),
            RuntimeError("could not create a primitive"),  # of oneDNN
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nSee the documentation"),
        ],
    )
    def test_lack_of_memory_is_reported(self, error: Exception, monkeypatch: pytest.MonkeyPatch):
        def fail(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(FileJob, "run", fail)
        result = call("dataset", "convert", "train.conll", "x.jsonl", "-q")
        assert (result.code, result.out) == (1, "")
        assert result.err.startswith("error: not enough memory (")
        assert result.err.endswith("with a smaller batch size or model, and another output\n")

    def test_limit_of_threads_is_reported(self, monkeypatch: pytest.MonkeyPatch):
        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(FileJob, "run", fail)
        result = call("dataset", "convert", "train.conll", "x.jsonl", "-q")
        assert (result.code, result.out) == (1, "")
        assert result.err.startswith("error: no more threads can be started. Allow more (ulimit -u)")

    @pytest.mark.parametrize("loaded", [load_tagger, lambda folder: nersery.train("train.conll", model=str(folder))])
    def test_lack_of_memory_is_not_called_damage(
        self, loaded: Callable[[Path], object], tiny_model: Path, monkeypatch: pytest.MonkeyPatch
    ):
        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

        nersery.train("train.conll", output="memory", model=str(tiny_model), steps=1, quiet=True)
        monkeypatch.setattr("transformers.PreTrainedModel.from_pretrained", fail)
        with pytest.raises(RuntimeError, match="can't allocate"):
            loaded(Path("memory"))

    def test_reports_a_library_that_calls_sys_exit(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(FileJob, "run", lambda *_, **__: sys.exit(0))
        result = call("dataset", "convert", "train.conll", "x.jsonl", "-q")
        assert (result.code, result.out) == (1, "")
        assert result.err.startswith("error: a method or a library called sys.exit(0) instead of raising an error.")

    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.EIO])
    def test_disk_errors_are_named_and_leave_no_file(self, number: int, monkeypatch: pytest.MonkeyPatch):
        def fail(*_: object) -> None:
            raise OSError(number, os.strerror(number), "x.jsonl")

        monkeypatch.setattr(os, "replace", fail)
        result = call("dataset", "sample", "train.conll", "x.jsonl", "--size", "3")
        assert result.code == 5
        assert f"cannot read or write x.jsonl: {os.strerror(number)}" in result.err
        assert files(Path()).keys() == {"train.conll", "dev.conll", "test.conll"}

    def test_refuses_a_folder_without_write_permission(self):
        Path("locked").mkdir(mode=0o555)
        folder = "locked" if os.geteuid() else "/sys/fs"  # root may write everywhere else
        for command, options in (("dataset convert", ()), ("dataset sample", ("--size", "3")), ("augment", AUGMENT)):
            result = call(*command.split(), "train.conll", f"{folder}/x.jsonl", *options)
            assert result.code == 5
            assert "Allow access to it, or choose another place" in result.err


class TestDamagedTagger:
    @pytest.mark.parametrize(
        "name", ["model.safetensors", "crf.safetensors", "nersery.json", "config.json", "tokenizer.json"]
    )
    def test_a_damaged_or_missing_file_is_reported(self, folder: Path, tagger: Path, name: str):
        for content in (None, b"{"):
            shutil.rmtree("damaged", ignore_errors=True)
            shutil.copytree(tagger, "damaged")
            Path("damaged", name).unlink() if content is None else Path("damaged", name).write_bytes(content)
            result = call("predict", "damaged", "test.conll", "x.jsonl", "-q")
            assert (result.code, result.out) == (4, "")
            assert "damaged" in result.err


class TestFullDisk:
    @pytest.mark.parametrize(
        "args",
        [
            ["dataset", "convert", "big.conll", "x.jsonl", "-q"],
            ["augment", "big.conll", "x.jsonl", "-q", *AUGMENT],
            ["dataset", "sample", "big.conll", "x.jsonl", "-q", "--size", "300", "--protocol", "random"],
            ["train", "train.conll", "x", "-q", "--method", "memory"],
        ],
        ids=lambda args: args[0],
    )
    def test_reports_a_limit_of_file_sizes_and_resumes(self, folder: Path, server: Server, args: list[str]):
        io.write(sentences(400), "big.conll")
        expected_args = ["whole" + Path(arg).suffix if arg in ("x.jsonl", "x") else arg for arg in args]
        assert server.run(*expected_args, cwd=folder)[0] == 0
        code, out, err = server.run(*args, cwd=folder, largest_file=200)
        assert (code, out) == (5, "")
        message, _, advice = err.partition(". ")
        target = "x" if args[0] == "train" else "x.jsonl"
        assert message.startswith(f"error: cannot read or write {target}")
        assert message.endswith(": File too large")
        assert advice == "Allow larger files (ulimit -f) and repeat the command: a long job resumes\n"
        assert not Path(target).exists()
        assert server.run(*args, cwd=folder)[0] == 0
        made = {name: content for name, content in files(folder).items() if name.startswith("x")}
        assert made == {
            name.replace("whole", "x", 1): content
            for name, content in files(folder).items()
            if name.startswith("whole")
        }


def test_a_check_counts_its_notes(folder: Path, tiny_model: str) -> None:
    check = ("run", "demo", "--check", "--set", f"tagger.model={tiny_model}")
    assert "demo: valid. Systems: gold only; mention_replacement" in call(*check).out
    leaking = call(*check, "--set", "data.test=example:train.conll")
    assert "note: " in leaking.err
    assert "demo: valid, with 1 note. Systems: gold" in leaking.out
