"""Runs as processes: killed, interrupted, on a full disk, two at once."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
from pathlib import Path

import pytest

from nersery.taggers.transformer import TransformerTagger
from tests.experiments.run_helpers import execute
from tests.forks import Server
from tests.standins import files, tiny, without_last_system, write_recipe


class TestProcesses:
    """The same with real processes and a real model."""

    @pytest.fixture(scope="class")
    def finished(self, tmp_path_factory: pytest.TempPathFactory, tiny_model: str, server: Server) -> Path:
        """A folder with an undisturbed run."""
        folder = tmp_path_factory.mktemp("finished")
        without_last_system(write_recipe(folder, tiny(tiny_model)))
        code, out, err = server.run("run", "recipe.toml", "--out", "run", cwd=folder)
        assert code == 0, err
        assert out.startswith("gold ")
        return folder

    @pytest.fixture
    def started(self, finished: Path, tmp_path: Path) -> Path:
        """A folder in which the same run can start."""
        shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
        shutil.rmtree(tmp_path / "run")
        return tmp_path

    def test_writes_weights_and_all_other_files(self, finished: Path):
        tagger = files(finished / "run" / "seed-0" / "both" / "tagger")
        assert {"model.safetensors", "crf.safetensors", "config.json", "tokenizer.json", "nersery.json"} <= set(tagger)
        report = json.loads((finished / "run" / "report.json").read_text("utf-8"))
        assert report["systems"][0]["training"][0]["steps"] == 4

    def test_repeated_kills_do_not_change_the_final_bytes(self, finished: Path, started: Path, server: Server):
        chance = random.Random(5)
        moments = [
            "run.json",
            "seed-0/gold/tagger.part",
            "seed-0/gold/tagger",
            "seed-0/both/1-duplicates.jsonl.part",
            "seed-0/both/2-agreement.jsonl",
            "seed-0/both/train.jsonl",
            "seed-0/both/tagger.part/model.safetensors",
            "seed-0/both/predicted.jsonl.part",
            "report.json",
        ]
        codes = []
        for moment in moments:
            process = server.start("run", "recipe.toml", "--out", "run", "-q", cwd=started)
            process.kill_when_there_is(started / "run" / moment, delay=chance.uniform(0, 0.02))
            codes.append(process.wait())
        assert codes.count(-signal.SIGKILL) > 5
        assert set(codes) <= {0, -signal.SIGKILL}
        code, _, err = server.run("run", "recipe.toml", "--out", "run", "-q", cwd=started)
        assert code == 0, err
        assert files(started / "run") == files(finished / "run")

    def test_a_training_resumes_at_its_checkpoint_after_a_kill(
        self, tmp_path: Path, tiny_model: str, server: Server, monkeypatch: pytest.MonkeyPatch
    ):
        recipe = write_recipe(tmp_path, tiny(tiny_model, steps=40))
        recipe.write_text(recipe.read_text().split("[[systems]]")[0])
        command = ["run", "recipe.toml", "-q", "--out"]
        assert server.run(*command, "whole", cwd=tmp_path)[0] == 0
        process = server.start(*command, "run", cwd=tmp_path)
        state = tmp_path / "run/seed-0/gold/tagger.training/state.json"
        process.kill_when_there_is(state)
        assert process.wait() == -signal.SIGKILL
        done = json.loads(state.read_text())["facts"]["step"]
        taken = []
        original = TransformerTagger._loss
        monkeypatch.setattr(TransformerTagger, "_loss", lambda *args: (taken.append(1), original(*args))[1])
        monkeypatch.chdir(tmp_path)
        report = execute()
        assert 0 < len(taken) == 40 - done < 40
        assert report["systems"] == json.loads(Path("whole/report.json").read_text())["systems"]
        assert files(Path("run/seed-0")) == files(Path("whole/seed-0"))

    @pytest.mark.parametrize(
        ("sign", "code", "what"),
        [
            (signal.SIGINT, 130, "interrupted"),
            pytest.param(signal.SIGTERM, 143, "terminated", marks=pytest.mark.torture),
            pytest.param(signal.SIGHUP, 129, "terminated", marks=pytest.mark.torture),
            pytest.param(signal.SIGXCPU, 128 + signal.SIGXCPU, "terminated", marks=pytest.mark.torture),
        ],
    )
    def test_a_signal_is_reported_and_the_run_resumes(
        self, finished: Path, started: Path, server: Server, sign: signal.Signals, code: int, what: str
    ):
        process = server.start("run", "recipe.toml", "--out", "run", "-q", cwd=started)
        process.kill_when_there_is(started / "run" / "seed-0" / "gold" / "tagger", sign)
        assert process.wait() == code, process.err
        expected = (
            f"error: {what}. Finished work is saved: the same command resumes (a training loses a minute at most)\n"
        )
        assert process.err.endswith(expected)
        assert "Traceback" not in process.err
        assert process.out == ""
        assert server.run("run", "recipe.toml", "--out", "run", cwd=started)[0] == 0
        assert files(started / "run") == files(finished / "run")

    @pytest.mark.parametrize("largest_file", [pytest.param(600, marks=pytest.mark.torture), 120_000])
    def test_a_full_disk_is_reported_and_the_run_resumes(
        self, finished: Path, started: Path, server: Server, largest_file: int
    ):
        command = ["run", "recipe.toml", "--out", "run", "-q"]
        code, out, err = server.run(*command, cwd=started, largest_file=largest_file)
        assert (code, out) == (5, "")
        assert re.match(r"error: cannot read or write run/\S+: File too large\. ", err.splitlines()[-1])
        assert "Traceback" not in err
        assert server.run(*command, cwd=started)[0] == 0
        assert files(started / "run") == files(finished / "run")
