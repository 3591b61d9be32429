from __future__ import annotations

import random

from nersery import Entity, Sentence
from nersery.augment.bda import BDA
from nersery.models.masked.masked_inputs import Drawing
from tests.augment.learning import Asked

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
