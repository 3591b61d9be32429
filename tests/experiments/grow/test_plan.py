"""The encoders, systems and schedules of a plan, with simulated timings."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.experiments.data.corpus_notes import note_of_kind
from nersery.experiments.data.text_profile import TextProfile
from nersery.experiments.execution import run_time
from nersery.experiments.execution.run_time import RunTime, Speed
from nersery.experiments.grow import plan
from nersery.experiments.grow.budget import Budget
from nersery.experiments.grow.grow_data import GrowData
from nersery.experiments.grow.plan import Plan
from nersery.experiments.systems import MethodSettings
from nersery.models.pretrained.loading import ModelSource

ENGLISH = TextProfile("LATIN", "en", cased=True)


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time passes while a plan is made, however slow this machine is."""
    monkeypatch.setattr(Budget, "used", property(lambda budget: budget.spent))


def timed(monkeypatch: pytest.MonkeyPatch, slower: dict[str, float]) -> tuple[GrowData, list[str]]:
    """Nine sentences, and the encoders that are timed: a step takes a second, more with some encoders."""
    gold = Corpus([Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),), id=str(number)) for number in range(9)])
    asked: list[str] = []

    def tagger_speed(settings: MethodSettings, _: object) -> Speed:
        model = str(settings.settings["model"])
        asked.append(model)
        return Speed(0.0, slower.get(model, 1.0), 0.001)

    def annotator_speed(*_: object) -> float:
        asked.append("questions")
        return 0.001

    monkeypatch.setattr(plan, "_available", lambda models, _: (models, []))
    monkeypatch.setattr(plan, "are_names", lambda *_: False)
    monkeypatch.setattr(ModelSource, "layer_size", property(lambda model: 4 if "multi" in model.name else 1))
    monkeypatch.setattr(run_time, "tagger_speed", tagger_speed)
    monkeypatch.setattr(run_time, "annotator_speed", annotator_speed)
    return GrowData(gold, gold, Corpus(()), ENGLISH, ()), asked


def test_each_timing_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    data, asked = timed(monkeypatch, {})
    messages: list[str] = []
    plan.make_plan(data, "", Budget(300.0), messages.append)
    assert messages.count("timing transformer with bundled") == 1
    assert sum(line.startswith("timing ") for line in messages) == len(asked)


def test_notes_types_without_a_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = timed(monkeypatch, {})
    own = [Sentence(("Ada", "wrote"), (Entity(0, 1, "MY TYPE"),), id=str(number)) for number in range(9)]
    data = replace(data, gold=Corpus(own))
    notes = plan.make_plan(data, "", Budget(300.0), lambda _: None).notes
    assert any(
        """there is no definition of MY TYPE: questions use the bare name, "Which my type is""" in n for n in notes
    )
    assert any("--define 'MY TYPE'='…'" in note for note in notes)
    defined = replace(data, definitions={"MY TYPE": 'a "🧪" \\ \x7f thing\nof mine'})
    found = plan.make_plan(defined, "", Budget(300.0), lambda _: None)
    assert not any("no definition" in note for note in found.notes)
    table = tomllib.loads(plan.recipe_text(found.table))
    assert {one.get("name"): one for one in table["systems"]}["questions"]["definitions"] == defined.definitions


@pytest.mark.parametrize("are_names", [False, True])
@pytest.mark.parametrize(("shared", "is_noted"), [(3, True), (4, False)])
def test_notes_raw_text_with_other_words_unless_mentions_are_names(
    shared: int, is_noted: bool, are_names: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the words of labelled sentences occur in other ones; punctuation does not count."""
    data, _ = timed(monkeypatch, {})
    monkeypatch.setattr(plan, "are_names", lambda *_: are_names)
    words = ("We", "seek", "a", "cook", "who", ",", "own", "these", "words", "only", "here")
    gold = [Sentence((*words[:6], *(f"{word}{n}" for word in words[6:])), (Entity(3, 4, "JOB"),)) for n in range(60)]
    raw = Corpus([Sentence((*words[:shared], *("Oslo",) * (10 - shared), ","))])
    made = plan.make_plan(replace(data, gold=Corpus(gold), raw=raw), "", Budget(300.0), lambda _: None)
    found = [note for note in made.notes if "if the subjects differ" in note]
    assert made.raw_suits != bool(found)
    assert bool(found) == (is_noted and not are_names)
    assert not found or "only 30% of the words of raw text occur in the labelled sentences, against 50%" in found[0]


def test_notes_no_other_words_next_to_labelled_sentences_from_few_templates() -> None:
    raw = [Sentence(("nothing", "of", "this", "occurs", "in", "Oslo"))]
    for templates, is_noted in ((49, False), (50, True)):
        gold = [
            Sentence(("We", "saw", f"Ada{n}", "in", f"place{n % templates}"), (Entity(2, 3, "PER"),))
            for n in range(200)
        ]
        assert ("if the subjects differ" in note_of_kind(gold, raw)) == is_noted


def test_raw_text_is_labelled_by_lists_of_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"PER": str(tmp_path / "people.txt")}
    (tmp_path / "people.txt").write_text("Ada\n")
    data, asked = timed(monkeypatch, {})
    data = replace(data, names=names)
    found = plan.make_plan(data, "", Budget(6000.0), lambda _: None)
    systems = {entry["name"]: entry for entry in found.table["systems"]}
    assert systems_of(found)[0] == "names"
    assert systems["names"]["files"] == names
    assert systems["names, relabelled"]["base"] == "names"
    assert "ignore_case" not in systems["names"]
    assert {"questions", "self-training"} <= {*systems}
    assert "questions" in asked, "their time decides how much raw text is used"
    lower = replace(data, text=replace(ENGLISH, cased=False))
    entry = plan.make_plan(lower, "", Budget(6000.0), lambda _: None).table["systems"][0]
    assert entry["ignore_case"]


@pytest.mark.parametrize(
    ("script", "named", "is_noted"), [("TIBETAN", "", True), ("TIBETAN", "x", False), ("THAI", "", False)]
)
def test_notes_a_script_that_the_encoder_does_not_cover(
    monkeypatch: pytest.MonkeyPatch, script: str, named: str, is_noted: bool
) -> None:
    data, _ = timed(monkeypatch, {})
    data = replace(data, text=TextProfile(script, "", cased=False))
    notes = plan.make_plan(data, named, Budget(300.0), lambda _: None).notes
    assert any("knows no word in the Tibetan script" in note for note in notes) == is_noted


def systems_of(found: Plan) -> list[str]:
    return [entry["name"] for entry in found.table["systems"]]


def test_one_timing_serves_all_batch_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    data, asked = timed(monkeypatch, {})
    for minutes in (1.0, 3.0, 1000.0):
        plan.make_plan(data, "", Budget(60 * minutes), lambda _: None)
        assert asked[:2] == ["bundled", "questions"]
        assert asked.count("bundled") == 1
        asked.clear()
    speed = Speed(0.0, 1.0, 0.0)
    assert speed.step_of(4) < speed.step_of(8) < speed.step_of(16) == 1.0


def test_an_encoder_that_does_not_fit_the_time_is_not_even_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    data, asked = timed(monkeypatch, {})
    lower = replace(data, text=replace(ENGLISH, cased=False))
    short = plan.make_plan(lower, "", Budget(300.0), lambda _: None)
    assert "bundled-multilingual" not in asked
    assert not any("multilingual" in name for name in systems_of(short))
    assert any("bundled-multilingual is not tried" in note for note in short.notes)
    cased = plan.make_plan(data, "", Budget(300.0), lambda _: None)
    assert "gold, bundled-multilingual" in systems_of(cased), "it needs no time for methods of the other one before"
    shortest = plan.make_plan(data, "", Budget(30.0), lambda _: None)
    assert not any("multilingual" in name for name in systems_of(shortest))


@pytest.mark.parametrize(("slower", "first"), [(2.0, "bundled-multilingual"), (100.0, "bundled")])
def test_english_gets_the_stronger_encoder_if_time_suffices(
    monkeypatch: pytest.MonkeyPatch, slower: float, first: str
) -> None:
    """Its layers have four times the parameters; if it takes longer than that, the other one stays."""
    data, asked = timed(monkeypatch, {"bundled-multilingual": slower})
    found = plan.make_plan(data, "", Budget(8000.0), lambda _: None)
    assert found.table["tagger"]["model"] == first
    assert any("bundled is not tried alone: the time is enough" in note for note in found.notes) == (first != "bundled")
    assert asked.count("bundled-multilingual") == 1
    is_asked = {entry["name"]: entry for entry in found.table["systems"]}["questions"].get("model", "bundled")
    assert is_asked == first
    named = plan.make_plan(data, "bundled-ner", Budget(8000.0), lambda _: None)
    assert named.table["tagger"]["model"] == "bundled", "the user has chosen another one"


def test_the_encoder_named_by_the_user_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = timed(monkeypatch, {"bundled-ner": 3.0})
    found = plan.make_plan(data, "bundled-ner", Budget(60.0), lambda _: None)
    assert "gold, bundled-ner" in systems_of(found)


def test_taggers_for_names_start_from_a_bundled_one_not_named_by_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    data, asked = timed(monkeypatch, {})
    monkeypatch.setattr(plan, "are_names", lambda tagger, _: tagger == "bundled-ner")
    lower = replace(data, text=replace(ENGLISH, cased=False))
    found = plan.make_plan(lower, "", Budget(300.0), lambda _: None)
    assert "the mentions are mostly names: all taggers start from bundled-ner, except that of gold only" in found.notes
    assert found.table["tagger"]["model"] == "bundled"
    assert {str(entry["tagger_settings"]["model"]) for entry in found.table["systems"]} == {"bundled-ner"}
    assert asked.count("bundled-ner") == 0, "it takes as long as its encoder"
    cased = plan.make_plan(data, "", Budget(300.0), lambda _: None)
    assert any("start from bundled-ner or bundled-multilingual-ner" in note for note in cased.notes)
    longer = plan.make_plan(data, "", Budget(8000.0), lambda _: None)
    assert any("start from bundled-multilingual-ner" in note for note in longer.notes)
    named = plan.make_plan(data, "bundled-ner", Budget(8000.0), lambda _: None)
    names = systems_of(named)
    assert "gold, bundled-ner" in names
    assert len(names) == len({*names})


def test_skips_questions_that_would_take_most_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not timed, either; the raw text is then used for self-training."""
    data, asked = timed(monkeypatch, {})
    monkeypatch.setattr(run_time, "tagger_speed", lambda *_: Speed(0.0, 0.01, 2.0))
    short, long = (plan.make_plan(data, "", Budget(seconds), lambda _: None) for seconds in (30.0, 60.0))
    assert systems_of(short)[0] == "self-training"
    assert any("no questions are asked: labelling 9 raw" in note for note in short.notes)
    assert systems_of(long)[0] == "questions"
    assert asked == ["questions"]


def test_the_schedule_leaves_time_for_the_encoder_named_by_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training takes a second per step, ten with the named encoder; nothing else takes time."""
    gold = Corpus([Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),), id=str(number)) for number in range(9)])
    data = GrowData(gold, gold, Corpus(()), ENGLISH, ())

    def training(self: RunTime, system: Any) -> float:
        is_named = system.tagger_settings.get("model") == "mine"
        return self.recipe.tagger.settings["steps"] * (10.0 if is_named else 1.0)

    monkeypatch.setattr(RunTime, "training", training)
    monkeypatch.setattr(RunTime, "making", lambda *_: 0.0)
    monkeypatch.setattr(RunTime, "scoring", lambda *_: 0.0)
    steps = 300
    needed = plan.CAUTION * steps * (1 + 10 + 10)  # gold only; the named encoder on gold, then with a method
    budgets = [Budget((needed + more) / plan.SEARCH_SHARE) for more in (60, -60)]
    draft = plan._PlanDraft(data, ["bundled", "mine"], "mine", are_names=False, has_english=False, speeds={})
    assert [draft.schedules(budget)[0][0] for budget in budgets] == [300, 200]


def test_a_short_budget_leaves_time_for_a_bundled_tagger(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training takes a second per step, and methods take too long to write their sentences."""
    gold = Corpus([Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),), id=str(number)) for number in range(9)])
    monkeypatch.setattr(RunTime, "training", lambda self, _: float(self.recipe.tagger.settings["steps"]))
    monkeypatch.setattr(RunTime, "making", lambda _, system: 10_000.0 if system.makes_sentences else 0.0)
    monkeypatch.setattr(RunTime, "scoring", lambda *_: 0.0)
    data = GrowData(gold, gold, gold, ENGLISH, ())
    draft = plan._PlanDraft(data, ["bundled"], "", are_names=True, has_english=True, speeds={})
    needed = plan.CAUTION * 2 * 300  # gold only, and from the bundled tagger
    search, last = draft.schedules(Budget(needed / plan.START_FINAL_SHARE + 60))
    assert (search.steps, last) == (200, (300, 16))
    alone = replace(draft, are_names=False).schedules(Budget(needed / plan.START_FINAL_SHARE + 60))
    assert alone == ((200, 8), (600, 16)), "gold only has no rival"


def test_the_last_training_is_longer_than_those_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = timed(monkeypatch, {})
    for minutes in (20, 60, 200):
        found = plan.make_plan(data, "", Budget(60.0 * minutes), lambda _: None)
        of_search, last = found.table["tagger"], found.final_schedule
        steps = of_search["steps"] * of_search["batch_size"]
        assert steps < last[0] * last[1] or last == plan.SCHEDULES[0]
