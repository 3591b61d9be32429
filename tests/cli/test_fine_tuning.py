"""Methods that train a model before they generate: killed at any step and resumed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nersery import Sentence, io
from nersery.experiments.recipe import load
from nersery.experiments.runner import Run
from nersery.models.masked.masked_lm import MaskedLM
from tests.cli.calls import call
from tests.killing import KilledError
from tests.standins import files, sentences, write_data, write_recipe

ADAPT_STEPS, STEPS = 2, 8
"""Steps of the adaptation, and of both trainings."""


SELECT = 'select = ["duplicates"]\n'
Counted = Callable[..., dict[str, int]]


def unlabelled(count: int, start: int) -> list[Sentence]:
    return [sentence.with_entities(()) for sentence in sentences(count, start)]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, saves_each_step: None, saves_each_batch: None) -> Counted:
    """Counts training steps and gap-filling passes, and kills before a given one; all work is saved at once."""
    originals = {"step": MaskedLM._loss, "fill": MaskedLM.fill}

    def start(**kill_at: int) -> dict[str, int]:
        counts = dict.fromkeys(originals, 0)

        def watched(kind: str) -> Callable[..., Any]:
            def call(*args: Any) -> Any:
                counts[kind] += 1
                if counts[kind] == kill_at.get(kind):
                    raise KilledError
                return originals[kind](*args)

            return call

        monkeypatch.setattr(MaskedLM, "_loss", watched("step"))
        monkeypatch.setattr(MaskedLM, "fill", watched("fill"))
        return counts

    return start


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_masked_lm: str) -> list[str]:
    """A command with an adaptation and a fine-tuning, without its output file."""
    write_data(tmp_path)
    io.write(unlabelled(40, 300), tmp_path / "raw.txt")
    shutil.copytree(tiny_masked_lm, tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    settings = ["model=model", "epochs=2", "batch_size=8", "adapt=raw.txt", "adapt_epochs=1", "precision=fp32"]
    named = [part for setting in settings for part in ("--set", setting)]
    return ["augment", "-q", "--method", "cbt", "--dev", "dev.conll", "--batch-size", "7", *named, "train.conll"]


def assert_same_as(whole: str, target: str = "more.jsonl") -> None:
    """Both files have the same bytes, and the same files beside them."""
    assert Path(target).read_bytes() == Path(whole).read_bytes()
    beside = {name.removeprefix(target) for name in os.listdir() if name.startswith(target)}
    assert beside == {name.removeprefix(whole) for name in os.listdir() if name.startswith(whole)}


class TestAugment:
    @pytest.mark.parametrize(
        "step", [*(pytest.param(step, marks=pytest.mark.torture) for step in (1, STEPS)), ADAPT_STEPS + 1]
    )
    def test_resumes_if_killed_while_training(self, command: list[str], counted: Counted, step: int) -> None:
        whole = counted()
        assert call(*command, "whole.jsonl").code == 0
        assert whole["step"] == STEPS
        counted(step=step)
        with pytest.raises(KilledError):
            call(*command, "more.jsonl")
        assert not Path("more.jsonl").exists()
        rest = counted()
        assert call(*command, "more.jsonl").code == 0
        assert rest["step"] == STEPS - (step - 1)
        assert_same_as("whole.jsonl")

    def test_resumes_if_killed_while_filling_gaps(self, command: list[str], counted: Counted) -> None:
        whole = counted()
        assert call(*command, "whole.jsonl").code == 0
        assert whole["fill"] == 4
        counted(fill=3)
        with pytest.raises(KilledError):
            call(*command, "more.jsonl")
        rest = counted()
        assert call(*command, "more.jsonl").code == 0
        assert rest == {"step": 0, "fill": 2}
        assert_same_as("whole.jsonl")

    @pytest.mark.parametrize(("step", "change"), [(ADAPT_STEPS, "model"), (ADAPT_STEPS + 2, "text")])
    def test_refuses_to_resume_if_the_model_or_text_has_changed(
        self, command: list[str], counted: Counted, step: int, change: str, tiny_masked_lms: dict[str, Path]
    ) -> None:
        counted(step=step)
        with pytest.raises(KilledError):
            call(*command, "more.jsonl")
        if change == "model":  # of the same shapes
            shutil.copytree(tiny_masked_lms["bytes"], "model", dirs_exist_ok=True)
        else:
            io.write(unlabelled(40, 400), "raw.txt")
        counted()
        result = call(*command, "more.jsonl")
        assert result.code == 2
        assert "holds an unfinished training with other settings" in result.err
        assert "use --force" in result.err
        assert call(*command, "more.jsonl", "--force").code == 0
        assert call(*command, "whole.jsonl").code == 0
        assert_same_as("whole.jsonl")


class TestRun:
    @pytest.fixture
    def recipe(self, command: list[str], memory: object) -> None:
        """A recipe with two systems that generate the same."""
        text = write_recipe(Path()).read_text("utf-8").split("[[systems]]")[0]
        settings = 'method = "cbt"\nmodel = "model"\nepochs = 2\nbatch_size = 8\nprecision = "fp32"\n'
        systems = [
            f'[[systems]]\nname = "{name}"\n{settings}{select}' for name, select in (("one", ""), ("two", SELECT))
        ]
        Path("recipe.toml").write_text(text + "\n".join(systems), "utf-8")

    def execute(self, out: str) -> None:
        Run(load("recipe.toml"), Path(out), quiet=True).execute()

    @pytest.mark.parametrize("kill", [{"step": 3}, {"fill": 1}])
    @pytest.mark.usefixtures("recipe")
    def test_a_killed_run_resumes(self, counted: Counted, kill: dict[str, int]) -> None:
        whole = counted()
        self.execute("whole")
        assert (whole["step"], whole["fill"]) == (4, 1), "two systems share what is generated"
        counted(**kill)
        with pytest.raises(KilledError):
            self.execute("run")
        assert Path("run/seed-0/one/generated.jsonl.training/fine-tune/state.json").exists()
        rest = counted()
        self.execute("run")
        assert rest["step"] == 4 - (kill.get("step", 5) - 1)
        assert files(Path("run/seed-0")) == files(Path("whole/seed-0"))

    @pytest.mark.usefixtures("recipe")
    def test_generating_again_for_another_system_leaves_no_training(self, counted: Counted) -> None:
        counted()
        self.execute("run")
        expected = files(Path("run/seed-0"))
        Path("run/seed-0/one/generated.jsonl").unlink()
        shutil.rmtree("run/seed-0/two")
        self.execute("run")
        assert files(Path("run/seed-0")) == expected
