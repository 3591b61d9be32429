from __future__ import annotations

import random
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.augment.base import augment
from nersery.augment.label_conditioned import LabelConditioned
from nersery.core.errors import SettingsError
from nersery.core.progress import Progress
from nersery.core.training_context import Training
from nersery.models.masked.masked_inputs import Drawing, MaskedInput
from nersery.models.masked.masked_lm import MaskedLM
from tests.augment.learning import GOLD, LEARNING, NAMES, Asked, prefers

QUICK: dict[str, Any] = {"epochs": 1, "batch_size": 4, "precision": "fp32"}
SHORT = {"PER": "named person", "LOC": "name of a place"}
SENTENCE = Sentence(("Ada", "Lovelace", "saw", "Oslo", "."), (Entity(0, 2, "PER"), Entity(3, 4, "LOC")), id="s")
SHOWN = {0: "named person", 1: "named person", 2: "other", 3: "name of a place"}


def fitted(model: str, **settings: Any) -> LabelConditioned:
    method = LabelConditioned(model, **{**QUICK, "definitions": SHORT, **settings})
    method.fit([SENTENCE, *GOLD])
    return method


def test_each_word_is_guessed_given_the_definition_of_its_type(tiny_masked_lm: str) -> None:
    method = fitted(tiny_masked_lm)
    asked = Asked(method)
    augment(Corpus([SENTENCE]), method_without_fit(method), copies=100)
    assert {masked_input.gaps[0] for masked_input in asked.masked_inputs} == {0, 1, 2, 3}
    for masked_input in asked.masked_inputs:
        assert " ".join(masked_input.condition) == SHOWN[masked_input.gaps[0]]
        assert masked_input.words == SENTENCE.words


def method_without_fit(method: LabelConditioned) -> LabelConditioned:
    """Return the same method, which cannot be fitted again."""
    method.fit = lambda sentences, training=None: None  # type: ignore[method-assign, assignment]
    return method


def test_fine_tuning_hides_another_word_in_every_epoch(tiny_masked_lm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[MaskedInput] = []
    fine_tune = MaskedLM.fine_tune

    def watched(self: MaskedLM, examples: Any, masked_input: Any, plan: Any, **rest: Any) -> Any:
        def kept(example: Any, rng: random.Random) -> MaskedInput:
            seen.append(masked_input(example, rng))
            return seen[-1]

        assert rest["rate"] == 1.0, "all subwords of a word are hidden"
        return fine_tune(self, examples, kept, plan, **rest)

    monkeypatch.setattr(MaskedLM, "fine_tune", watched)
    LabelConditioned(tiny_masked_lm, definitions=SHORT, precision="fp32", epochs=60).fit([SENTENCE])
    assert len(seen) == 60
    places = [masked_input.gaps[0] for masked_input in seen]
    assert set(places) == {0, 1, 2, 3}
    assert all(places.count(place) > 5 for place in SHOWN), "each word with the same chance"
    assert all(
        " ".join(masked_input.condition) == SHOWN[place] for masked_input, place in zip(seen, places, strict=True)
    )


def test_words_are_drawn_from_the_distribution(tiny_masked_lm: str) -> None:
    method = fitted(tiny_masked_lm, top_k=7, by_subword=True, words=2)
    asked = Asked(method)
    method.generate(SENTENCE, random.Random(0))
    assert asked.drawings == [Drawing(7, weighted=True, by_subword=True)] * 2
    assert LabelConditioned().top_k == 50


@pytest.fixture(scope="module")
def learnt(tiny_masked_lm: str) -> LabelConditioned:
    """A method that has learnt the small corpus, which has no artist."""
    method = LabelConditioned(tiny_masked_lm, definitions={**SHORT, "ARTIST": SHORT["PER"]}, top_k=4, **LEARNING)
    method.fit(GOLD, Training(seed=0))
    return method


def test_learns_what_labels_mean(learnt: LabelConditioned) -> None:
    assert all(prefers(learnt, type_, type_) for type_ in NAMES)
    drawn = {type_: set[str]() for type_ in NAMES}
    for seed in range(20):
        rngs = [random.Random(f"{number} {seed}") for number in range(len(GOLD))]
        for sentence, new in zip(GOLD, learnt.generate_batch(list(GOLD), rngs), strict=True):
            assert isinstance(new, Sentence)
            drawn[sentence.entities[0].type].add(new.words[0].capitalize())
    assert all(drawn[type_] == set(names) for type_, names in NAMES.items())


def test_the_meaning_of_a_definition_transfers_to_an_unseen_type(learnt: LabelConditioned) -> None:
    """The name of the type could not do that."""
    assert prefers(learnt, "ARTIST", "PER")


def test_stops_when_dev_no_longer_improves(tiny_masked_lm: str) -> None:
    method = LabelConditioned(tiny_masked_lm, definitions=SHORT, patience=2, **{**LEARNING, "epochs": 1000})
    with Progress("training", quiet=True) as progress:
        method.fit(GOLD, Training(dev=[Sentence(("दिल्ली", "東京"), (Entity(0, 1, "LOC"),))], progress=progress))
    assert progress.done < progress.total == 1000


def test_notes_a_type_without_a_definition_and_uses_its_name(
    tiny_masked_lm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = Sentence(("Ada", "won", "Gold"), (Entity(2, 3, "sports_Prize"), Entity(0, 1, "PER")))
    method = LabelConditioned(tiny_masked_lm, definitions=SHORT, **QUICK)
    method.fit([gold])
    assert "label_conditioned has no definition of sports_Prize, so the model sees only the name" in (
        capsys.readouterr().err
    )
    asked = Asked(method)
    for seed in range(20):
        assert isinstance(method.generate(gold, random.Random(seed)), Sentence)
    assert ("sports", "prize") in {masked_input.condition for masked_input in asked.masked_inputs}


def test_the_note_shows_how_to_add_definitions(tiny_masked_lm: str, capsys: pytest.CaptureFixture[str]) -> None:
    gold = [Sentence(("a", "b"), (Entity(0, 1, "X1"), Entity(1, 2, "y z")), language="en")]
    LabelConditioned(tiny_masked_lm, **QUICK).fit(gold)
    message = capsys.readouterr().err
    assert message.count("note:") == 1
    assert "no definition of X1, y z, so" in message
    assert 'definitions={"X1": "..."}' in message
    LabelConditioned(tiny_masked_lm, definitions={"X1": "a thing", "y z": "another"}, **QUICK).fit(gold)
    LabelConditioned("bundled")._warn_of_undefined(["PER", "LOC", "Amount-Unit", "WORK_OF_ART", "CW"])
    assert capsys.readouterr().err == ""


def test_definitions_of_the_user_override_the_defaults(tiny_masked_lm: str) -> None:
    method = fitted(tiny_masked_lm, definitions={**SHORT, "PER": "somebody"})
    asked = Asked(method)
    for seed in range(30):
        method.generate(SENTENCE, random.Random(seed))
    assert {(*masked_input.condition,) for masked_input in asked.masked_inputs if masked_input.gaps[0] < 2} == {
        ("somebody",)
    }


def test_a_definition_too_long_for_the_model_is_refused_before_training(tiny_masked_lm: str) -> None:
    gold = [Sentence(("Ada", "won"), (Entity(0, 1, "PER"),))] * 50 + [SENTENCE]
    method = LabelConditioned(tiny_masked_lm, definitions={**SHORT, "LOC": "place " * 60}, **QUICK)
    with pytest.raises(SettingsError, match=r'"place place .* has 60 subwords, but only 31 fit in front of a sentence'):
        method.fit(gold)


def test_sentences_without_a_word_to_hide_are_rejected(tiny_masked_lm: str) -> None:
    method = LabelConditioned(tiny_masked_lm, definitions=SHORT, **QUICK)
    result = augment(Corpus([Sentence((".", "!"), (Entity(0, 1, "PER"),))]), method)
    assert [reject.reason for reject in result.rejects] == ["no word to replace"]
