"""In which order a search tries systems, with trainings that take no time and scores that are given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nersery.experiments.grow.budget import Budget
from nersery.experiments.grow.candidates import systems_for
from nersery.experiments.grow.search import Search
from nersery.experiments.grow.text_profile import TextProfile
from nersery.experiments.recipe import parse

ENGLISH = TextProfile("LATIN", "en", cased=True)


def order(monkeypatch: pytest.MonkeyPatch, minutes: float, **more: Any) -> list[str]:
    """The systems that are tried on the first fold."""
    return [name for name, one in searched(monkeypatch, minutes, **more).tried.items() if 0 in one.folds]


def searched(
    monkeypatch: pytest.MonkeyPatch,
    minutes: float,
    f1: dict[str, float] | None = None,
    named: str = "",
    methods: tuple[str, ...] = (),
) -> Search:
    """A search that has ended, in which each system is said to take a minute.

    Args:
        methods: Only systems with these are tried; empty: all.
    """
    models = ["bundled", *filter(None, [named]), "bundled-multilingual"]
    entries = systems_for(ENGLISH, ["PER"], models, gold=100, raw=100, stage_steps=50)
    if methods:
        entries = [one for one in entries if one.get("method") in methods]
    table = {
        "name": "grow",
        "seeds": [0],
        "data": {"train": "x.conll", "raw": "y.txt"},
        "sample": {"folds": 2},
        "tagger": {"model": "bundled"},
        "systems": entries,
    }
    problems: list[str] = []
    recipe = parse(table, problems)
    assert recipe is not None, problems
    budget = Budget(60 * minutes, factor=1.0)

    def run_system(seed: int, system: Any) -> None:
        budget.spent += 60

    run: Any = SimpleNamespace(recipe=recipe, run_system=run_system, corpora={"test": []})
    monkeypatch.setattr(Search, "cost", lambda *_, **__: 60.0)
    monkeypatch.setattr(Search, "chain", lambda _, system: [system])
    monkeypatch.setattr(Search, "f1", lambda _, one, first=None: (f1 or {}).get(one.name, 0.5))
    monkeypatch.setattr(Search, "best", lambda self: self.tried.get("gold"))
    monkeypatch.setattr(Budget, "learn", lambda *_: None)
    search = Search(run, SimpleNamespace(), budget, lambda _: None, lambda: None, named=named)  # type: ignore[arg-type]
    search.execute()
    return search


def test_another_encoder_is_tried_first_if_there_is_time_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert order(monkeypatch, 30)[:3] == ["gold", "gold, bundled-multilingual", "questions"]


def test_another_encoder_waits_if_time_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = order(monkeypatch, 7)
    assert tried[:3] == ["gold", "questions", "self-training"]
    assert "gold, bundled-multilingual" not in tried


def test_the_encoder_that_the_user_named_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = order(monkeypatch, 7, named="mine", f1={"gold, mine": 0.7})
    assert tried[:3] == ["gold", "gold, mine", "questions, mine"]


def test_labels_of_a_tagger_worse_than_gold_only_are_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    worse = {"gold": 0.6, "questions": 0.5, "self-training": 0.4}
    assert not [name for name in order(monkeypatch, 30, f1=worse) if "relabelled" in name]
    assert "questions, relabelled" in order(monkeypatch, 30, f1=worse | {"questions": 0.6})


@pytest.mark.parametrize(("minutes", "folds"), [(4, {0}), (6, {0, 1})])
def test_gold_only_is_not_tried_alone_on_another_fold(
    minutes: float, folds: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    search = searched(monkeypatch, minutes, {"gold": 0.6, "questions": 0.7}, methods=("qa_prompting",))
    assert set(search.tried["gold"].folds) == set(search.tried["questions"].folds) == folds
