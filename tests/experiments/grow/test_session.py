"""A grow job with tiny encoders: its output, and the input it refuses."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import nersery
from nersery import Sentence, io
from nersery.core.errors import DataError, MissingResourceError, NerseryError, SettingsError
from nersery.experiments import runner
from nersery.experiments.execution import run_time
from nersery.experiments.grow import candidates, plan, search, session
from nersery.experiments.grow.grow_result import GrowResult
from nersery.experiments.grow.schedules import Schedule, schedule_text
from nersery.experiments.grow.search import Search
from nersery.experiments.grow.session import GrowJob
from nersery.experiments.recipe import load
from nersery.experiments.runner import Run
from nersery.report.system_names import GOLD
from nersery.taggers.base import load_tagger
from tests.experiments.grow.tiny_jobs import FOLDS, grow
from tests.killing import KilledError, stop_at
from tests.standins import sentences


def test_writes_a_tagger_a_corpus_a_recipe_and_a_report(grown: GrowResult) -> None:
    result = grown
    assert len(str(result).split("\n")) == 5
    assert load_tagger("out/tagger").types == ("LOC", "PER")
    gold = {sentence.words for sentence in io.read("train.conll")}
    corpus = io.read("out/corpus.jsonl")
    assert gold <= {sentence.words for sentence in corpus}
    assert all(sentence.words in gold or sentence.origin for sentence in corpus)
    assert len(io.read("out/corpus.conll")) == len(corpus)
    report = json.loads(Path("out/report.json").read_text("utf-8"))
    assert {one["name"] for one in report["search"]} >= {"gold", "self-training", "mention replacement"}
    assert [one["fate"] for one in report["search"]].count("chosen") == 1
    assert report["systems"][0]["f1"]["mean"] == pytest.approx(result.test_f1[0])
    assert "Systems tried" in Path("out/report.html").read_text("utf-8")
    texts = {sentence.id: sentence.text for sentence in io.read("raw.conll")}
    assert report["next_sentences"]
    assert all(texts[one["id"]] == one["text"] for one in report["next_sentences"]), "ids of the user's file"
    page = Path("out/report.md").read_text("utf-8")
    assert [name for name in ("gold", "gold only") if f"\n| {name} |" in page] == ["gold only"]
    assert [text for text in ("95 %", "95\u00a0%") if text in page] == ["95\u00a0%"]


def test_the_recipe_reproduces_the_best_system(grown: GrowResult) -> None:
    recipe = load("out/recipe.toml")
    assert recipe.systems[-1].name == grown.best
    steps = {name: load(f"out/{name}").tagger.settings["steps"] for name in ("search.toml", "recipe.toml")}
    assert steps == {"search.toml": 8, "recipe.toml": 12}, "the time that was left makes the last training longer"
    assert recipe.name != load("out/search.toml").name, "the folder of the job itself may have that one"
    report = Run(recipe, Path("again"), quiet=True).execute()
    again = {system.name: system.f1.mean for system in report.systems}
    assert (again["gold"], again[grown.best]) == pytest.approx(grown.test_f1)


def test_suggested_commands_quote_the_folder(grown: GrowResult) -> None:
    lines = str(replace(grown, folder=Path("my run"))).split("\n")
    assert "(nersery predict 'my run/tagger' TEXT OUTPUT)" in lines[2]
    assert lines[3].endswith("nersery run 'my run/recipe.toml'")


@pytest.mark.torture
def test_tries_all_folds_and_rounds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "FEW_FOLDS", 3)
    monkeypatch.setattr(candidates, "ROUNDS", ("relabelled", "relabelled twice", "relabelled three times"))
    grow(minutes=10)
    assert "self-training, relabelled three times" in [system.name for system in load("out/search.toml").systems]
    tried = {one["name"]: one["folds"] for one in json.loads(Path("out/report.json").read_text("utf-8"))["search"]}
    assert tried["gold"] == 3
    assert "self-training, relabelled" in tried


def test_reports_the_folds_if_there_is_no_test_file(folder: Path) -> None:
    result = grow(minutes=10, test=None, raw=None)
    assert result.test is None
    assert "held-out sentences" in Path("out/report.md").read_text("utf-8")
    assert load("out/recipe.toml").sample.folds == FOLDS


def test_the_search_does_not_depend_on_test_labels(grown: GrowResult) -> None:
    swapped = {"PER": "LOC", "LOC": "PER"}
    io.write([sentence.with_types(swapped) for sentence in io.read("test.conll")], "test.conll")
    grow(minutes=10, output="other")
    first, second = (json.loads(Path(name, "grow.json").read_text("utf-8"))["tried"] for name in ("out", "other"))
    for tried in (*first.values(), *second.values()):
        del tried["estimate"], tried["seconds"]
    assert first == second
    for name in ("gold", "self-training"):
        path = f"run/seed-0/{name}/predicted.jsonl"
        assert Path("out", path).read_bytes() == Path("other", path).read_bytes()


def test_estimates_include_scoring_on_test(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Measured(BaseException):
        pass

    def execute(self: Search) -> None:
        gold = self.run.recipe.systems[0]
        difference = self._fold_cost(gold, self.fold_count) - self._fold_cost(gold, 0)
        assert difference == pytest.approx(self.run_time.scoring(gold, 120 - 24 // FOLDS)) != 0
        raise Measured

    monkeypatch.setattr(Search, "execute", execute)
    io.write(sentences(120, 200), "test.conll")
    with pytest.raises(Measured):
        grow(minutes=10)


def test_estimates_include_the_tagger_that_labels(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Self-training labels with a gold-only tagger, which must be trained on all sentences, too."""

    class Measured(BaseException):
        pass

    def execute(self: Search) -> None:
        system, schedule = self.run.recipe.system("self-training"), Schedule.of(self.run.recipe)
        training = self.run_time.training(system)
        assert self._final_cost(system, schedule) == pytest.approx(
            training + self.run_time.training(self.run.recipe.systems[0]) + self.run_time.making(system)
        )
        assert self._final_cost(self.run.recipe.system("mention replacement"), schedule) < 2 * training
        raise Measured

    monkeypatch.setattr(Search, "execute", execute)
    with pytest.raises(Measured):
        grow(minutes=10, test=None)


def test_too_little_time_results_in_gold_only(folder: Path) -> None:
    result = grow(minutes=0.001)
    assert result.best == GOLD
    assert "too short to try another system" in str(result)
    assert load_tagger("out/tagger").types == ("LOC", "PER")


def test_the_report_has_no_notes_on_systems_that_were_not_tried(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = ["tagger: on gold", 'system "mention replacement": on others', 'system "self-training", tagger: on others']
    monkeypatch.setattr(runner, "check_prerequisites", lambda *_: found)
    assert grow(minutes=0.001).best == GOLD
    notes = json.loads(Path("out/report.json").read_text("utf-8"))["notes"]
    assert [note for note in notes if note in found] == found[:1]


def test_notes_name_the_schedule_of_the_last_training(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = schedule_text(Schedule(8, 4), Schedule(8, 4))
    monkeypatch.setattr(plan._PlanDraft, "note", lambda *_: [f"{planned}: the time allows no more"])
    text = (
        "each training of the search has 8 steps with 4 sentences, the one on all sentences 12 steps with 4 sentences"
    )
    for _ in range(2):  # the second call finds everything finished
        result = grow(minutes=10, raw=None, test=None)
        assert any(note.startswith(text) for note in result.notes)
    assert text in Path("out/report.md").read_text("utf-8")


def test_too_little_time_for_one_tagger_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MIN_SECONDS", 0.0)
    with pytest.raises(NerseryError, match=r"too short to train one tagger.*; the same command then resumes"):
        grow(minutes=0.001)
    monkeypatch.setattr(Schedule, "is_poor", property(lambda schedule: schedule == Schedule(8, 4)))
    with pytest.raises(
        NerseryError, match=r"another folder \(`output`\): this one keeps .* of 8 steps with 4 sentences"
    ):
        grow(minutes=0.001)


@pytest.mark.parametrize("minutes", [0, -1, float("nan")])
def test_refuses_minutes_that_are_not_above_zero(folder: Path, minutes: float) -> None:
    with pytest.raises(SettingsError, match="above 0"):
        grow(minutes=minutes)


def test_refuses_a_missing_file_before_anything_else(grown: GrowResult) -> None:
    with pytest.raises(DataError, match=r"raww\.txt: there is no such file"):
        GrowJob(("train.conll",), Path("out"), raw="raww.txt")


def test_explains_a_missing_best_system_and_missing_test_scores(grown: GrowResult) -> None:
    nothing = str(replace(grown, best="self-training", dev_f1=(0.0, 0.0), test_f1=None, is_final=False))
    assert nothing.startswith("best: none, because no tagger found a correct entity")
    assert "allow more `minutes`, with another `output`" in nothing
    assert "test: no test file" in nothing
    later = str(replace(grown, best=GOLD, dev_f1=(0.0, 0.0), test_f1=(None, 0.8), test=None))
    assert later.startswith("best: not known, because the trainings of the search were too short: no tagger found a")
    assert "The final tagger, trained on all sentences, does. To compare systems, allow" in later
    for scores in [None, (None, None)]:
        unscored = str(replace(grown, best=GOLD, dev_f1=(0.0, 0.0), test_f1=scores, test=None))
        assert unscored.startswith("best: not known"), "a training on all sentences may be long enough"
        assert "trained on all sentences, may, but was not scored" in unscored
    assert "test: the time was too short to score the final tagger: use nersery predict" in unscored
    bad = replace(grown, best=GOLD, dev_f1=(0.0, 0.0), test_f1=(None, 0.0), test=None)
    assert bad.verdict.startswith("best: none")
    untrained = str(replace(grown, test_f1=(None, None), test=None, is_final=False))
    assert "test: the time was too short to train on all sentences" in untrained
    assert "it has not seen all sentences: repeat the command with more `minutes`" in untrained
    assert "not seen" not in str(grown)


def test_scores_on_held_out_sentences_do_not_stand_above_those_on_test(grown: GrowResult) -> None:
    chosen = replace(grown, best="self-training", compared=3)
    assert chosen.description == "self-training, chosen from 4 systems on held-out sentences; scored on test"
    for shown in (replace(chosen, test=None), replace(chosen, best=GOLD)):
        assert shown.description == shown.verdict


def test_refuses_a_folder_with_another_job_or_other_files(grown: GrowResult) -> None:
    with pytest.raises(SettingsError, match="other settings"):
        grow(minutes=10, raw=None)
    Path("full").mkdir()
    Path("full/mine.txt").write_text("mine", "utf-8")
    with pytest.raises(SettingsError, match="holds no grow job"):
        grow(output="full")


def test_refuses_too_few_sentences_and_other_languages(folder: Path) -> None:
    io.write([Sentence(("यह", "दिल्ली", "है", str(number))) for number in range(9)], "hindi.conll")
    with pytest.raises(DataError, match=r"^train.conll, hindi.conll: .*same language"):
        grow(raw="hindi.conll", language="")
    io.write(sentences(3), "train.conll")
    with pytest.raises(DataError, match="at least 6"):
        grow()


def test_lists_of_names_label_raw_text(folder: Path) -> None:
    Path("people.txt").write_text("Radia Perlman\nBarbara Liskov\nEdsger\n", "utf-8")
    settings = {"minutes": 10, "names": {"PER": Path("people.txt")}}
    result = grow(**settings)
    tried = {one["name"]: one for one in json.loads(Path("out/report.json").read_text("utf-8"))["search"]}
    assert tried["names"]["folds"]
    labelled = {s.text: s.labels for s in io.read("out/run/seed-0/names/generated.jsonl")}
    assert any("Edsger" in text and (labels[0][2] == "PER") for text, labels in labelled.items())
    assert grow(**settings).best == result.best
    names = next(one for one in load("out/search.toml").systems if one.name == "names")
    assert names.method.settings["files"] == {"PER": str(Path("out/data/names-1.txt"))}, "the list may be moved later"
    Path("people.txt").write_text("Edsger\n", "utf-8")
    with pytest.raises(SettingsError, match="names of PER"):
        grow(**settings)


def test_refuses_lists_of_names_that_cannot_be_used(folder: Path) -> None:
    Path("people.txt").write_text("Edsger\tNL\n", "utf-8")
    with pytest.raises(DataError, match="one name on each line"):
        grow(names={"PER": "people.txt"})
    with pytest.raises(SettingsError, match=r"a list of names is for the type PERSON, which no labelled sentence has"):
        grow(names={"PERSON": "people.txt"})
    for name, why in (("missing.txt", "does not exist"), (".", "is not a regular file")):
        with pytest.raises(MissingResourceError, match=f"the file {re.escape(name)} {why}"):
            grow(names={"PER": name})
    for wrong in ("people.txt", {"PER": ["Ada"]}, {1: "people.txt"}):
        with pytest.raises(SettingsError, match=re.escape(f"names is {wrong!r}, expected a file for each type")):
            grow(names=wrong)


def test_growing_with_more_labels_suggests_a_new_folder(grown: GrowResult) -> None:
    io.write(sentences(6, 400), "labelled.jsonl")
    more = ["train.conll", "labelled.jsonl"]
    with pytest.raises(SettingsError, match="other settings") as refused:
        nersery.grow(more, output="out", minutes=10, language="xx", quiet=True)
    assert "out-2" in str(refused.value)
    nersery.grow(more, output="out-2", minutes=10, language="xx", quiet=True)
    assert len([s for s in io.read("out-2/corpus.jsonl") if s.origin is None]) == 30


def test_refuses_another_job_in_the_working_directory(grown: GrowResult, monkeypatch: pytest.MonkeyPatch) -> None:
    train = Path("train.conll").resolve()
    monkeypatch.chdir("out")
    with pytest.raises(SettingsError, match="other settings") as refused:
        nersery.grow(train, output=".", language="yy")
    assert f"{Path.cwd()}-2" in str(refused.value)


def test_gold_may_have_more_columns_than_raw_text(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "ROUNDS", ())  # not relevant here
    gold = [replace(one, columns=(("NN",) * len(one),)) for one in io.read("train.conll")]
    io.write(gold, "train.conll")
    monkeypatch.setattr(Search, "best", lambda self: self.tried.get("self-training") or self.tried.get(GOLD))
    assert grow(minutes=10).best == "self-training"
    columns = {sentence.words: sentence.columns for sentence in io.read("out/corpus.conll")}
    assert columns.keys() == {sentence.words for sentence in io.read("out/corpus.jsonl")}
    for sentence in gold:
        assert columns.pop(sentence.words) == sentence.columns
    assert {value for (column,) in columns.values() for value in column} == {"_"}


def test_refuses_pipes(folder: Path) -> None:
    os.mkfifo("pipe")
    for given in ({"raw": "pipe"}, {"test": "-"}):
        with pytest.raises(SettingsError, match=r"is a pipe, expected a file"):
            grow(**given)


@pytest.mark.parametrize("name", ["my-tagger", "bundled-mine"])
def test_a_model_in_a_folder_stays_the_same_folder(folder: Path, name: str) -> None:
    """The job's folder may have one of that name, too."""
    Path(name).mkdir()
    assert GrowJob(("train.conll",), folder / "new", model=name).model == str(folder / name)


def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Timings from a busy machine, with which only the shorter of two schedules fits."""
    schedules = Schedule(16, 4), Schedule(8, 4)
    monkeypatch.setattr(plan, "SCHEDULES", schedules)
    monkeypatch.setattr(Schedule, "is_short", property(lambda schedule: schedule == Schedule(8, 4)))
    monkeypatch.setattr(run_time, "tagger_speed", lambda *_: run_time.Speed(start=1.0, step=16.0, sentence=0.01))


def test_a_plan_from_a_busy_machine_is_redone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy(monkeypatch)
    result = grow(minutes=4, raw=None, test=None)
    assert load("out/search.toml").tagger.settings["steps"] == 16
    record = json.loads(Path("out/grow.json").read_text("utf-8"))
    assert all(speed["step"] < 16 for speed in record["speeds"].values())
    assert record["tried"]["gold"]["estimate"] < 16 * run_time.Speed(1.0, 16.0, 0.01).step_of(4)
    assert load_tagger(result.folder / "tagger").types == ("LOC", "PER")


def test_a_second_plan_does_not_depend_on_files_that_were_removed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy(monkeypatch)
    make_plan, made = session.make_plan, []

    def removes(*arguments: Any) -> plan.Plan:
        made.append(make_plan(*arguments))
        Path("raw.conll").unlink(missing_ok=True)
        return made[-1]

    monkeypatch.setattr(session, "make_plan", removes)
    monkeypatch.setattr(Search, "execute", stop_at(1))
    with pytest.raises(KilledError):
        grow(minutes=10)
    assert len(made) == 2


def test_a_kill_before_the_second_plan_loses_only_that_plan(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy(monkeypatch)
    make_plan, made = session.make_plan, []

    def killed_at_second(*arguments: Any) -> plan.Plan:
        made.append(make_plan)
        if len(made) == 2:
            raise MemoryError
        return make_plan(*arguments)

    monkeypatch.setattr(session, "make_plan", killed_at_second)
    with pytest.raises(MemoryError):
        grow(minutes=10)
    io.write(sentences(3), "out/data/raw.jsonl")  # a kill while the data of the second plan are written
    monkeypatch.setattr(Search, "execute", stop_at(1))  # the plan is made by then
    with pytest.raises(KilledError):
        grow(minutes=10)
    assert len(made) == 3
    assert load("out/search.toml").tagger.settings["steps"] == 16
