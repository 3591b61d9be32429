"""Systems with their own teacher tagger, from the recipe to the report."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from nersery import Entity, Sentence, io
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.experiments import runner
from nersery.experiments.recipe import load
from nersery.experiments.runner import Run
from nersery.models.training.training_state import training_seconds
from tests.experiments.run_helpers import Trainings, each_or_some, execute, killing, system
from tests.forks import Server
from tests.killing import KilledError
from tests.standins import files, sentences, tiny, write_recipe

TEACHERS = """
[[systems]]
name = "taught"
method = "tagger_labels"
teacher = { method = "memory", longest = 3 }
[[systems]]
name = "balanced"
method = "tagger_labels"
teacher = { longest = 3, method = "memory" }
types = { LOC = "LOC" }
upsampling = 0.75
[[systems]]
name = "other teacher"
method = "tagger_labels"
teacher = { method = "memory", longest = 1 }
[[systems]]
name = "second round"
base = "taught"
method = "tagger_labels"
teacher = { method = "memory", longest = 3 }
"""


def add_raw(recipe: Path, systems: str) -> None:
    io.write([s.with_entities(()) for s in sentences(30, start=300)], recipe.with_name("wild.txt"))
    text = recipe.read_text("utf-8").replace("[sample]", 'raw = "wild.txt"\n[sample]')
    recipe.write_text(text[: text.index("[[systems]]")] + systems, "utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: Trainings) -> Path:
    """A recipe whose student finds only mentions of one word."""
    add_raw(write_recipe(tmp_path, 'method = "memory"\nlongest = 1'), TEACHERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def labelled(name: str) -> list[Sentence]:
    return list(io.read(f"run/seed-0/{name}/generated.jsonl"))


@pytest.mark.usefixtures("folder")
class TestTeachers:
    @pytest.mark.usefixtures("without_pages")
    def test_the_teacher_labels_and_the_small_tagger_is_the_student(self) -> None:
        execute()
        assert any(len(s.mention(e)) > 1 for s in labelled("taught") for e in s.entities)
        assert not any(len(s.mention(e)) > 1 for s in labelled("other teacher") for e in s.entities)
        settings = json.loads(Path("run/seed-0/taught/tagger/nersery.json").read_text())["settings"]
        assert settings == {"longest": 1}, "the student is the run's tagger"

    @pytest.mark.usefixtures("without_pages")
    def test_systems_with_the_same_teacher_share_it(self, memory: Trainings) -> None:
        report = execute("seeds=[0, 1]")
        assert len(list(Path("run/seed-0/teachers").glob("*/nersery.json"))) == 3
        own = [count for seed, count in memory if seed == 0]
        students = [one["train_sentences"][0] for one in report["systems"]]
        gold, taught, balanced, other, second = students
        assert own == [gold, gold, taught, balanced, gold, other, taught, second], "teachers: gold, gold, gold + raw"
        assert len(memory) == 2 * len(own)

    @pytest.mark.usefixtures("without_pages")
    def test_the_second_teacher_learns_from_the_labels_of_the_first_round(self) -> None:
        report = execute()
        taught, second = (system(report, name) for name in ("taught", "second round"))
        assert [one["sentences"] for one in taught["teachers"]] == [16]
        assert [one["sentences"] for one in second["teachers"]] == [16 + 30]

    def test_the_report_shows_each_teacher(self) -> None:
        report = execute("seeds=[0, 1]")
        assert [one["seed"] for one in system(report, "balanced")["teachers"]] == [0, 1]
        assert "teachers" not in system(report, "gold")
        text = Path("run/report.md").read_text()
        assert "## Teachers" in text
        assert "| second round | 1 | memory | 46 | 1 | – | – |" in text
        assert 'id="teachers"' in Path("run/report.html").read_text()

    @pytest.mark.usefixtures("without_pages")
    def test_keeps_no_teacher_without_keep_taggers_and_gives_the_same_results(self) -> None:
        kept = execute()
        shutil.move("run", "kept")
        report = execute("keep_taggers=false")
        assert report["systems"] == kept["systems"]
        assert not Path("run/seed-0/teachers").exists()

    @each_or_some
    def test_a_kill_at_any_move_of_a_file_leaves_no_trace(self, each: int, monkeypatch: pytest.MonkeyPatch) -> None:
        text = Path("recipe.toml").read_text()
        Path("recipe.toml").write_text(text[: text.index('[[systems]]\nname = "balanced"')])
        monkeypatch.setattr(runner, "write_report", lambda report, folder: None)
        with killing(0) as moves:
            execute()
        expected = files(Path("run"))
        for at in range(1, moves() + 1, each):
            shutil.rmtree("run")
            with pytest.raises(KilledError), killing(at):
                execute()
            execute()
            assert files(Path("run")) == expected, f"killed at move {at}"


@pytest.mark.usefixtures("folder")
class TestWrong:
    @pytest.mark.parametrize(
        ("override", "message"),
        [
            ("teacher={ stpes = 3 }", r'teacher: transformer has no setting "stpes"; did you mean "steps"'),
            ("teacher={ steps = 0 }", r"teacher: steps is 0, expected 1 or more"),
            ('teacher={ method = "memry" }', r'teacher: no tagger method is called "memry"; did you mean "memory"'),
            ("teacher=300", r"teacher is 300: expected a table"),
            ("tagger=here", r"the settings tagger .a trained teacher. and teacher .one to train. are both given"),
        ],
    )
    def test_refuses_wrong_settings_of_a_teacher(self, override: str, message: str) -> None:
        with pytest.raises(SettingsError, match=message):
            load("recipe.toml", [f"systems.taught.{override}"])

    def test_a_model_that_cannot_be_loaded_is_reported_before_anything_runs(self) -> None:
        run = Run(load("recipe.toml", ["systems.taught.teacher={ model = './no-encoder' }"]), Path("run"), quiet=True)
        with pytest.raises(MissingResourceError, match=r'system "taught": there is no model folder .*no-encoder'):
            run.check()
        assert not Path("run").exists()

    def test_a_model_folder_without_weights_is_reported(self, tiny_model: str) -> None:
        shutil.copytree(tiny_model, "emptied", ignore=shutil.ignore_patterns("*.safetensors"))
        run = Run(load("recipe.toml", ["systems.taught.teacher={ model = './emptied' }"]), Path("run"), quiet=True)
        with pytest.raises(MissingResourceError, match=r'system "taught": .* has no weights as safetensors'):
            run.check()

    def test_a_named_tagger_with_other_types_is_reported_before_anything_runs(self) -> None:
        from nersery import train

        folder = Path("strange")
        train([Sentence(("Rex", "barks"), (Entity(0, 1, "DOG"),))], "memory", output=folder, quiet=True)
        named = ["systems.taught.teacher={}", "systems.taught.tagger=./strange"]
        run = Run(load("recipe.toml", named), Path("run"), quiet=True)
        with pytest.raises(
            SettingsError, match=r'"taught": the tagger .*strange" predicts types that .*Rename or drop DOG'
        ):
            run.check()
        Run(load("recipe.toml", [*named, 'systems.taught.types.DOG="PER"']), Path("run"), quiet=True).check()

    def test_a_system_cannot_be_called_teachers(self) -> None:
        with pytest.raises(SettingsError, match="the names gold, gold only, sample, teachers are reserved"):
            load("recipe.toml", ["systems.taught.name=teachers"])


def test_soft_labels_reach_the_student(tmp_path: Path, tiny_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    teacher = f"teacher = {{ model = {json.dumps(tiny_model)}, steps = 4 }}"
    both = [f'[[systems]]\nname = "{kind}"\nmethod = "tagger_labels"\n{teacher}\n' for kind in ("hard", "soft")]
    add_raw(write_recipe(tmp_path, 'method = "bilstm_crf"\nsteps = 4'), "".join(both) + 'labels = "soft"\n')
    monkeypatch.chdir(tmp_path)
    report = execute()
    hard, soft = (io.read(f"run/seed-0/{kind}/train.jsonl") for kind in ("hard", "soft"))
    assert [s.labels for s in hard] == [s.labels for s in soft]
    assert not any(s.soft_labels for s in hard)
    assert any(s.soft_labels for s in soft)
    assert system(report, "hard")["teachers"] == system(report, "soft")["teachers"]
    one, other = (Path(f"run/seed-0/{kind}/tagger/model.safetensors").read_bytes() for kind in ("hard", "soft"))
    assert one != other


def test_a_teacher_resumes_after_kill_9(tmp_path: Path, tiny_model: str, server: Server) -> None:
    """The killed run resumes the teacher at a checkpoint and results in the same labels and weights."""
    teacher = f"{{ model = {json.dumps(tiny_model)}, steps = 20, evaluate_every = 5 }}"
    own = f'[[systems]]\nname = "taught"\nmethod = "tagger_labels"\nteacher = {teacher}\n'
    add_raw(write_recipe(tmp_path, tiny(tiny_model, 2)), own)
    command = ("run", "recipe.toml", "-q", "--out")
    killed = server.start(*command, "killed", cwd=tmp_path)
    found = killed.kill_when_there_is_one(tmp_path, "killed/seed-0/teachers/*/state.json")
    assert killed.wait() == -signal.SIGKILL
    before = training_seconds(found.parent)
    assert before
    for out in ("killed", "whole"):
        code, _, err = server.run(*command, out, cwd=tmp_path)
        assert code == 0, err
    for pattern in (
        "seed-0/teachers/*/*.safetensors",
        "seed-0/taught/generated.jsonl",
        "seed-0/taught/predicted.jsonl",
    ):
        one, other = (next((tmp_path / out).glob(pattern)) for out in ("killed", "whole"))
        assert one.read_bytes() == other.read_bytes(), pattern
    report: dict[str, Any] = json.loads((tmp_path / "killed/report.json").read_text())
    (own_teacher,) = system(report, "taught")["teachers"]
    assert own_teacher["steps"] == 20
    assert own_teacher["seconds"] >= before
    assert own_teacher["evaluations"]
