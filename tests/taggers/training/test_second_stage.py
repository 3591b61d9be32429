from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nersery import Entity, Sentence
from nersery.core import registry
from nersery.core.errors import SettingsError
from nersery.core.training_context import Training
from nersery.taggers.training.second_stage import fit_second_stage, second_stage_issues
from tests.standins import Memory

GOLD = [Sentence(("Ada", "left"), (Entity(0, 1, "PER"),))]
MACHINE = [Sentence(("Oslo", "slept"), (Entity(0, 1, "LOC"),)), Sentence(("Bob",), (Entity(0, 1, "PER"),))]
TRANSFORMER = {**registry.defaults("tagger", "transformer"), "epochs": 3}


def trained() -> Memory:
    tagger = Memory()
    tagger.fit(MACHINE)
    return tagger


def test_second_stage_keeps_what_the_first_has_learnt() -> None:
    tagger = fit_second_stage(trained(), GOLD, {"steps": 4}, Training(seed=3))
    (sentence,) = tagger.predict([Sentence(("Ada", "saw", "Oslo"))])
    assert sentence.labels == ((0, 1, "PER"), (2, 3, "LOC"))
    assert (tagger.history["sentences"], tagger.history["second_stage"]["sentences"]) == (2, 1)
    assert (tagger.history["second_stage"]["steps"], tagger.history["second_stage"]["seed"], tagger.steps) == (4, 3, 1)


def test_the_given_tagger_keeps_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = trained()

    def fail(second: Memory, *_: Any, **__: Any) -> None:
        assert (second.steps, second.types) == (4, tagger.types)
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "fit", fail)
    with pytest.raises(KeyboardInterrupt):
        fit_second_stage(tagger, GOLD, {"steps": 4}, Training())
    assert tagger.steps == 1


def test_numbers_have_the_types_of_the_settings() -> None:
    steps = fit_second_stage(trained(), GOLD, {"steps": 4.0}, Training()).history["second_stage"]["steps"]
    assert (steps, type(steps)) == (4, int)


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(SettingsError, match='emory has no setting "stpes"; did you mean "steps"'):
        fit_second_stage(trained(), GOLD, {"stpes": 4}, Training())


def test_refuses_types_that_the_first_training_lacks() -> None:
    new = Sentence(("film",), (Entity(0, 1, "CW"),))
    with pytest.raises(SettingsError, match=r"first training has no CW, .*gold_copies = 1"):
        fit_second_stage(trained(), [*GOLD, new], {"steps": 4}, Training())


def test_steps_take_the_place_of_epochs(tiny_models: dict[str, Path]) -> None:
    assert second_stage_issues("transformer", TRANSFORMER, {"steps": 5}) == []
    assert (
        "steps and epochs are both given"
        in second_stage_issues("transformer", TRANSFORMER, {"steps": 5, "epochs": 2})[0]
    )
    settings = {"model": str(tiny_models["wordpiece"]), "epochs": 1}
    tagger = registry.create("tagger", "transformer", settings)
    tagger.fit(GOLD)
    tagger = fit_second_stage(tagger, GOLD, {"steps": 2}, Training())
    assert tagger.history["second_stage"]["steps"] == 2
    assert (tagger.steps, tagger.epochs) == (None, 1)


def test_settings_are_finite_numbers() -> None:
    assert second_stage_issues("transformer", TRANSFORMER, {"clip": float("inf")}) == [
        "transformer.clip is inf: expected finite numbers"
    ]
