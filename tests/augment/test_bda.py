from __future__ import annotations

import random

import torch

from nersery import Entity, Sentence
from nersery.augment.bda import BDA
from nersery.core.training_context import Training
from nersery.models.loading import ModelSource
from nersery.models.masked.masked_inputs import Drawing
from tests.augment.learning import GOLD, Asked, assert_it_cannot_know_labels

SENTENCE = Sentence(("Ada", "Lovelace", "saw", "Oslo", "."), (Entity(0, 2, "PER"), Entity(3, 4, "LOC")))


def test_any_word_is_guessed_without_a_condition(tiny_masked_lm: str) -> None:
    method = BDA(tiny_masked_lm, words=4, top_k=9, by_subword=True, precision="fp32")
    method.fit([SENTENCE])
    asked = Asked(method)
    assert isinstance(method.generate(SENTENCE, random.Random(0)), Sentence)
    assert {masked_input.gaps: masked_input.condition for masked_input in asked.masked_inputs} == {
        (place,): () for place in range(4)
    }
    assert asked.drawings == [Drawing(9, weighted=True, by_subword=True)] * 4


def test_it_cannot_know_labels(tiny_masked_lm: str) -> None:
    assert_it_cannot_know_labels(BDA(tiny_masked_lm, precision="fp32"))


def test_the_model_stays_as_it_was_pretrained(tiny_masked_lm: str) -> None:
    method = BDA(tiny_masked_lm)
    method.fit(GOLD, Training(dev=GOLD, seed=3))
    pretrained = dict(ModelSource(tiny_masked_lm).masked_lm().named_parameters())
    assert all(torch.equal(weight, pretrained[name]) for name, weight in method._lm.network.named_parameters())
