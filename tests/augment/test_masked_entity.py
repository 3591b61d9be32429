from __future__ import annotations

import random

from nersery import Entity, Sentence
from nersery.augment.masked_entity import MaskedEntity
from nersery.core.text.english import FUNCTION_WORDS
from nersery.models.masked.masked_inputs import Drawing
from tests.augment.learning import Asked

SENTENCE = Sentence(("Ada", "&", "Grace", "saw", "Oslo", "."), (Entity(0, 3, "PER"), Entity(4, 5, "LOC")))


def test_words_of_mentions_are_guessed_at_once_only_from_context(tiny_masked_lm: str) -> None:
    method = MaskedEntity(tiny_masked_lm, top_k=9, by_subword=True, precision="fp32")
    method.fit([SENTENCE])
    asked = Asked(method)
    made = method.generate_batch([SENTENCE] * 60, [random.Random(seed) for seed in range(60)])
    assert asked.drawings == [Drawing(9, by_subword=True)], "one pass, each of the best with the same chance"
    assert {place for masked_input in asked.masked_inputs for place in masked_input.gaps} == {0, 2, 4}, (
        "punctuation stays"
    )
    assert max(len(masked_input.gaps) for masked_input in asked.masked_inputs) == 3
    for new, masked_input in zip(made, asked.masked_inputs, strict=True):
        assert isinstance(new, Sentence)
        assert (masked_input.words, masked_input.condition) == (SENTENCE.words, ())
        kept = [place for place in range(6) if place not in masked_input.gaps]
        assert [new.words[place] for place in kept] == [SENTENCE.words[place] for place in kept]


def test_each_word_is_guessed_with_previous_new_words_if_in_turn(tiny_masked_lm: str) -> None:
    method = MaskedEntity(tiny_masked_lm, mean_rate=1.0, in_turn=True, precision="fp32")
    method.fit([SENTENCE])
    asked = Asked(method)
    (made,) = method.generate_batch([SENTENCE], [random.Random(4)])
    assert isinstance(made, Sentence)
    first, *_ = asked.masked_inputs
    assert [masked_input.gaps for masked_input in asked.masked_inputs] == [
        first.gaps[turn:] for turn in range(len(first.gaps))
    ]
    assert len(first.gaps) > 1
    for turn, masked_input in enumerate(asked.masked_inputs):
        done = first.gaps[:turn]
        assert [masked_input.words[place] for place in done] == [made.words[place] for place in done]


def test_function_words_are_replaced_and_inserted(tiny_masked_lm: str) -> None:
    sentence = Sentence(("the", "Oslo", "won", "."), (Entity(0, 2, "CW"),), language="en")
    method = MaskedEntity(tiny_masked_lm, mean_rate=1.0, top_k=999, precision="fp32")
    method.fit([sentence])
    made = method.generate_batch([sentence] * 200, [random.Random(seed) for seed in range(200)])
    drawn = {word for new in made if isinstance(new, Sentence) for word in new.words[:2]}
    assert not FUNCTION_WORDS.isdisjoint(drawn)
