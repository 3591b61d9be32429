"""Estimates of the run time of systems, from the steps of their trainings."""

from __future__ import annotations

from typing import Any

import pytest

from nersery.annotate.tagger_labels import TaggerLabels
from nersery.experiments.execution import run_time
from nersery.experiments.execution.run_time import RunTime, Speed, Stopwatch, annotator_speed, steps_of, tagger_speed
from nersery.experiments.recipe import Recipe, parse_recipe
from nersery.experiments.systems import MethodSettings
from nersery.models.llm.chat_client import ChatClient
from tests.standins import sentences


def recipe_of(*systems: dict[str, Any]) -> Recipe:
    """A recipe whose taggers have 20 steps."""
    data = {"train": "t", "test": "u", "raw": "r"}
    recipe, issues = parse_recipe({"name": "x", "data": data, "tagger": {"steps": 20}, "systems": [*systems]})
    assert recipe is not None, issues
    return recipe


@pytest.mark.parametrize(
    ("method", "settings", "sentences", "steps"),
    [
        ("transformer", {}, 100, 300),
        ("transformer", {}, 16_000, 3000),
        ("transformer", {"steps": 40}, 100, 40),
        ("transformer", {"epochs": 2, "batch_size": 8}, 100, 26),
        ("bilstm_crf", {}, 100, 800),
        ("bilstm_crf", {}, 16_000, 8000),
    ],
)
def test_steps_are_those_of_the_tagger(method: str, settings: dict[str, Any], sentences: int, steps: int) -> None:
    assert steps_of(MethodSettings(method, settings, "tagger"), sentences) == steps


def test_no_sentence_is_sent_to_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ChatClient, "ask", lambda *_, **__: pytest.fail("asked"))
    settings = {"model": "m", "server": "http://127.0.0.1:9/v1", "types": ["PER"]}
    assert annotator_speed(MethodSettings("llm_labels", settings, "annotate"), [], sentences(4)) == 0


@pytest.mark.parametrize(("longest", "steps"), [(1e9, run_time.TIMED_STEPS), (0.0, 2)])
def test_slow_steps_are_not_all_timed(
    longest: float, steps: int, tiny_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watches: list[Stopwatch] = []
    monkeypatch.setattr(run_time, "Stopwatch", lambda: watches.append(Stopwatch()) or watches[-1])
    monkeypatch.setattr(run_time, "MAX_TIMING_SECONDS", longest)
    settings = MethodSettings("transformer", {"model": tiny_model, "steps": 300, "batch_size": 4}, "tagger")
    speed = tagger_speed(settings, sentences(8))
    assert len(watches[0].times) == steps
    assert min(speed.step, speed.sentence) > 0
    assert speed.sentence < speed.step


@pytest.mark.parametrize(("longest", "labelled"), [(1e9, [6, 24]), (0.0, [6])])
def test_slow_labelling_is_not_timed_twice(
    longest: float, labelled: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    monkeypatch.setattr(TaggerLabels, "fit", lambda *_: None)
    monkeypatch.setattr(TaggerLabels, "annotate", lambda _, part: counts.append(len(part)))
    monkeypatch.setattr(run_time, "MAX_TIMING_SECONDS", longest)
    assert annotator_speed(MethodSettings("tagger_labels", {}, "annotate"), [], sentences(30)) > 0
    assert counts == labelled


@pytest.mark.parametrize(
    ("entry", "seconds"),
    [
        ({}, 1 + 50 * 0.1),
        ({"teacher": {"steps": 30}}, 1 + 30 * 2 + 1 + 50 * 0.1),
        ({"select": ["certainty"]}, 2 * (1 + 50 * 0.1)),
        (
            {"select": [{"method": "self_training", "steps": 3, "passes": 4}]},
            (1 + 50 * 0.1) + 3 * (20 * 2 + 4 * (1 + 50 * 0.1)),
        ),
    ],
)
def test_the_estimate_counts_all_trainings(
    entry: dict[str, Any], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_time, "tagger_speed", lambda *_: Speed(start=1.0, step=2.0, sentence=0.1))
    recipe = recipe_of({"name": "labels", "method": "tagger_labels", **entry})
    messages: list[str] = []
    times = RunTime(recipe, sentences(8), sentences(50), say=messages.append)
    assert times.making(recipe.system("labels")) == pytest.approx(seconds)
    assert messages[0] == "timing transformer with bundled"
    assert len(messages) == len({*messages}), "each once"


@pytest.mark.parametrize(
    ("name", "added", "candidates"),
    [
        ("gold", 0, 0),
        ("one copy", 8, 8),
        ("two copies", 16, 16),
        ("labels", 50, 50),
        ("on labels", 50 + 8 + 50, 8 + 50),
        ("labels twice", 50, 50),
        ("all", 50 + 8 + 16, 50 + 8 + 16),
    ],
)
def test_the_estimate_counts_all_new_sentences(name: str, added: int, candidates: int) -> None:
    merge = ["one copy", "two copies", "labels", "labels twice"]
    times = RunTime(
        recipe_of(
            {"name": "one copy", "method": "mention_replacement"},
            {"name": "two copies", "method": "eda", "copies": 2},
            {"name": "labels", "method": "tagger_labels"},
            {"name": "on labels", "method": "eda", "base": "labels"},
            {"name": "labels twice", "method": "tagger_labels", "base": "labels"},
            {"name": "all", "merge": merge},
        ),
        sentences(8),
        sentences(50),
    )
    system = times.recipe.system(name)
    assert (times.added(system), times.candidates(system)) == (added, candidates)


@pytest.mark.parametrize(
    ("entry", "trained"),
    [({}, 32 + 32), ({"gold_copies": 3}, 3 * 32 + 32), ({"gold_copies": 0}, 32), ({"upsampling": 0.75}, 3 * 32 + 32)],
)
def test_the_estimate_counts_repeated_gold(
    entry: dict[str, Any], trained: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_time, "tagger_speed", lambda *_: Speed(start=0.0, step=1.0, sentence=0.0))
    recipe = recipe_of({"name": "made", "method": "eda", "tagger_settings": {"epochs": 1, "batch_size": 16}, **entry})
    times = RunTime(recipe, sentences(32))
    assert times.training(recipe.system("made")) == trained / 16


def test_the_estimate_counts_selection_from_merged_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_time, "tagger_speed", lambda *_: Speed(start=1.0, step=2.0, sentence=0.1))
    select = [{"method": "self_training", "steps": 3, "passes": 4}]
    recipe = recipe_of(
        {"name": "made", "method": "mention_replacement"},
        {"name": "labels", "method": "tagger_labels"},
        {"name": "both", "merge": ["made", "labels"], "select": select},
    )
    times = RunTime(recipe, sentences(8), sentences(50))
    assert times.making(recipe.system("both")) == pytest.approx(3 * (20 * 2 + 4 * (1 + 58 * 0.1)))
