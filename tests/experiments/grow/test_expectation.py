"""The gain expected of a system: the usual gain, corrected by the folds."""

from __future__ import annotations

import math

import pytest

from nersery.evaluate.significance import Comparison
from nersery.experiments.data.text_profile import TextProfile
from nersery.experiments.grow.candidates import other_encoder, systems_for
from nersery.experiments.grow.expectation import (
    CASED,
    LEFT,
    OTHER_KIND,
    TWO_ENCODERS,
    USUAL,
    Gain,
    better_encoders,
    expected_gain,
    usual_gain,
)
from nersery.experiments.recipe import parse_recipe
from nersery.models.bundled_models import bundled


def gain(kind: str, difference: float, error: float, folds: int = 1) -> float:
    """The expected gain of such systems if the folds show a difference with that standard error."""
    return gain_of(USUAL.get(kind), difference, error, folds)


def gain_of(usual: Gain | None, difference: float, error: float, folds: int = 1) -> float:
    compared = Comparison(difference, difference - 1.96 * error, difference + 1.96 * error, 1.0, 50, 1)
    return expected_gain(usual, compared, folds)


def test_uninformative_folds_leave_the_usual_gain() -> None:
    """Nine times in ten the method suits the data; otherwise it gains nothing on average."""
    for kind, (mean, _) in USUAL.items():
        assert gain(kind, mean, 10.0) == pytest.approx(0.9 * mean, abs=0.002)


def test_precise_folds_override_the_usual_gain() -> None:
    assert gain("questions", 0.05, 0.0, folds=10_000) == pytest.approx(0.05, abs=1e-4)
    assert gain("questions", -0.2, 0.01, folds=100) == pytest.approx(-0.2, abs=0.01), "it does not suit the data"
    assert gain("", 0.12, 0.02) == pytest.approx(0.12, abs=0.01), "nothing is known of encoders"


def test_a_gain_in_short_trainings_may_come_from_more_steps() -> None:
    shown = Comparison(0.095, -0.019, 0.224, 0.1, 50, 2)
    assert expected_gain(OTHER_KIND, shown, 2) > 0 > expected_gain(OTHER_KIND, shown, 2, is_short=True)


def test_small_losses_on_small_folds_count_as_chance() -> None:
    assert gain("self-training", -0.02, 0.05) > 0 > gain("self-training", -0.12, 0.05)
    assert gain("mention_replacement", -0.08, 0.05) < 0.005 < gain("questions", -0.002, 0.06)


def test_the_expected_gain_grows_with_the_difference() -> None:
    for kind in ("", *USUAL):
        gains = [gain(kind, difference / 100, 0.04) for difference in range(-30, 31)]
        assert gains == sorted(gains)


def gains_of(
    text: TextProfile, models: list[str], *, are_names: bool = False, raw_suits: bool = True
) -> dict[str, tuple[float, float] | None]:
    """The usual gain of each system."""
    sizes = {"gold": 400, "raw": 100, "stage_steps": 50}
    other = other_encoder(text, models, has_english=False)
    entries = systems_for(text, ["PER"], models, **sizes, are_names=are_names, other=other)
    table = {
        "name": "grow", "seeds": [0], "data": {"train": "x.conll", "raw": "y.txt"}, "sample": {"folds": 2},
        "tagger": {"model": "bundled"}, "systems": entries,
    }  # fmt: skip
    recipe, issues = parse_recipe(table)
    assert recipe is not None, issues
    better = better_encoders(text, "bundled")
    systems = recipe.systems[1:]
    return {one.name: usual_gain(recipe.chain(one), "bundled", better, raw_suits=raw_suits) for one in systems}


def added(*gains: tuple[float, float]) -> tuple[float, float]:
    """Mean and standard deviation of a sum."""
    return sum(mean for mean, _ in gains), math.hypot(*(spread for _, spread in gains))


def after_start(kind: str) -> tuple[float, float]:
    """The gain of a method whose tagger starts from the bundled one."""
    mean, spread = USUAL[kind]
    return added((LEFT * mean, LEFT * spread), USUAL["start"])


ENGLISH = TextProfile("LATIN", "en", cased=True)


@pytest.mark.parametrize("are_names", [False, True])
def test_every_system_has_its_usual_gain(are_names: bool) -> None:
    usual = after_start if are_names else USUAL.__getitem__
    gains = gains_of(ENGLISH, ["bundled", "mine"], are_names=are_names)
    assert gains == {
        **({"gold, bundled-ner": USUAL["start"]} if are_names else {}),
        "questions": usual("questions"),
        **dict.fromkeys(("questions, relabelled", "questions, relabelled twice", "questions, relabelled three times"),
                        usual("questions again")),
        **dict.fromkeys(("self-training", "self-training, relabelled", "self-training, relabelled twice",
                         "self-training, relabelled three times"), usual("self-training")),
        "melm + agreement": usual("melm"), "aclm + agreement": usual("aclm"),
        "mention replacement": usual("mention_replacement"),
        **{name: None for name in gains if name.endswith(", mine")},
    }  # fmt: skip


def test_the_multilingual_encoder_is_known_to_suit_english_with_capitals() -> None:
    models = ["bundled", "bundled-multilingual"]
    gains = gains_of(ENGLISH, models)
    assert gains["gold, bundled-multilingual"] == CASED
    assert gains["questions, bundled-multilingual"] == added(CASED, USUAL["questions"])
    assert gains_of(ENGLISH, models, are_names=True)["gold, bundled-multilingual"] == added(CASED, USUAL["start"])
    for text in (TextProfile("LATIN", "en", cased=False), TextProfile("LATIN", "de", cased=True)):
        assert gains_of(text, models)["gold, bundled-multilingual"] is None


def test_raw_text_of_another_kind_misleads_all_but_taggers_for_names() -> None:
    gains, usual = gains_of(ENGLISH, ["bundled"], raw_suits=False), gains_of(ENGLISH, ["bundled"])
    misled = {name for name, gain in gains.items() if gain != usual[name]}
    assert misled == {name for name in gains if name.startswith(("questions", "self-training"))}
    assert {gains[name] for name in misled} == {OTHER_KIND}
    assert gain_of(OTHER_KIND, 0.04, 0.12) < 0 < gain_of(OTHER_KIND, 0.15, 0.05)
    names = gains_of(ENGLISH, ["bundled"], are_names=True, raw_suits=False)
    assert names == gains_of(ENGLISH, ["bundled"], are_names=True)


def test_two_encoders_gain_more_depending_on_which_is_last() -> None:
    gains = gains_of(TextProfile("LATIN", "en", cased=False), ["bundled", "bundled-multilingual"], are_names=True)
    last = {"questions, other encoder": bundled.MULTILINGUAL, "questions, other encoder and back": bundled.ENGLISH}
    for name, encoder in last.items():
        assert gains[name] == pytest.approx(added(after_start("questions again"), TWO_ENCODERS[encoder]))
    assert gains["questions, bundled-multilingual"] is None


def test_a_method_gains_more_from_a_better_start() -> None:
    gains = gains_of(ENGLISH, ["bundled"], are_names=True)
    uncertain, large = (Comparison(x, x - y, x + y, 1.0, 50, 1) for x, y in ((0.0, 20.0), (0.12, 0.1)))
    assert gain("self-training", 0.0, 10.0) < expected_gain(gains["self-training"], uncertain, 1)
    assert expected_gain(gains["self-training"], uncertain, 1) < expected_gain(gains["questions"], uncertain, 1)
    assert expected_gain(gains["questions"], large, 1) > expected_gain(gains["gold, bundled-ner"], large, 1)
