from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.augment.base import NO_ENTITIES, augment
from nersery.augment.daga import DAGA, OTHER_LANGUAGE, UNFINISHED
from nersery.augment.linearized.linearization import language_token, tag_token
from nersery.augment.linearized.parsing import ILLEGAL, LEFT_OVER, ONLY_PUNCTUATION, WITHOUT_WORD
from nersery.core.errors import SettingsError
from nersery.core.outcome import Reject
from nersery.core.training_context import Training
from nersery.models.tokens import UNKNOWN

GOLD = Corpus(
    [
        Sentence(("Ada", "Lo", "won", "."), (Entity(0, 2, "PER"),), id="a"),
        Sentence(("we", "saw", "Oslo", "."), (Entity(2, 3, "LOC"),), id="b"),
        Sentence(("we", "won", "again", "."), id="c"),
    ]
)
TINY = DAGA(embedding_size=8, hidden_size=16, dropout=0.0, epochs=2, device="cpu")
B_PER, I_PER, B_LOC = tag_token("PER", begins=True), tag_token("PER", begins=False), tag_token("LOC", begins=True)


class Wrote:
    """Replaces a model, and always writes the same text."""

    def __init__(self, *text: str) -> None:
        self.text, self.asked, self.texts = text, {}, 0

    def sample(self, rngs: list[random.Random], **asked: Any) -> list[tuple[str, ...] | None]:
        self.asked, self.texts = asked, len(rngs)
        return [self.text or None for _ in rngs]


def fitted(*text: str, gold: Corpus = GOLD) -> DAGA:
    """Return a method whose model writes the text."""
    method: Any = replace(TINY)
    method.fit(gold)
    method._lm = Wrote(*text)
    return method


def made(*text: str, parent: Sentence = GOLD[0]) -> Sentence | Reject:
    return fitted(*text).generate(parent, random.Random(0))


def test_the_text_of_the_model_becomes_a_sentence() -> None:
    sentence = made("we", "saw", B_PER, "we", I_PER, "won", ".")
    assert isinstance(sentence, Sentence)
    assert sentence.text == "we saw we won ."
    assert sentence.labels == ((2, 4, "PER"),)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ((), UNFINISHED),
        (("we", "won"), NO_ENTITIES),
        ((B_PER, B_LOC, "won"), WITHOUT_WORD),
        ((I_PER, "won"), ILLEGAL),
        ((I_PER, UNKNOWN, tag_token("LOC", begins=False), UNKNOWN), LEFT_OVER),
    ],
)
def test_malformed_text_is_rejected_with_its_reason(text: tuple[str, ...], reason: str) -> None:
    outcome = made(*text)
    assert isinstance(outcome, Reject)
    assert outcome.reason == reason


def test_an_entity_of_only_signs_is_rejected_unless_gold_has_it() -> None:
    outcome = made("we", B_PER, ".")
    assert isinstance(outcome, Reject)
    assert outcome.reason == ONLY_PUNCTUATION
    units = Corpus([*GOLD, Sentence(("5", "%"), (Entity(1, 2, "UNIT"),), id="d")])
    text = ("we", tag_token("UNIT", begins=True), "%")
    assert isinstance(fitted(*text, gold=units).generate(GOLD[0], random.Random(0)), Sentence)


def test_rare_words_come_back_under_their_own_tags() -> None:
    """Each word of gold occurs once, except we, won and the full stop."""
    method = fitted(B_PER, UNKNOWN, I_PER, UNKNOWN, UNKNOWN, B_LOC, UNKNOWN)
    texts = {method.generate(GOLD[0], random.Random(seed)) for seed in range(30)}
    assert all(isinstance(text, Sentence) for text in texts)
    assert {text.words for text in texts if isinstance(text, Sentence)} == {
        ("Ada", "Lo", "saw", "Oslo"),
        ("Ada", "Lo", "again", "Oslo"),
    }


def test_the_vocabulary_has_words_that_are_frequent_in_gold() -> None:
    for least, known in ((1, {"Ada", "Lo", "Oslo", "saw", "again", "we", "won", "."}), (2, {"we", "won", "."})):
        method: Any = replace(TINY, min_count=least)
        method.fit(GOLD)
        assert {word for word in method._lm.words if not word.startswith("\t")} == known
        assert {B_PER, I_PER, B_LOC} <= set(method._lm.words)


def test_a_text_begins_with_its_language_if_gold_has_several() -> None:
    gold = Corpus(replace(sentence, language=language) for sentence, language in zip(GOLD, "xyx", strict=True))
    method: Any = fitted(language_token("x"), B_PER, UNKNOWN, "won", gold=gold)
    sentence = method.generate(gold[0], random.Random(0))
    assert (sentence.text, sentence.language) == ("Ada won", "x")
    assert method._lm.asked["starts"] == [(language_token("x"),)]
    assert method.generate(gold[1], random.Random(0)).reason == LEFT_OVER, "y has no rare word of PER"
    assert fitted("we", gold=GOLD).generate(GOLD[0], random.Random(0)).reason == NO_ENTITIES
    assert fitted("we")._has_language_token is False


def test_a_parent_without_a_language_gets_one_of_gold() -> None:
    gold = Corpus(replace(sentence, language=language) for sentence, language in zip(GOLD, "xyx", strict=True))
    x, y = language_token("x"), language_token("y")
    method: Any = fitted(x, B_PER, UNKNOWN, "won", gold=gold)
    outcomes = method.generate_batch([GOLD[0]] * 20, [random.Random(seed) for seed in range(20)])
    starts = method._lm.asked["starts"]
    assert {*starts} == {(x,), (y,)}
    for (start,), outcome in zip(starts, outcomes, strict=True):  # y has no rare word of PER
        assert outcome.reason == LEFT_OVER if start == y else (outcome.text, outcome.language) == ("Ada won", "")
    unsaid: Any = fitted(x, "we", gold=Corpus([*gold, replace(GOLD[0], id="d")]))
    unsaid.generate(replace(GOLD[0], language="z"), random.Random(0))
    assert unsaid._lm.asked["starts"] == [(language_token(""),)]


def test_rejects_a_parent_in_a_language_that_is_not_in_gold() -> None:
    english, hindi = (replace(GOLD[0], language=language) for language in ("en", "hi"))
    text = ("we", "saw", B_PER, "we")
    for gold, parent in (
        (Corpus([english]), hindi),
        (Corpus([english, replace(hindi, id="h")]), replace(hindi, language="ta")),
    ):
        outcome = fitted(*text, gold=gold).generate(parent, random.Random(0))
        assert isinstance(outcome, Reject)
        assert outcome.reason == OTHER_LANGUAGE
    method: Any = fitted(*text, gold=Corpus([english]))
    outcomes = method.generate_batch([hindi, english, hindi], [random.Random(0)] * 3)
    assert [type(outcome) for outcome in outcomes] == [Reject, Sentence, Reject]
    assert method._lm.texts == 1
    for gold, parent in ((Corpus([english]), english), (Corpus([english]), GOLD[0]), (GOLD, hindi)):
        assert isinstance(fitted(*text, gold=gold).generate(parent, random.Random(0)), Sentence)


def test_extra_columns_are_filled() -> None:
    parent = replace(GOLD[0], columns=(("x",) * 4,))
    sentence = made(B_PER, "we", parent=parent)
    assert isinstance(sentence, Sentence)
    assert sentence.columns == (("_",),)


def test_limits_reach_the_model() -> None:
    method: Any = fitted("we")
    method.max_words, method.temperature = 7, 0.5
    method.generate(GOLD[0], random.Random(0))
    assert method._lm.asked == {"max_words": 7, "temperature": 0.5, "starts": [()]}


def test_works_with_a_tiny_model() -> None:
    gold = Corpus(
        [*(replace(GOLD[0], id=f"a{n}") for n in range(6)), *(replace(GOLD[1], id=f"b{n}") for n in range(6))]
    )
    method = replace(TINY, epochs=40, learning_rate=0.3, min_count=1)
    results = [augment(gold, method, copies=5, seed=1, batch_size=size) for size in (7, 60)]
    assert [repr(result.corpus.sentences) for result in results[:1]] == [repr(results[1].corpus.sentences)]
    assert results[0].tally.written > 10
    assert UNKNOWN not in {word for sentence in results[0].corpus for word in sentence.words}


def test_a_training_resumes_only_with_the_same_settings(tmp_path: Path) -> None:
    method: Any = replace(TINY)
    method.fit(GOLD, Training(folder=tmp_path / "state"))
    again: Any = replace(TINY)
    again.fit(Corpus(reversed(list(GOLD))), Training(folder=tmp_path / "state"))
    assert again._lm.network.output.weight.equal(method._lm.network.output.weight)
    for other in (replace(TINY, temperature=2.0), replace(TINY, epochs=3)):
        with pytest.raises(SettingsError):
            other.fit(GOLD, Training(folder=tmp_path / "state"))


def test_refuses_a_temperature_of_0() -> None:
    with pytest.raises(SettingsError, match="temperature is 0, expected a number above 0"):
        DAGA(temperature=0.0)
