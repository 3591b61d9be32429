from __future__ import annotations

import random
from typing import Any

import pytest

from nersery import Entity, Sentence
from nersery.augment.cbt import CBT
from nersery.core.training_context import Training
from nersery.models.masked.masked_inputs import Drawing
from tests.augment.learning import GOLD, LEARNING, Asked, assert_it_learns_what_labels_mean

QUICK: dict[str, Any] = {"epochs": 1, "batch_size": 4, "precision": "fp32"}
SENTENCE = Sentence(("Ada", "Lovelace", "saw", "Oslo", "."), (Entity(0, 2, "PER"), Entity(3, 4, "creative work")))
SHOWN = {0: ("PER",), 1: ("PER",), 2: ("O",), 3: ("creative", "work")}


def test_each_word_is_guessed_given_its_label(tiny_masked_lm: str) -> None:
    method = CBT(tiny_masked_lm, words=4, top_k=9, **QUICK)
    method.fit([SENTENCE])
    asked = Asked(method)
    assert isinstance(method.generate(SENTENCE, random.Random(0)), Sentence)
    assert {masked_input.gaps[0]: masked_input.condition for masked_input in asked.masked_inputs} == SHOWN
    assert asked.drawings == [Drawing(9, weighted=True)] * 4


@pytest.mark.torture  # like that of label_conditioned
def test_learns_what_labels_mean(tiny_masked_lm: str) -> None:
    assert_it_learns_what_labels_mean(CBT(tiny_masked_lm, **LEARNING))


def test_no_type_needs_a_definition(tiny_masked_lm: str, capsys: pytest.CaptureFixture[str]) -> None:
    CBT(tiny_masked_lm, **QUICK).fit([Sentence(("Ada", "won"), (Entity(0, 1, "nobody knows"),))])
    assert "definition" not in capsys.readouterr().err


def test_the_same_seed_gives_the_same_guesses(tiny_masked_lm: str) -> None:
    found = []
    for seed in (1, 1, 2):
        method = CBT(tiny_masked_lm, **{**QUICK, "learning_rate": 1e-2})
        method.fit(GOLD, Training(seed=seed))
        found.append(method.suggest([SENTENCE], [(0,)], 5))
    assert found[0] == found[1] != found[2]
