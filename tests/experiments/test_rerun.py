"""A run that is repeated: unchanged, changed, or after a kill."""

from __future__ import annotations

import json
import os
import shutil
from itertools import product
from pathlib import Path

import pytest

from nersery import io
from nersery.core.errors import NerseryError, SettingsError
from nersery.core.system.locks import locked
from nersery.experiments import runner
from nersery.experiments.recipe import load
from nersery.experiments.runner import Run
from tests.experiments.run_helpers import Trainings, append_system, each_or_some, execute, killing
from tests.killing import KilledError
from tests.standins import files, sentences

CUT = ["predicted.jsonl", "generated.jsonl", "generated.jsonl.rejects.jsonl", "1-duplicates.jsonl"]
QUICK = [(CUT[0], 0, True), (CUT[1], 0.5, False), (CUT[2], 0.5, True), (CUT[3], 0, False)]
CUT_FILES = [
    case if case in QUICK else pytest.param(*case, marks=pytest.mark.torture)
    for case in product(CUT, (0, 0.5), (True, False))
]


def test_the_same_command_changes_nothing(ended: Path, memory: Trainings):
    before = files(Path("run"))
    times = {path: path.stat().st_mtime_ns for path in Path("run/seed-0").rglob("*")}
    execute()
    assert files(Path("run")) == before
    assert not memory
    assert {path: path.stat().st_mtime_ns for path in Path("run/seed-0").rglob("*")} == times


@pytest.mark.usefixtures("folder", "without_pages")
class TestRepeated:
    def test_a_new_seed_keeps_finished_results(self, ended: Path, memory: Trainings):
        before = files(Path("run/seed-0"))
        report = execute("seeds=[1, 0]")
        assert {seed for seed, _ in memory} == {1}
        assert files(Path("run/seed-0")) == before
        assert len(report["systems"][0]["f1"]["values"]) == 2
        execute("seeds=[0, 1]", out="both")
        assert files(Path("both/seed-1")) == files(Path("run/seed-1"))

    def test_a_new_system_keeps_finished_results(self, ended: Path, memory: Trainings):
        before = files(Path("run/seed-0"))
        append_system('method = "shuffle_within_segments"')
        report = execute("description=more")
        assert len(memory) == 1
        assert before.items() <= files(Path("run/seed-0")).items()
        assert [described["name"] for described in report["systems"]][3:] == ["shuffle_within_segments"]

    def test_an_unfinished_system_can_be_removed(self, memory: Trainings, capsys: pytest.CaptureFixture[str]):
        append_system('name = "late"\nmethod = "shuffle_within_segments"')
        execute()
        Path("run/seed-0/late/result.json").unlink()  # as a kill during its training leaves it
        text = Path("recipe.toml").read_text("utf-8")
        Path("recipe.toml").write_text(text[: text.rindex("[[systems]]")], "utf-8")
        report = Run(load("recipe.toml"), Path("run")).execute().as_dict()
        assert [system["name"] for system in report["systems"]] == ["gold", "both", "one"]
        assert 'the system "late" had not finished and is no longer in the recipe' in capsys.readouterr().err
        assert not Path("run/seed-0/late").exists()
        append_system('name = "late"\nmethod = "shuffle_within_segments"\nrate = 0.9')
        assert execute()["systems"][-1]["settings"]["rate"] == 0.9, "nothing of the first one is in its way"

    def test_review_decisions_of_a_removed_system_are_kept(self, memory: Trainings):
        append_system('name = "late"\nmethod = "shuffle_within_segments"\nselect = ["reviewed"]')
        with pytest.raises(NerseryError, match="have no decision") as waiting:
            execute()
        decisions = Path(f"{str(waiting.value).split()[-1]}.review", "decisions.jsonl")
        decisions.parent.mkdir()
        decisions.write_text("what a person has decided\n")
        Path("recipe.toml").write_text(Path("recipe.toml").read_text("utf-8").replace('"late"', '"later"'), "utf-8")
        with pytest.raises(SettingsError, match=r"holds a run with other settings:\n.*systems\.late"):
            execute()
        assert decisions.exists()

    def test_keeps_a_system_that_another_process_finishes_meanwhile(self, monkeypatch: pytest.MonkeyPatch):
        append_system('name = "late"\nmethod = "shuffle_within_segments"')
        execute()
        result = Path("run/seed-0/late/result.json")
        content = result.read_bytes()
        result.unlink()
        Path("recipe.toml").write_text(Path("recipe.toml").read_text("utf-8").rpartition("[[systems]]")[0], "utf-8")
        with monkeypatch.context() as patch:
            patch.setattr(runner, "check_prerequisites", lambda *_: [result.write_bytes(content)][1:])
            with pytest.raises(SettingsError, match="holds a run with other settings"):
                execute()
        assert result.read_bytes() == content

    def test_sentences_of_a_removed_system_are_kept_for_its_twin(self, memory: Trainings):
        twin = 'method = "shuffle_within_segments"\nselect = []'
        append_system(f'name = "late"\n{twin}')
        append_system(f'name = "twin"\n{twin}')
        report = execute()
        Path("run/seed-0/late/result.json").unlink()
        text = Path("recipe.toml").read_text("utf-8")
        *head, _, twin = text.split("[[systems]]")
        Path("recipe.toml").write_text("[[systems]]".join([*head, twin]), "utf-8")
        memory.clear()
        assert execute()["systems"][-1] == report["systems"][-1]
        assert not memory

    def test_a_finished_system_cannot_be_removed(self, ended: Path):
        text = Path("recipe.toml").read_text("utf-8")
        Path("recipe.toml").write_text(text[: text.rindex("[[systems]]")], "utf-8")
        with pytest.raises(SettingsError, match=r"holds a run with other settings(.|\n)*another folder \(`output`\)"):
            execute()

    def test_reordering_systems_keeps_their_results(self, ended: Path, memory: Trainings):
        report = json.loads((ended / "report.json").read_text("utf-8"))
        before = files(Path("run/seed-0"))
        head, both, one = Path("recipe.toml").read_text("utf-8").split("[[systems]]")
        Path("recipe.toml").write_text("[[systems]]".join([head, one, both]), "utf-8")
        swapped = execute()
        assert [system["name"] for system in swapped["systems"]] == ["gold", "one", "both"]
        assert all(system in report["systems"] for system in swapped["systems"])
        assert files(Path("run/seed-0")) == before
        assert not memory

    def test_other_versions_are_noted_and_the_first_are_kept(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        first = execute()["versions"]
        monkeypatch.setattr("nersery.experiments.run_state.versions.version", lambda library: "9.9")
        report = Run(load("recipe.toml", ["seeds=[0, 1]"]), Path("run")).execute().as_dict()
        assert report["versions"] == json.loads(Path("run/run.json").read_text("utf-8"))["versions"] == first
        (note,) = (note for note in report["notes"] if "torch" in note)
        assert note.startswith("made with numpy 9.9 in place of ")
        assert note.endswith("with which the run began: gold (seed 1), both (seed 1), one (seed 1)")
        assert "note: this run continues with numpy 9.9 in place of" in capsys.readouterr().err
        assert json.loads(Path("run/seed-1/one/result.json").read_text("utf-8"))["versions"]["torch"] == "9.9"

    def test_refuses_other_threads_and_another_precision(self, monkeypatch: pytest.MonkeyPatch):
        first = execute("seeds=[0]")["versions"]
        assert {"processor", "precision", "threads"} <= first.keys()
        with monkeypatch.context() as patch:
            patch.setattr("torch.get_num_threads", lambda: 7)
            assert execute("seeds=[0]"), "where all is finished, nothing depends on it"
            with pytest.raises(SettingsError, match="different threads") as refused:
                execute("seeds=[0, 1]")
        assert f"threads: was {first['threads']}, now 7" in str(refused.value)
        assert f"OMP_NUM_THREADS={first['threads']} nersery run" in str(refused.value)
        other = {"bf16": "fp32", "fp32": "bf16"}[first["precision"]]
        monkeypatch.setenv("NERSERY_PRECISION", other)
        with pytest.raises(SettingsError, match=f"NERSERY_PRECISION={first['precision']} nersery run"):
            execute("seeds=[0, 1]")

    def test_another_processor_is_noted_and_the_run_continues(self, ended: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("nersery.models.pretrained.computer._processor", lambda: "Abacus 9")
        report = execute("seeds=[0, 1]")
        (note,) = (note for note in report["notes"] if "Abacus 9" in note)
        assert note.startswith("made with processor Abacus 9 in place of ")
        assert report["versions"]["processor"] != "Abacus 9"

    def test_description_evaluation_and_kept_taggers_may_change(self, ended: Path, memory: Trainings):
        report = execute("description=other", "evaluate.bootstrap_samples=200", "keep_taggers=false")
        assert report["systems"][1]["against_gold"]["samples"] == 200
        assert not memory
        assert not list(Path("run").rglob("tagger"))

    def test_a_moved_file_is_the_same_file(self, ended: Path, memory: Trainings):
        os.rename("train.conll", "moved.conll")
        execute("data.train=moved.conll")
        assert not memory

    @pytest.mark.parametrize(
        ("overrides", "difference"),
        [
            (["tagger.longest=2"], "  recipe.tagger.settings.longest: was 9, now 2"),
            (["systems.one.copies=3"], "  recipe.systems.one.copies: was 2, now 3"),
            (["systems.both.rate=0.9"], "  recipe.systems.both.method.settings.rate: was 0.3, now 0.9"),
            (["sample.size=15"], "  recipe.sample.size: was 16, now 15"),
            (["seeds=[1]"], "  recipe.seeds: was [0], now [1]"),
            (["systems.one.name=two"], "now nothing"),
            (["name=other"], "  recipe.name: was 'small', now 'other'"),
        ],
    )
    def test_refuses_other_settings_and_shows_the_difference(self, ended: Path, overrides: list[str], difference: str):
        before = files(Path("run"))
        with pytest.raises(SettingsError, match="holds a run with other settings") as caught:
            execute(*overrides)
        assert difference in str(caught.value)
        assert str(caught.value).count("\n") == 2
        assert files(Path("run")) == before

    def test_refuses_a_changed_file(self, ended: Path):
        io.write(sentences(25), "train.conll")
        with pytest.raises(SettingsError, match=r"inputs\.train: the content has changed"):
            execute()

    def test_refuses_a_changed_file_of_a_setting(self):
        Path("words.tsv").write_text("lives\tdwells\n")
        append_system('name = "words.tsv"\nmethod = "synonym_replacement"\ntable = "words.tsv"')
        execute()
        execute()
        Path("words.tsv").write_text("lives\tsits\n")
        with pytest.raises(SettingsError, match=r"settings\.table: the content has changed") as caught:
            execute()
        assert str(caught.value).count("\n") == 2

    def test_files_of_settings_are_found_from_another_directory(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, memory: Trainings
    ):
        Path("words.tsv").write_text("lives\tdwells\n")
        append_system('method = "synonym_replacement"\ntable = "words.tsv"')
        execute()
        trained = list(memory)
        monkeypatch.chdir(folder.parent)
        Run(load(str(folder / "recipe.toml")), folder / "run", quiet=True).execute()
        assert memory == trained

    @pytest.mark.parametrize("content", ["", "x", "[]", "{}", '{"recipe": 3}'])
    def test_an_invalid_record_is_replaced_by_its_copy(self, ended: Path, content: str, memory: Trainings):
        before, trained = files(Path("run")), list(memory)
        Path("run/run.json").write_text(content)
        execute()
        assert (files(Path("run")), memory) == (before, trained)

    @pytest.mark.parametrize("content", ["", "x", "[]", "{}", '{"recipe": 3}'])
    def test_refuses_an_invalid_record(self, ended: Path, content: str):
        for name in ("run.json", "run.json.bak"):
            Path("run", name).write_text(content)
        before = files(ended)
        with pytest.raises(SettingsError, match=r"run\.json is damaged, or another .*Restore run\.json or its copy"):
            execute()
        assert files(ended) == before

    @pytest.mark.parametrize("content", ["", "{", "{}", "[]", "3", '{"scores": {}}'])
    def test_refuses_a_damaged_result(self, ended: Path, content: str):
        Path("run/seed-0/one/result.json").write_text(content)
        with pytest.raises(NerseryError, match=r"one/result\.json is damaged\. Delete it, .* it is trained again"):
            execute()

    @pytest.mark.parametrize(("name", "part", "is_done"), CUT_FILES)
    def test_reports_a_file_truncated_by_a_power_loss(
        self, ended: Path, name: str, part: float, is_done: bool, memory: Trainings
    ):
        folder = Path("run/seed-0/both")
        before = files(folder)
        if not is_done:
            (folder / "result.json").unlink()
        size = (folder / name).stat().st_size
        os.truncate(folder / name, int(part * size))
        main = name.removesuffix(".rejects.jsonl")
        with pytest.raises(NerseryError, match=rf"both/{main} is damaged\. Delete it, and repeat the command"):
            execute()
        (folder / main).unlink()
        execute()
        assert files(folder) == before

    @pytest.mark.parametrize(("split", "lines"), [("train", 0), ("train", 3), ("dev", 0), ("dev", None)])
    def test_reports_a_truncated_sample(self, ended: Path, split: str, lines: int | None, memory: Trainings):
        before = files(Path("run"))
        path = Path("run/seed-0/sample", f"{split}.jsonl")
        content = path.read_bytes()
        path.write_bytes(content[:-9] if lines is None else b"".join(content.splitlines(keepends=True)[:lines]))
        with pytest.raises(NerseryError, match=rf"sample/{split}\.jsonl is damaged\. Delete it, and repeat"):
            execute()
        path.unlink()
        execute()
        assert files(Path("run")) == before

    @pytest.mark.parametrize("name", ["train.jsonl", "predicted.jsonl", "generated.jsonl", "1-duplicates.jsonl"])
    def test_removed_files_are_recreated(self, ended: Path, name: str, memory: Trainings):
        before = files(Path("run"))
        Path("run/seed-0/both", name).unlink()
        execute()
        assert files(Path("run")) == before
        assert memory == []

    def test_the_report_names_rejects_that_were_removed(self, ended: Path):
        """They are not made again, because nothing is trained on them."""
        rejects = "seed-0/both/generated.jsonl.rejects.jsonl"
        (ended / rejects).unlink()
        assert execute()["notes"] == [f"{rejects} was removed, so its sentences do not count as rejected"]
        assert not (ended / rejects).exists()

    def test_refuses_a_folder_with_other_files(self, memory: Trainings):
        Path("thesis").mkdir()
        Path("thesis/thesis.tex").write_text("precious")
        with pytest.raises(SettingsError, match="thesis is not empty and holds no run"):
            execute(out="thesis")
        with pytest.raises(SettingsError, match=r"thesis\.tex is a file"):
            execute(out="thesis/thesis.tex")
        assert files(Path("thesis")) == {"thesis.tex": b"precious"}
        Path("thesis/grow.json").touch()
        with pytest.raises(SettingsError, match="thesis holds a job of nersery grow, not a run: choose another folder"):
            execute(out="thesis")
        assert not memory

    def test_accepts_an_empty_folder_and_a_nested_new_one(self):
        Path("empty").mkdir()
        systems = execute(out="empty")["systems"]
        assert execute(out="a/b/c")["systems"] == systems
        assert files(Path("a/b/c/seed-0")) == files(Path("empty/seed-0"))

    def test_refuses_a_second_process_on_the_same_folder(self, ended: Path):
        with locked(Path("run")), pytest.raises(SettingsError, match="another process is writing run"):
            execute()


@pytest.mark.usefixtures("folder", "without_pages")
class TestWithoutTaggers:
    def test_keeps_no_tagger_and_gives_the_same_results(self, memory: Trainings):
        kept = execute(out="kept")
        memory.clear()
        report = execute("keep_taggers=false")
        assert len(memory) == 3
        assert report["systems"] == kept["systems"]
        left = {name: content for name, content in files(Path("kept/seed-0")).items() if "/tagger/" not in name}
        assert files(Path("run/seed-0")) == left

    def test_a_new_system_retrains_the_baseline_that_it_needs(self, memory: Trainings):
        execute("keep_taggers=false")
        memory.clear()
        append_system('name = "new"\nmethod = "shuffle_within_segments"\nselect = ["agreement"]')
        execute("keep_taggers=false")
        assert memory[0] == (0, 16)
        assert len(memory) == 2
        assert not list(Path("run").rglob("tagger*"))


@each_or_some
def test_a_kill_at_any_move_of_a_file_leaves_no_trace(each: int, folder: Path, monkeypatch: pytest.MonkeyPatch):
    text = Path("recipe.toml").read_text()
    Path("recipe.toml").write_text(text[: text.rindex("[[systems]]")])
    monkeypatch.setattr(
        "nersery.experiments.runner.write_report", lambda report, folder: None
    )  # it takes half of the time
    overrides = ("keep_taggers=false", "sample.dev_size=4")
    with killing(0) as moves:
        execute(*overrides)
    expected = files(Path("run"))
    assert moves() > 30
    for at in range(1, moves() + 1, each):
        shutil.rmtree("run")
        with pytest.raises(KilledError), killing(at):
            execute(*overrides)
        execute(*overrides)
        assert files(Path("run")) == expected, f"killed at move {at}"
