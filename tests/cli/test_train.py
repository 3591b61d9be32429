"""Killed trainings that are resumed."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from nersery import Entity, Sentence, io
from tests.cli.calls import call
from tests.forks import Server
from tests.standins import files, sentences, tiny, write_data

STATE = Path("t.training/state.json")
STEPS = 30


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: str) -> list[str]:
    """A training that is long enough to be killed, without its output folder."""
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    settings = [f"--set={line.replace(' = ', '=')}" for line in tiny(tiny_model, steps=STEPS).split("\n")]
    return ["train", "-q", "--dev", "dev.conll", *settings, "train.conll"]


@pytest.fixture
def killed(command: list[str], server: Server) -> list[str]:
    """The same command with the folder ``t``, killed while it trained."""
    process = server.start(*command, "t", cwd=Path.cwd())
    process.kill_when_there_is(STATE)
    assert process.wait() == -signal.SIGKILL
    assert not Path("t").exists()
    return [*command, "t"]


def test_a_killed_training_resumes(killed: list[str], command: list[str], monkeypatch: pytest.MonkeyPatch):
    from nersery.taggers.transformer import TransformerTagger

    done = json.loads(STATE.read_text())["facts"]["step"]
    shutil.copytree(STATE.parent, "copy")
    assert call(*command, "whole").code == 0
    taken: list[int] = []
    original = TransformerTagger._loss
    monkeypatch.setattr(TransformerTagger, "_loss", lambda *args: (taken.append(1), original(*args))[1])
    for force in ([], ["--force"]):
        shutil.copytree("copy", STATE.parent, dirs_exist_ok=True)
        assert call(*killed, *force).code == 0
        assert len(taken) == STEPS - done < STEPS
        assert files(Path("t")) == files(Path("whole"))
        assert not [name for name in os.listdir() if name.startswith("t.")]
        shutil.rmtree("t")
        taken.clear()


def test_other_settings_need_force(killed: list[str]):
    before = files(Path("t.training"))
    before.pop("lock")
    for other in (["--set", "steps=3"], ["--seed", "1"]):
        result = call(*killed, *other)
        assert result.code == 2
        assert "t.training holds an unfinished training with other settings" in result.err
        assert "delete the folder t.training to start again, or use --force" in result.err
        assert files(Path("t.training")) == before
    Path("dev.conll").write_text(Path("test.conll").read_text())
    assert "\n  dev: the content has changed" in call(*killed).err
    assert "t: 24 sentences, 3 steps" in call(*killed, "--set", "steps=3", "--force").out
    assert not Path("t.training").exists()


def test_refuses_a_broken_state_unless_forced(killed: list[str]):
    STATE.write_text("{")
    result = call(*killed)
    assert result.code == 1
    assert "Delete the folder t.training to start the training again, or use --force" in result.err
    assert call(*killed, "--set", "steps=3", "--force").code == 0
    assert not Path("t.training").exists()


def test_foreign_files_are_not_removed(command: list[str]):
    Path("t.training").mkdir()
    Path("t.training/thesis.tex").write_text("precious")
    for force in ([], ["--force"]):
        result = call(*command, "t", *force)
        assert result.code == 2
        assert "t.training holds files that are not part of an unfinished training" in result.err
    assert files(Path("t.training")) == {"thesis.tex": b"precious"}


def test_refuses_a_preset_of_another_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path)
    result = call("train", "train.conll", "t", "--method", "transformer", "--preset", "promptda_bilstm")
    assert result.code == 2
    assert "--method is transformer, but the preset or a setting names bilstm_crf. Use one of them" in result.err


def test_refuses_a_grid_outside_recipes(tmp_path: Path) -> None:
    path = tmp_path / "gold.conll"
    path.write_text("Ada B-PER\n")
    result = call("train", str(path), str(tmp_path / "tagger"), "--set", "grid.steps=[1]")
    assert result.code == 2
    assert 'no setting "grid"' in result.err


def test_notes_training_files_with_different_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: object):
    monkeypatch.chdir(tmp_path)
    io.write(sentences(9), "gold.conll")
    io.write([s.with_types({"PER": "Person"}) for s in sentences(9, 20)], "more.conll")
    io.write([Sentence(("Oslo",), (Entity(0, 1, "LOC"),))], "few.conll")
    quick = ["--method", "memory"]
    differing = call("train", "gold.conll", "more.conll", "few.conll", "t", *quick)
    assert differing.code == 0, differing.err
    assert (
        "note: the train files have different types (PER only in gold.conll; Person only in more.conll): if they mean "
        "the same, rename them: nersery dataset convert --type OLD=NEW\n" in differing.err
    )
    assert "different types" not in call("train", "gold.conll", "few.conll", "u", *quick).err


def test_notes_an_evaluation_of_files_with_different_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    gold = sentences(9)
    io.write(gold, "gold.conll")
    io.write([s.with_types({"PER": "Person", "LOC": "Place"}) for s in gold], "all.conll")
    io.write([s.with_types({"PER": "Person"}) for s in gold], "one.conll")
    (tmp_path / "raw.txt").write_text("".join(f"{sentence.text}\n" for sentence in gold))
    empty = "note: no sentence of raw.txt has an entity, so F1 is 0: expected labels in both files\n"
    rename = "; if two mean the same, rename them: nersery dataset convert --type OLD=NEW"
    assert (
        f"note: no type is in both gold.conll and all.conll{rename}\n"
        in call("evaluate", "gold.conll", "all.conll").err
    )
    for more in ([], ["--json"], ["--against", "gold.conll"]):
        assert "in gold.conll, Person (5) in one.conll" in call("evaluate", "gold.conll", "one.conll", *more).err
    assert "Person (5) in one.conll" in call("evaluate", "gold.conll", "gold.conll", "--against", "one.conll").err
    assert empty in call("evaluate", "raw.txt", "gold.conll").err
    assert empty in call("evaluate", "gold.conll", "raw.txt").err
    assert call("evaluate", "gold.conll", "gold.conll").err.count("note:") == 0


def test_a_file_without_labels_among_labelled_ones_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: object
):
    monkeypatch.chdir(tmp_path)
    io.write(sentences(9), "gold.conll")
    Path("raw.txt").write_text("Ada went to Oslo\n")
    found = call("train", "gold.conll", "raw.txt", "t", "--method", "memory")
    assert found.code == 0, found.err
    assert "note: no sentence of raw.txt has an entity, so all words there count as outside entities: " in found.err
    assert "has an entity" not in call("train", "gold.conll", "gold.conll", "u", "--method", "memory").err
