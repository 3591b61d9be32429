"""What a system is expected to gain: the usual, corrected by the folds."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from nersery.evaluate.significance import Comparison
from nersery.experiments.grow.candidates import systems_for
from nersery.experiments.grow.expectation import USUAL, expected_gain, usual_kind
from nersery.experiments.grow.search import Search
from nersery.experiments.grow.text_profile import TextProfile
from nersery.experiments.recipe import parse_recipe


def gain(kind: str, difference: float, error: float, folds: int = 1) -> float:
    """The expected gain where the folds show a difference with that standard error."""
    compared = Comparison(difference, difference - 1.96 * error, difference + 1.96 * error, 1.0, 50, 1)
    return expected_gain(kind, compared, folds)


def test_folds_that_say_nothing_leave_the_usual_gain() -> None:
    """Nine times in ten the method suits the data; otherwise it gains nothing on average."""
    for kind, (mean, _) in USUAL.items():
        assert gain(kind, mean, 10.0) == pytest.approx(0.9 * mean, abs=0.002)


def test_folds_that_are_sure_decide() -> None:
    assert gain("questions", 0.05, 0.0, folds=10_000) == pytest.approx(0.05, abs=1e-4)
    assert gain("questions", -0.2, 0.01, folds=100) == pytest.approx(-0.2, abs=0.01), "it does not suit the data"
    assert gain("", 0.12, 0.02) == pytest.approx(0.12, abs=0.01), "nothing is known of encoders"


def test_small_losses_on_small_folds_are_taken_for_chance() -> None:
    assert gain("self-training", -0.02, 0.05) > 0 > gain("self-training", -0.12, 0.05)
    assert gain("mention_replacement", -0.08, 0.05) < 0.005 < gain("questions", -0.002, 0.06)


def test_it_grows_with_the_difference() -> None:
    for kind in ("", *USUAL):
        gains = [gain(kind, difference / 100, 0.04) for difference in range(-30, 31)]
        assert gains == sorted(gains)


@pytest.mark.parametrize("are_names", [False, True])
def test_every_system_has_its_kind(are_names: bool) -> None:
    text = TextProfile("LATIN", "en", cased=True)
    sizes = {"gold": 400, "raw": 100, "stage_steps": 50}
    entries = systems_for(text, ["PER"], ["bundled", "mine"], **sizes, are_names=are_names)
    table = {
        "name": "grow", "seeds": [0], "data": {"train": "x.conll", "raw": "y.txt"}, "sample": {"folds": 2},
        "tagger": {"model": "bundled"}, "systems": entries,
    }  # fmt: skip
    recipe, issues = parse_recipe(table)
    assert recipe is not None, issues
    search = Search(SimpleNamespace(recipe=recipe), None, None, print, lambda: None)  # type: ignore[arg-type]
    kinds = {system.name: usual_kind(search.chain(system), "bundled") for system in recipe.systems[1:]}
    ends = " from start" if are_names else ""
    assert {name: kind.removesuffix(ends) for name, kind in kinds.items()} == {
        **({"gold, bundled-ner": "start"} if are_names else {}),
        "questions": "questions",
        **dict.fromkeys(("questions, relabelled", "questions, relabelled twice", "questions, relabelled three times"),
                        "questions again"),
        **dict.fromkeys(("self-training", "self-training, relabelled", "self-training, relabelled twice",
                         "self-training, relabelled three times"), "self-training"),
        "melm + agreement": "melm", "aclm + agreement": "aclm", "mention replacement": "mention_replacement",
        **{name: "" for name in kinds if name.endswith(", mine")},
    }  # fmt: skip
    assert kinds["questions"].endswith(ends)


def test_a_method_is_expected_to_gain_more_from_a_better_start() -> None:
    assert (
        gain("self-training", 0.0, 10.0)
        < gain("self-training from start", 0.0, 10.0)
        < gain("questions from start", 0.0, 10.0)
    )
    assert gain("questions from start", 0.12, 0.05) > gain("start", 0.12, 0.05)
