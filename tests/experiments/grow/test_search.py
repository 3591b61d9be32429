"""The order in which a search tries systems, with simulated trainings and scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nersery.core.errors import DataError
from nersery.experiments.data.text_profile import TextProfile
from nersery.experiments.grow import search
from nersery.experiments.grow.budget import Budget
from nersery.experiments.grow.candidates import systems_for
from nersery.experiments.grow.schedules import Schedule
from nersery.experiments.grow.search import Search
from nersery.experiments.grow.trials import SystemTrial
from nersery.experiments.recipe import parse_recipe
from nersery.experiments.systems import System

ENGLISH = TextProfile("LATIN", "en", cased=True)


def order(monkeypatch: pytest.MonkeyPatch, minutes: float, **more: Any) -> list[str]:
    """The systems that are tried on the first fold."""
    return [name for name, one in searched(monkeypatch, minutes, **more).tried.items() if 0 in one.folds]


def searched(
    monkeypatch: pytest.MonkeyPatch,
    minutes: float,
    *,
    f1: dict[str, float] | None = None,
    named: str = "",
    names: tuple[str, ...] = (),
    are_names: bool = False,
    takes: float = 60,
    messages: list[str] | None = None,
    last: Schedule | None = None,
    answers: float = 1.0,
    better: tuple[str, ...] = (),
    expected: dict[str, float] | None = None,
    final_takes: Callable[[Schedule | None], float] = lambda _: 60.0,
) -> Search:
    """A finished search, in which each system is estimated to take a minute.

    Args:
        expected: Gains; None: computed from F1.
        names: Names of the systems to try; empty: all.
        are_names: Whether taggers start from a bundled one.
        takes: Seconds that it really takes.
        final_takes: Estimated seconds of the training on all sentences.
        messages: Collects the messages.
        answers: F1 of questions without a tagger.
    """
    models = ["bundled", *filter(None, [named]), "bundled-multilingual"]
    facts: dict[str, Any] = {"gold": 100, "raw": 100, "stage_steps": 50, "are_names": are_names}
    entries = systems_for(ENGLISH, ["PER"], models, other=models[-1], **facts)
    if names:
        entries = [one for one in entries if one["name"] in names]
    table = {
        "name": "grow",
        "seeds": [0],
        "data": {"train": "x.conll", "raw": "y.txt"},
        "sample": {"folds": 2},
        "tagger": {"model": "bundled", "steps": 300, "batch_size": 8},
        "systems": entries,
    }
    recipe, issues = parse_recipe(table)
    assert recipe is not None, issues
    budget = Budget(60 * minutes, factor=1.0)

    done: set[tuple[int, str]] = set()

    def run_system(seed: int, system: System) -> None:
        budget.spent += takes * ((seed, system.name) not in done)
        done.add((seed, system.name))

    run: Any = SimpleNamespace(
        recipe=recipe,
        run_system=run_system,
        corpora={"test": [], "train": []},
        path=lambda *_: Path("missing/result.json"),
    )
    monkeypatch.setattr(Search, "_fold_cost", lambda *_: 60.0)
    monkeypatch.setattr(
        Search, "_final_cost", lambda self, system, schedule=None: final_takes(schedule or self.final_schedule)
    )
    monkeypatch.setattr(Search, "f1", lambda _, one, first=None: (f1 or {}).get(one.name, 0.5))
    monkeypatch.setattr(Search, "best", lambda self: self.tried.get("gold"))

    def gain(self: Search, one: SystemTrial, first: int | None = None) -> float:
        return self.f1(one) - self.f1(self.tried["gold"]) if expected is None else expected.get(one.name, 0.0)

    monkeypatch.setattr(Search, "gain", gain)
    monkeypatch.setattr(search, "sentences_to_ask", lambda gold: ["a sentence"])
    monkeypatch.setattr(search, "zero_shot_f1", lambda *_: answers)
    monkeypatch.setattr(Budget, "learn", lambda *_: None)
    say = (messages if messages is not None else []).append
    gains = dict.fromkeys(better, (0.065, 0.05))
    found = Search(run, SimpleNamespace(), budget, say, lambda: None, named, last, better=gains)  # type: ignore[arg-type]
    found.execute()
    return found


def test_another_encoder_is_tried_first_if_there_is_time_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert order(monkeypatch, 30)[:3] == ["gold", "gold, bundled-multilingual", "questions"]


def test_methods_of_a_bundled_tagger_named_by_the_user_are_separate(monkeypatch: pytest.MonkeyPatch) -> None:
    found = searched(monkeypatch, 30, named="bundled-ner")
    plain, named = (found.run.recipe.system(name) for name in ("gold", "gold, bundled-ner"))
    assert not any("bundled-ner" in one.name for one in found._methods(plain))
    assert all(one.name.endswith(", bundled-ner") for one in found._methods(named))
    assert found._methods(plain)
    assert found._methods(named)


def test_another_encoder_waits_if_time_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = order(monkeypatch, 7)
    assert tried[:3] == ["gold", "questions", "self-training"]
    assert "gold, bundled-multilingual" not in tried


def test_a_better_encoder_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    f1 = {"gold, bundled-multilingual": 0.6}
    tried = order(monkeypatch, 7, f1=f1, better=("bundled-multilingual",))
    assert tried[:3] == ["gold", "gold, bundled-multilingual", "questions, bundled-multilingual"]


def test_another_encoder_is_tried_late_if_methods_were_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    search = searched(monkeypatch, 6.6, takes=17, messages=messages)
    assert search.tried["gold, bundled-multilingual"].folds[0] == 0
    lines = [line for line in messages if "gold only, bundled-multilingual" in line]
    assert "other planned systems and the training on all sentences leave 59 s" in lines[0]
    assert messages.index(lines[1]) > messages.index(next(line for line in messages if "mention replacement" in line))


def test_the_encoder_named_by_the_user_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = order(monkeypatch, 7, named="mine", f1={"gold, mine": 0.7})
    assert tried[:3] == ["gold", "gold, mine", "questions, mine"]


def test_labels_of_a_tagger_worse_than_gold_only_are_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    worse = {"gold": 0.6, "questions": 0.5, "self-training": 0.4}
    assert not [name for name in order(monkeypatch, 30, f1=worse) if "relabelled" in name]
    assert "questions, relabelled" in order(monkeypatch, 30, f1=worse | {"questions": 0.6})


def test_encoders_take_turns_and_one_continues_if_that_does_not_help(monkeypatch: pytest.MonkeyPatch) -> None:
    f1 = {"questions": 0.6, "questions, other encoder": 0.65, "questions, other encoder and back": 0.7}
    rounds = [name for name in order(monkeypatch, 60, f1=f1) if name.startswith("questions, ")]
    assert rounds == ["questions, other encoder", "questions, other encoder and back"]
    alone = {"questions": 0.6, "questions, relabelled": 0.65}
    rounds = [name for name in order(monkeypatch, 60, f1=alone) if name.startswith("questions, ")]
    assert rounds == ["questions, other encoder", "questions, relabelled", "questions, relabelled twice"]


def test_the_expected_gain_decides_on_the_next_round_despite_a_small_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    f1 = {"questions": 0.7, "questions, other encoder": 0.69}
    expected = {"questions": 0.1, "questions, other encoder": 0.12}
    tried = order(monkeypatch, 60, f1=f1, expected=expected)
    assert [name for name in tried if name.startswith("questions, ")] == [*f1, "questions, other encoder and back"][1:]


@pytest.mark.parametrize(("minutes", "folds"), [(4, {0}), (6, {0, 1})])
def test_gold_only_is_not_the_only_system_on_another_fold(
    minutes: float, folds: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    search = searched(monkeypatch, minutes, f1={"gold": 0.6, "questions": 0.7}, names=("questions",))
    assert set(search.tried["gold"].folds) == set(search.tried["questions"].folds) == folds


def test_if_nothing_else_fits_a_bundled_tagger_is_trained_on_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = order(monkeypatch, 4, are_names=True, final_takes=lambda _: 600, better=("bundled-multilingual",))
    assert tried == ["gold", "gold, bundled-ner"]


def ten_minutes_or_two(schedule: Schedule | None) -> float:
    return 120 if schedule == (300, 16) else 600


def test_a_second_fold_is_worth_a_shorter_training_on_all_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    f1 = {"gold": 0.6, "questions": 0.7}
    for minutes, last in ((13, (300, 16)), (20, (600, 16))):
        search = searched(
            monkeypatch, minutes, f1=f1, names=("questions",), last=(600, 16), final_takes=ten_minutes_or_two
        )
        assert (search.tried["questions"].folds, search.final_schedule) == ([0, 1], last)
    with monkeypatch.context() as patch:
        patch.setattr(Search, "fold_count", 3)
        search = searched(
            monkeypatch, 15.5, f1=f1, names=("questions",), last=(600, 16), final_takes=ten_minutes_or_two
        )
    assert search.tried["questions"].folds == [0, 1], "a third one is not"


@pytest.mark.parametrize(
    ("left", "schedule"), [(700, (600, 16)), (200, (300, 8)), (120, (200, 8)), (100, (150, 8)), (60, (300, 8))]
)
def test_a_shorter_training_on_all_sentences_is_better_than_that_of_a_fold(
    left: float, schedule: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine may have become slower since the search. The search itself had 300 steps with 8 sentences."""
    search = searched(
        monkeypatch, 30, names=("questions",), final_takes=lambda schedule: math.prod(schedule or ()) / 14
    )
    search.budget.spent = search.budget.used + search.budget.left - left - search.budget.closing
    assert search.longest_schedule(search.run.recipe.system("questions")) == schedule


def test_a_system_on_raw_text_is_worth_a_shorter_training_on_all_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that uses only gold is not."""
    for name, folds in (("questions", [0]), ("mention replacement", [])):
        search = searched(monkeypatch, 5, names=(name,), last=(600, 16), final_takes=ten_minutes_or_two)
        assert search.tried[name].folds == folds


def test_a_better_encoder_is_worth_a_shorter_training_but_gold_methods_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("gold, bundled-multilingual", "mention replacement, bundled-multilingual")
    for minutes, folds in ((6, []), (14, [0])):
        search = searched(
            monkeypatch,
            minutes,
            names=names,
            last=Schedule(600, 16),
            better=("bundled-multilingual",),
            f1={names[0]: 0.6},
            final_takes=ten_minutes_or_two,
        )
        assert search.tried[names[0]].folds[:1] == [0]
        assert search.tried[names[1]].folds[:1] == folds


@pytest.mark.parametrize(("f1", "folds", "others"), [(0.6, [0, 1], []), (0.5, [0], [0])])
def test_a_second_fold_of_raw_text_systems_precedes_gold_methods(
    f1: float, folds: list[int], others: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it is far below gold only."""
    search = searched(
        monkeypatch, 6, f1={"gold": 0.6, "self-training": f1}, names=("self-training", "mention replacement")
    )
    assert search.tried["self-training"].folds == folds
    assert search.tried["mention replacement"].folds == others


@pytest.mark.parametrize(("answers", "is_tried"), [(0.31, True), (0.3, False), (0.0, False)])
def test_questions_with_bad_answers_are_not_tried(
    answers: float, is_tried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of gold only's F1 is not enough. Systems that need no questions are still tried."""
    messages: list[str] = []
    names = ("questions", "self-training")
    found = searched(monkeypatch, 30, f1={"gold": 0.6}, names=names, answers=answers, messages=messages)
    assert bool(found.tried["questions"].folds) == is_tried
    assert found.tried["self-training"].folds
    assert any("Better definitions may help (--define" in line for line in messages) != is_tried


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (DataError("no word is left"), "failed: no word is left"),
        (RuntimeError("CUDA out of memory"), "failed: there is not enough memory"),
        (MemoryError(), "failed: there is not enough memory"),
    ],
)
def test_a_failing_system_does_not_stop_the_others(
    error: Exception, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: Search, system: Any) -> bool:
        if system.name == "self-training":
            raise error
        return False

    monkeypatch.setattr(Search, "_answers_badly", fails)
    found = searched(monkeypatch, 30, names=("self-training", "mention replacement"))
    assert found.tried["self-training"].fate == outcome
    assert found.tried["mention replacement"].folds == [0, 1]


def test_an_error_of_the_code_stops_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Search, system: Any) -> bool:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(Search, "_answers_badly", fails)
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        searched(monkeypatch, 30, names=("self-training",))


def test_a_stopped_system_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    search = searched(monkeypatch, 4, names=("self-training",))
    assert search.tried["self-training"].folds == [0]
    search.tried["self-training"].fate = "stopped: it took longer than the time allows"
    search.budget.seconds = 1800
    search.execute()
    assert search.tried["self-training"].folds == [0, 1]


def test_a_resumed_search_keeps_the_encoder_of_the_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one is better, but was tried after them."""
    f1 = {"gold, bundled-multilingual": 0.9}
    search = searched(monkeypatch, 6.6, f1=f1, takes=17)
    first = [*search.tried["questions"].folds]
    assert search.tried["gold, bundled-multilingual"].folds
    search.budget.seconds = 1800
    search.execute()
    assert first
    assert not any(one.folds for name, one in search.tried.items() if name == "questions, bundled-multilingual")


def test_a_system_that_lacks_a_fold_eliminates_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Self-training has the higher F1, but there was no time for its second fold, so the two cannot be compared."""
    f1 = {"gold": 0.5, "questions": 0.7, "self-training": 0.8}
    names = (*f1, "mention replacement")
    attempt = Search.attempt

    def slow(self: Search, system: Any, fold: int, needed_later: float = 0.0) -> bool:
        return not (fold and system.name == "self-training") and attempt(self, system, fold, needed_later)

    monkeypatch.setattr(Search, "attempt", slow)
    monkeypatch.setattr(Search, "fold_count", 3)
    search = searched(monkeypatch, 60, f1=f1, names=names)
    assert search.tried["self-training"].folds == [0]
    assert (search.tried["questions"].folds, search.tried["questions"].fate) == ([0, 1, 2], "")


def test_reports_no_time_left_if_planning_took_all(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    searched(monkeypatch, -1, messages=messages, names=("gold",))
    assert messages[0].endswith("; 0 s are left")
