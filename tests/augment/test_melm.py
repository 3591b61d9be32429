from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from nersery import Corpus, Entity, Origin, Sentence
from nersery.augment.base import augment
from nersery.augment.melm import MELM
from nersery.core.text.english import FUNCTION_WORDS
from nersery.core.training_context import Training
from nersery.models.masked.masked_inputs import Drawing, MaskedInput
from nersery.models.masked.masked_lm import MaskedLM
from nersery.models.tokens import TOKEN_PREFIX
from tests.augment.learning import (
    GOLD,
    LEARNING,
    NAMES,
    Asked,
    assert_it_ignores_labels,
    assert_it_learns_what_labels_mean,
)

QUICK: dict[str, Any] = {"epochs": 1, "batch_size": 4, "precision": "fp32"}
SENTENCE = Sentence(("Ada", "&", "Grace", "saw", "Oslo", "."), (Entity(0, 3, "PER"), Entity(4, 5, "LOC")))


def plain(masked_input: MaskedInput) -> str:
    """Show a masked_input with its gaps in brackets."""
    words = [f"[{word}]" if number in masked_input.gaps else word for number, word in enumerate(masked_input.words)]
    return " ".join(words).replace(TOKEN_PREFIX, "")


def test_each_word_of_a_mention_is_between_its_tags(tiny_masked_lm: str) -> None:
    method = MELM(tiny_masked_lm, mean_rate=1.0, top_k=9, **QUICK)
    method.fit([SENTENCE])
    asked = Asked(method)
    method.generate_batch([SENTENCE] * 40, [random.Random(seed) for seed in range(40)])
    assert asked.drawings == [Drawing(9)], "one pass, each of the best with the same chance"
    shown = "<b-PER> [Ada] <b-PER> <i-PER> & <i-PER> <i-PER> [Grace] <i-PER> saw <b-LOC> [Oslo] <b-LOC> ."
    assert shown in {plain(masked_input) for masked_input in asked.masked_inputs}
    assert {plain(masked_input).replace("[", "").replace("]", "") for masked_input in asked.masked_inputs} == {
        shown.replace("[", "").replace("]", "")
    }
    assert {masked_input.condition for masked_input in asked.masked_inputs} == {()}


def test_new_words_replace_the_old_ones_in_place(tiny_masked_lm: str) -> None:
    method = MELM(tiny_masked_lm, **QUICK)
    method.fit([SENTENCE])
    for seed in range(30):
        new = method.generate(SENTENCE, random.Random(seed))
        assert isinstance(new, Sentence)
        assert new.labels == SENTENCE.labels
        assert (new.words[1], new.words[3], new.words[5]) == ("&", "saw", ".")


def test_fine_tuning_hides_subwords_of_all_mentions(tiny_masked_lm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    fine_tune = MaskedLM.fine_tune

    def watched(self: MaskedLM, examples: Any, masked_input: Any, plan: Any, **rest: Any) -> Any:
        seen.extend(plain(masked_input(example, random.Random(0))) for example in examples)
        assert (rest["rate"], plan.epochs, plan.batch_size, plan.optimizer) == (0.6, 1, 4, "adam")
        return fine_tune(self, examples, masked_input, plan, **rest)

    monkeypatch.setattr(MaskedLM, "fine_tune", watched)
    MELM(tiny_masked_lm, mask_rate=0.6, **QUICK).fit([SENTENCE, Sentence(("nobody", "won"))])
    shown = "<b-PER> [Ada] <b-PER> <i-PER> [&] <i-PER> <i-PER> [Grace] <i-PER> saw <b-LOC> [Oslo] <b-LOC> ."
    assert seen == [shown], "sentences without entities teach nothing"


def test_learns_what_labels_mean(tiny_masked_lm: str) -> None:
    method = MELM(tiny_masked_lm, top_k=4, **LEARNING)
    assert_it_learns_what_labels_mean(method)
    for sentence in GOLD:
        for seed in range(10):
            new = method.generate(sentence, random.Random(seed))
            assert isinstance(new, Sentence)
            assert new.words[0].capitalize() in NAMES[sentence.entities[0].type]


def test_ignores_labels_without_tags(tiny_masked_lm: str) -> None:
    method = MELM(tiny_masked_lm, linearize=False, **{**LEARNING, "epochs": 20})
    assert_it_ignores_labels(method)
    asked = Asked(method)
    method.generate(SENTENCE, random.Random(0))
    assert asked.masked_inputs[0].words == SENTENCE.words


def test_tag_embeddings_start_from_the_description_of_the_type(tiny_masked_lm: str) -> None:
    method = MELM(tiny_masked_lm, descriptions={"LOC": "name of place"}, **{**QUICK, "learning_rate": 1e-12})
    method.fit([SENTENCE])
    encoder, vectors = method._lm.encoder, method._lm.network.get_input_embeddings().weight
    for tag, text in (("b-PER", "person"), ("i-PER", "person"), ("b-LOC", "name of place"), ("i-LOC", "name of place")):
        subwords = [subword for word in encoder.subwords(text.split()) for subword in word]
        (number,) = encoder.token_ids[f"{TOKEN_PREFIX}<{tag}>"]
        assert torch.allclose(vectors[number], vectors[subwords].mean(0), atol=1e-6)


def test_types_that_differ_only_in_case_have_their_own_tokens(tiny_masked_lm: str) -> None:
    gold = [Sentence(("Ada", "saw", "Oslo"), (Entity(0, 1, "Per"), Entity(2, 3, "PER")))]
    method = MELM(tiny_masked_lm, descriptions={"Per": "person", "PER": "name of place"}, **QUICK)
    method.fit(gold)
    asked = Asked(method)
    method.generate(gold[0], random.Random(0))
    shown = plain(asked.masked_inputs[0]).replace("[", "").replace("]", "")
    assert shown == "<b-Per> Ada <b-Per> saw <b-PER> Oslo <b-PER>"
    assert len({method._lm.encoder.token_ids[f"{TOKEN_PREFIX}<b-{type_}>"] for type_ in ("Per", "PER")}) == 2


def test_dev_may_have_types_that_are_not_in_gold(tiny_masked_lm: str) -> None:
    dev = [Sentence(("Ada", "won"), (Entity(0, 1, "NEW"),), language="xx"), Sentence(("nobody",))]
    method = MELM(tiny_masked_lm, **QUICK)
    method.fit([SENTENCE], Training(dev=dev))
    assert {f"{TOKEN_PREFIX}<b-{type_}>" for type_ in ("PER", "LOC", "NEW")} <= method._lm.encoder.token_ids.keys()


class TestLanguages:
    ENGLISH = Sentence(("Ada", "saw", "London"), (Entity(0, 1, "PER"), Entity(2, 3, "LOC")), language="en")
    HINDI = Sentence(("राम", "दिल्ली", "में"), (Entity(0, 1, "PER"), Entity(1, 2, "LOC")), language="hi")
    MIXED = Sentence(
        ("Ada", "saw", "दिल्ली"),
        (Entity(0, 1, "PER"), Entity(2, 3, "LOC")),
        language="en",
        origin=Origin("code_mixing", ("1",), 1),
    )

    def shown(self, model: str, gold: list[Sentence], sentence: Sentence, **settings: Any) -> str:
        method = MELM(model, mean_rate=1.0, **{**QUICK, **settings})
        method.fit(gold)
        asked = Asked(method)
        assert isinstance(method.generate(sentence, random.Random(0)), Sentence)
        return plain(asked.masked_inputs[0]).replace("[", "").replace("]", "")

    def test_a_marker_comes_before_each_entity(self, tiny_masked_lm: str) -> None:
        shown = self.shown(tiny_masked_lm, [self.ENGLISH, self.HINDI], self.ENGLISH)
        assert shown == "<language en> <b-PER> Ada <b-PER> saw <language en> <b-LOC> London <b-LOC>"

    def test_a_mixed_in_mention_has_its_own_language(self, tiny_masked_lm: str) -> None:
        shown = self.shown(tiny_masked_lm, [self.ENGLISH, self.HINDI, self.MIXED], self.MIXED)
        assert shown == "<language en> <b-PER> Ada <b-PER> saw <language hi> <b-LOC> दिल्ली <b-LOC>"

    def test_one_language_needs_no_marker(self, tiny_masked_lm: str) -> None:
        assert "language" not in self.shown(tiny_masked_lm, [self.ENGLISH], self.ENGLISH)
        assert "language" not in self.shown(tiny_masked_lm, [self.ENGLISH, SENTENCE], SENTENCE)

    def test_a_language_that_is_not_in_gold_gets_a_marker_too(self, tiny_masked_lm: str) -> None:
        tamil = Sentence(("ராம்", "won"), (Entity(0, 1, "PER"),), language="ta")
        shown = self.shown(tiny_masked_lm, [self.ENGLISH, self.HINDI], tamil)
        assert shown == "<language ta> <b-PER> ராம் <b-PER> won"
        unknown = Sentence(("Ada", "won"), (Entity(0, 1, "ORG"),))
        shown = self.shown(tiny_masked_lm, [self.ENGLISH, self.HINDI], unknown)
        assert shown == "<language en> <b-ORG> Ada <b-ORG> won"

    def test_there_is_no_marker_without_linearization(self, tiny_masked_lm: str) -> None:
        gold = [self.ENGLISH, self.HINDI]
        assert self.shown(tiny_masked_lm, gold, self.ENGLISH, linearize=False) == "Ada saw London"


def test_order_and_batch_size_do_not_matter_with_new_types(tiny_masked_lm: str) -> None:
    """Tokens that are added later change no word of other sentences."""
    corpus = [
        Sentence(("we", "saw", f"Ada{number}"), (Entity(2, 3, f"TYPE{number}"),), id=str(number))
        for number in range(20)
    ]

    class Fitted(MELM):
        def fit(self, gold: Any, training: Any = None) -> None:
            super().fit([SENTENCE])

    results = []
    for order, size in ((corpus, 1), (corpus, 64), (corpus[::-1], 7)):
        result = augment(Corpus(order), Fitted(tiny_masked_lm, **QUICK), batch_size=size, copies=2)
        results.append({sentence.id: sentence for sentence in result.corpus})
    assert results[0] == results[1] == results[2]
    assert len(results[0]) > 20


@pytest.mark.parametrize("linearize", [True, False])
def test_a_turkish_name_keeps_its_ending(tiny_masked_lm: str, *, linearize: bool) -> None:
    sentence = Sentence(("London'da", "won"), (Entity(0, 1, "LOC"),), language="tr")
    method = MELM(tiny_masked_lm, mean_rate=1.0, linearize=linearize, **QUICK)
    method.fit([sentence])
    made = method.generate_batch([sentence] * 9, [random.Random(seed) for seed in range(9)])
    words = {new.words[0] for new in made if isinstance(new, Sentence)}
    assert len(words) > 1
    assert all(word.endswith(("'da", "'de", "'ta", "'te")) for word in words)


def test_function_words_are_kept_and_never_inserted(tiny_masked_lm: str) -> None:
    sentence = Sentence(("the", "Oslo", "of", "Ada", "won", "."), (Entity(0, 4, "CW"),), language="en")
    method = MELM(tiny_masked_lm, mean_rate=1.0, top_k=999, linearize=False, **QUICK)
    method.fit([sentence])
    asked = Asked(method)
    made = method.generate_batch([sentence] * 60, [random.Random(seed) for seed in range(60)])
    assert {place for masked_input in asked.masked_inputs for place in masked_input.gaps} == {1, 3}
    drawn = {word for new in made if isinstance(new, Sentence) for word in (new.words[1], new.words[3])}
    assert len(drawn) > 9
    assert FUNCTION_WORDS.isdisjoint(drawn)
