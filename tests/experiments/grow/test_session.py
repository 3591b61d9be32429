"""A grow job with tiny encoders: what it leaves, how it resumes, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import nersery
from nersery import Sentence, io
from nersery.core.errors import DataError, NerseryError, OutOfTimeError, SettingsError
from nersery.experiments.execution import run_time
from nersery.experiments.grow import budget, candidates, plan, search, session
from nersery.experiments.grow.budget import Budget
from nersery.experiments.grow.harvest import Harvest
from nersery.experiments.grow.schedules import Schedule
from nersery.experiments.grow.search import Search
from nersery.experiments.grow.session import GrowJob
from nersery.experiments.recipe import load
from nersery.experiments.runner import Run
from nersery.experiments.systems import GOLD
from nersery.taggers.base import load_tagger
from tests.standins import sentences


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: str) -> Path:
    """Files in a language that is said not to be English, and quick trainings of a tiny encoder."""
    return prepare(tmp_path, monkeypatch, tiny_model)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, tiny_model: str) -> tuple[Path, Harvest]:
    """A job that has ended, once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        folder = prepare(tmp_path_factory.mktemp("finished"), patch, tiny_model)
        return folder / "out", grow(minutes=10)


@pytest.fixture
def grown(folder: Path, finished: tuple[Path, Harvest]) -> Harvest:
    """That job in ``out``."""
    shutil.copytree(finished[0], folder / "out")
    return finished[1]


def prepare(folder: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: str) -> Path:
    original = plan._table

    def table(*given: Any, **more: Any) -> dict[str, Any]:
        made = original(*given, **more)
        made["tagger"] |= {"learning_rate": 0.005, "head_learning_rate": 0.05}
        return made

    monkeypatch.setattr(plan, "_table", table)
    monkeypatch.setattr(plan, "SCHEDULES", (Schedule(8, 4),))
    monkeypatch.setattr(search, "SCHEDULES", (Schedule(12, 4), Schedule(8, 4)))
    monkeypatch.setattr(plan, "FEWEST_STEPS", 8)
    monkeypatch.setattr(candidates, "MULTILINGUAL", tiny_model)
    monkeypatch.setattr(budget, "CLOSING", 1.0)
    monkeypatch.chdir(folder)
    for name, count, start in (("train", 24, 0), ("test", 12, 200), ("raw", 30, 300)):
        io.write(sentences(count, start), f"{name}.conll")
    return folder


def grow(**settings: Any) -> Any:
    given = {"raw": "raw.conll", "test": "test.conll", "output": "out", "language": "xx", "quiet": True}
    return nersery.grow("train.conll", **{**given, **settings})


def test_it_leaves_a_tagger_a_corpus_a_recipe_and_a_report(grown: Harvest) -> None:
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


def test_the_recipe_repeats_the_best_system(grown: Harvest) -> None:
    recipe = load("out/recipe.toml")
    assert recipe.systems[-1].name == grown.best
    steps = {name: load(f"out/{name}").tagger.settings["steps"] for name in ("search.toml", "recipe.toml")}
    assert steps == {"search.toml": 8, "recipe.toml": 12}, "the time that was left makes the last training longer"
    report = Run(recipe, Path("again"), quiet=True).execute()
    again = {system.name: system.f1.mean for system in report.systems}
    assert (again["gold"], again[grown.best]) == pytest.approx(grown.test_f1)


def test_without_test_the_folds_are_reported(folder: Path) -> None:
    result = grow(minutes=10, test=None, raw=None)
    assert result.test is None
    assert "held-out sentences" in Path("out/report.md").read_text("utf-8")
    assert load("out/recipe.toml").sample.folds == 3


def test_nothing_depends_on_the_labels_of_test(grown: Harvest) -> None:
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


def test_the_same_call_resumes(grown: Harvest, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    original = Run.run_system
    done: list[str] = []

    def run_system(self: Run, seed: int, system: Any) -> None:
        if len(done) == 3:
            raise Killed
        original(self, seed, system)
        done.append(system.name)

    monkeypatch.setattr(Run, "run_system", run_system)
    with pytest.raises(Killed):
        grow(minutes=10, output="cut")
    monkeypatch.setattr(Run, "run_system", original)
    before = {path: path.stat().st_mtime_ns for path in Path("cut").rglob("result.json")}
    resumed = grow(minutes=10, output="cut")
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert (resumed.best, resumed.dev_f1, resumed.test_f1) == (grown.best, grown.dev_f1, grown.test_f1)
    assert str(grow(minutes=10)) == str(grown), "a finished job only says again what it found"


def test_a_kill_while_planning_loses_one_timing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object, **more: object) -> float:
        raise Killed

    def grow_until(place: type, method: str, output: str) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(place, method, killed)
            with pytest.raises(Killed):
                grow(minutes=10, output=output)

    timed: list[str] = []
    original = run_time.tagger_speed

    def tagger_speed(settings: Any, gold: Any) -> Any:
        timed.append(settings.settings["model"])
        return original(settings, gold)

    monkeypatch.setattr(run_time, "tagger_speed", tagger_speed)
    grow_until(plan._PlanDraft, "schedules", "out")
    record = json.loads(Path("out/grow.json").read_text("utf-8"))
    assert (len(record["speeds"]), record["spent"] > 0) == (1, True)
    grow_until(Search, "execute", "out")
    assert len(timed) == 1
    io.write(sentences(25), "train.conll")
    grow_until(plan._PlanDraft, "schedules", "other")
    io.write(sentences(26), "train.conll")
    grow_until(Search, "execute", "other")
    assert len(timed) == 3, "other sentences are timed again"


def test_a_final_training_that_cannot_be_scored_in_time_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scoring on test runs out of time: of the best system, or only of gold only beside it."""
    original = Run.run_system
    monkeypatch.setattr(candidates, "ROUNDS", ())  # which play no part here
    monkeypatch.setattr(Search, "best", lambda self: self.tried.get("self-training") or self.tried.get(GOLD))
    for late in ("best", "gold"):

        def run_system(self: Run, seed: int, system: Any, late: str = late) -> None:
            original(self, seed, system)
            if seed == 3 and (system.name == GOLD) == (late == "gold"):
                self.path(seed, system, "result.json").unlink()
                raise OutOfTimeError

        monkeypatch.setattr(Run, "run_system", run_system)
        result = grow(minutes=10, output=late)
        assert result.best != GOLD
        corpus = {sentence.words for sentence in io.read(f"{late}/corpus.jsonl")}
        assert corpus >= {sentence.words for sentence in io.read("train.conll")}
        assert not any("has not seen those" in note for note in result.notes)
        assert result.test is None
        gold, best = result.test_f1
        assert gold is None
        assert (best is None) == (late == "best")
        expected = "too short to train gold only" if late == "gold" else "too short to train and score"
        assert expected in str(result)


def test_estimates_include_scoring_on_test(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Measured(BaseException):
        pass

    def execute(self: Search) -> None:
        gold = self.run.recipe.systems[0]
        difference = self.cost(gold, self.folds) - self.cost(gold, 0)
        assert difference == pytest.approx(self.run_time.scoring(gold, 120 - 8)) != 0
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
        system = self.run.recipe.system("self-training")
        training = self.run_time.training(system)
        assert self.final_cost(system) == pytest.approx(
            training + self.run_time.training(self.run.recipe.systems[0]) + self.run_time.making(system)
        )
        assert self.final_cost(self.run.recipe.system("mention replacement")) < 2 * training
        raise Measured

    monkeypatch.setattr(Search, "execute", execute)
    with pytest.raises(Measured):
        grow(minutes=10, test=None)


def test_ctrl_c_leaves_the_best_so_far(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Search, *args: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "_relabel", interrupted)
    with pytest.raises(KeyboardInterrupt):
        grow(minutes=10)
    assert load_tagger("out/tagger").types == ("LOC", "PER")
    assert "interrupted" in Path("out/report.md").read_text("utf-8")


def test_too_little_time_leaves_gold_only(folder: Path) -> None:
    result = grow(minutes=0.001)
    assert result.best == GOLD
    assert "too short to try another system" in str(result)
    assert load_tagger("out/tagger").types == ("LOC", "PER")


def test_too_little_time_for_one_tagger_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "LEAST", 0.0)
    with pytest.raises(NerseryError, match=r"too short to train one tagger.*; the same command then resumes"):
        grow(minutes=0.001)
    monkeypatch.setattr(session, "SCHEDULES", (Schedule(12, 4), Schedule(8, 4)))
    monkeypatch.setattr(session, "POOR", 1)
    with pytest.raises(NerseryError, match=r"another folder \(--out\): this one keeps .* of 8 steps with 4 sentences"):
        grow(minutes=0.001)


@pytest.mark.parametrize("minutes", [0, -1, float("nan")])
def test_minutes_are_above_zero(folder: Path, minutes: float) -> None:
    with pytest.raises(SettingsError, match="above 0"):
        grow(minutes=minutes)


def test_a_missing_file_is_named_before_anything_else(grown: Harvest) -> None:
    with pytest.raises(DataError, match=r"raww\.txt: there is no such file"):
        GrowJob(("train.conll",), Path("out"), raw="raww.txt")


def test_without_a_found_entity_there_is_no_best_and_test_says_why_it_has_no_score(grown: Harvest) -> None:
    nothing = str(replace(grown, best="self-training", dev_f1=(0.0, 0.0), test_f1=None))
    assert nothing.startswith("best: none, because no tagger found an entity")
    assert "allow more --minutes, with another --out" in nothing
    assert "test: no test file" in nothing
    later = "The final tagger, trained on all sentences, finds some. Training was too short"
    assert later not in nothing
    assert later in str(replace(grown, dev_f1=(0.0, 0.0), test_f1=(None, 0.8), test=None))
    assert "test: the time was too short" in str(replace(grown, test_f1=(None, None), test=None))


def test_other_files_are_named_instead_of_their_hashes(grown: Harvest) -> None:
    io.write(sentences(3, 200), "more.conll")
    with pytest.raises(SettingsError) as error:
        GrowJob(("train.conll", "more.conll"), Path("out"), raw="more.conll").execute()
    assert "files.train 2: there nothing, asked for 'more.conll'" in str(error.value)
    assert "files.raw: there 'other content', asked for 'more.conll'" in str(error.value)


def test_another_job_in_the_folder_is_refused(grown: Harvest) -> None:
    with pytest.raises(SettingsError, match="other settings"):
        grow(minutes=10, raw=None)
    Path("full").mkdir()
    Path("full/mine.txt").write_text("mine", "utf-8")
    with pytest.raises(SettingsError, match="holds no grow job"):
        grow(output="full")


def test_few_sentences_and_other_languages_are_refused(folder: Path) -> None:
    io.write([Sentence(("यह", "दिल्ली", "है", str(number))) for number in range(9)], "hindi.conll")
    with pytest.raises(DataError, match="same language"):
        grow(raw="hindi.conll", language="")
    io.write(sentences(3), "train.conll")
    with pytest.raises(DataError, match="at least 6"):
        grow()


def test_growing_on_with_more_labels_names_a_new_folder(grown: Harvest) -> None:
    io.write(sentences(6, 400), "labelled.jsonl")
    more = ["train.conll", "labelled.jsonl"]
    with pytest.raises(SettingsError, match="other settings") as refused:
        nersery.grow(more, output="out", minutes=10, language="xx", quiet=True)
    assert "out-2" in str(refused.value)
    nersery.grow(more, output="out-2", minutes=10, language="xx", quiet=True)
    assert len([s for s in io.read("out-2/corpus.jsonl") if s.origin is None]) == 30


def test_another_winner_gets_its_own_schedule_and_no_other_training_is_compared(grown: Harvest) -> None:
    record = json.loads(Path("out/grow.json").read_text("utf-8"))
    record["final"] = {"system": "another", "schedule": [8, 4]}
    Path("out/grow.json").write_text(json.dumps(record), "utf-8")
    results = [*Path("out/run/seed-3").rglob("result.json")]
    before = {path: path.stat().st_mtime_ns for path in results}
    grow(minutes=10)
    assert before
    assert all(path.stat().st_mtime_ns > before[path] for path in results)


@pytest.mark.parametrize("error", [OutOfTimeError, KeyboardInterrupt])
def test_a_training_on_all_sentences_that_is_cut_off_leaves_the_recipe_of_the_search(
    error: type[BaseException], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "ROUNDS", ())  # which play no part here
    original = Run.run_system

    def run_system(self: Run, seed: int, system: Any) -> None:
        if seed == 3:
            raise error
        original(self, seed, system)

    monkeypatch.setattr(Run, "run_system", run_system)
    with suppress(KeyboardInterrupt):
        grow(minutes=10)
    assert load("out/recipe.toml").tagger.settings["steps"] == 8
    assert "has not seen those of one fold" in Path("out/report.md").read_text("utf-8")


def test_gold_with_more_columns_than_raw_text(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "ROUNDS", ())  # which play no part here
    gold = [replace(one, columns=(("NN",) * len(one),)) for one in io.read("train.conll")]
    io.write(gold, "train.conll")
    monkeypatch.setattr(Search, "best", lambda self: self.tried.get("self-training") or self.tried.get(GOLD))
    assert grow(minutes=10).best == "self-training"
    columns = {sentence.words: sentence.columns for sentence in io.read("out/corpus.conll")}
    assert columns.keys() == {sentence.words for sentence in io.read("out/corpus.jsonl")}
    for sentence in gold:
        assert columns.pop(sentence.words) == sentence.columns
    assert {value for (column,) in columns.values() for value in column} == {"_"}


def test_ctrl_c_in_a_job_with_more_time_leaves_its_tagger(grown: Harvest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The taggers of the folds are gone."""

    def interrupted(self: Search) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "execute", interrupted)
    before = Path("out/tagger/model.safetensors").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        grow(minutes=20)
    assert Path("out/tagger/model.safetensors").read_bytes() == before
    assert "interrupted" in Path("out/report.md").read_text("utf-8")
    shutil.rmtree("out/run/seed-3")
    with pytest.raises(KeyboardInterrupt):
        grow(minutes=20)
    assert Path("out/tagger/model.safetensors").read_bytes() == before
    assert "tagger/ is still that of an earlier call" in Path("out/report.md").read_text("utf-8")


def test_the_correction_of_estimates_survives_a_kill(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of a training says nothing of the whole."""
    learnt: list[float] = []
    original = Budget.learn

    def learn(self: Budget, estimate: float, actual: float) -> None:
        learnt.append(estimate)
        original(self, estimate, actual)
        self.factor = 2.5

    def killed(self: Run, seed: int, system: Any) -> None:
        self.path(seed, system, "x").parent.mkdir(parents=True)
        raise KeyboardInterrupt

    monkeypatch.setattr(Budget, "learn", learn)
    run_system = Run.run_system
    monkeypatch.setattr(Search, "_try_methods", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        grow(minutes=10)
    assert json.loads(Path("out/grow.json").read_text("utf-8"))["factor"] == 2.5
    shutil.rmtree("out")
    learnt.clear()
    monkeypatch.setattr(Run, "run_system", killed)
    with pytest.raises(KeyboardInterrupt):
        grow(minutes=10)
    monkeypatch.setattr(Run, "run_system", run_system)
    with pytest.raises(KeyboardInterrupt):
        grow(minutes=10)
    assert learnt == []


def test_the_time_of_a_killed_call_counts_and_the_time_of_a_file_does_not(grown: Harvest, folder: Path) -> None:
    before = json.loads(Path("out/grow.json").read_text("utf-8"))["spent"]
    ahead = Path("out/grow.json").stat().st_mtime + 7200
    os.utime(next(Path("out/run").rglob("result.json")), (ahead, ahead))
    Path("out/spent.txt").write_text(f"{before + 100}\n")
    grow(minutes=10)
    assert before + 100 <= json.loads(Path("out/grow.json").read_text("utf-8"))["spent"] < before + 600


def test_the_time_of_a_plan_is_noted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = list[float]()

    def plan(*_: Any) -> Any:
        while not noted or noted[-1] < 0.2:
            noted.append(budget.noted_seconds(Path("out/spent.txt")))
        raise KeyboardInterrupt

    monkeypatch.setattr(budget, "BEAT", 0.01)
    monkeypatch.setattr(session, "make_plan", plan)
    with pytest.raises(KeyboardInterrupt):
        grow()


def test_pipes_are_refused(folder: Path) -> None:
    os.mkfifo("pipe")
    for given in ({"raw": "pipe"}, {"test": "-"}):
        with pytest.raises(SettingsError, match=r"is a pipe, expected a file"):
            grow(**given)


def test_a_model_in_a_folder_stays_the_same_folder(grown: Harvest, folder: Path) -> None:
    """The job's folder may have one of that name, too."""
    job = GrowJob(("train.conll",), folder / "new", model="out/tagger")
    assert job.model == str(folder / "out" / "tagger")
