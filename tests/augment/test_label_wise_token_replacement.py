import random
import unicodedata
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.augment.label_wise_token_replacement import LabelWiseTokenReplacement
from nersery.core.errors import MissingResourceError

CORPUS = Corpus(
    [
        Sentence(("Ada", "Byron", "King", "met", "the", "the", "the", "queen"), (Entity(0, 3, "PER"),)),
        Sentence(("Oslo", "the", "of"), (Entity(0, 1, "LOC"),)),
        Sentence(("Alan", "Turing"), (Entity(0, 2, "PER"),)),
    ]
)


def draws(method: LabelWiseTokenReplacement, sentence: Sentence, times: int = 2000) -> list[tuple[str, ...]]:
    rng = random.Random(0)
    return [method.generate(sentence, rng).words for _ in range(times)]


def test_beginning_and_inside_draw_from_different_words():
    method = LabelWiseTokenReplacement(rate=1.0)
    method.fit(CORPUS)
    drawn = draws(method, CORPUS[0])
    assert {words[0] for words in drawn} == {"Alan"}
    assert {words[1] for words in drawn} == {"King", "Turing"}
    assert {words[3] for words in drawn} == {"the", "queen", "of"}


def test_words_are_drawn_as_often_as_they_occur_but_never_themselves():
    method = LabelWiseTokenReplacement(rate=1.0)
    method.fit(CORPUS)
    counts = Counter(words[3] for words in draws(method, CORPUS[0], 6000))
    assert counts["met"] == 0
    assert counts["the"] / 6000 == pytest.approx(4 / 6, abs=0.03)
    assert counts["of"] / 6000 == pytest.approx(1 / 6, abs=0.03)


def test_the_only_word_of_its_tag_is_kept():
    method = LabelWiseTokenReplacement(rate=1.0)
    method.fit(CORPUS)
    assert {words[0] for words in draws(method, CORPUS[1], 50)} == {"Oslo"}


@pytest.mark.parametrize("rate", [0.0, 0.2, 1.0])
def test_rate_is_the_share_of_words_replaced(rate: float):
    method = LabelWiseTokenReplacement(rate=rate)
    sentence = Sentence(tuple(f"w{number}" for number in range(20)))
    method.fit([sentence])
    changed = [
        new != old for words in draws(method, sentence, 500) for new, old in zip(words, sentence.words, strict=True)
    ]
    assert sum(changed) / len(changed) == pytest.approx(rate, abs=0.02)


def test_stop_words_are_neither_replaced_nor_inserted(tmp_path: Path):
    path = tmp_path / "stop.txt"
    path.write_text("\ufeffTHE\r\n\r\nof\r\n", "utf-8")
    method = LabelWiseTokenReplacement(rate=1.0, stop_words=str(path))
    method.fit(CORPUS)
    drawn = draws(method, CORPUS[0], 50)
    assert {words[3:] for words in drawn} == {("queen", "the", "the", "the", "met")}


@pytest.mark.parametrize(("in_file", "in_corpus"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_how_accents_of_stop_words_are_encoded_does_not_matter(in_file: str, in_corpus: str, tmp_path: Path):
    (tmp_path / "stop.txt").write_text(unicodedata.normalize(in_file, "Ọmọ\n"), "utf-8")
    word = unicodedata.normalize(in_corpus, "ọmọ")
    method = LabelWiseTokenReplacement(rate=1.0, stop_words=str(tmp_path / "stop.txt"))
    method.fit([Sentence((word, "a", "b"))])
    assert {*draws(method, Sentence((word, "a", "b")), 5)} == {(word, "b", "a")}


def test_words_are_kept_if_their_tag_has_only_stop_words(tmp_path: Path):
    (tmp_path / "stop.txt").write_text("oslo\n")
    method = LabelWiseTokenReplacement(rate=1.0, stop_words=str(tmp_path / "stop.txt"))
    method.fit(CORPUS)
    assert {words[0] for words in draws(method, Sentence(("Rome",), (Entity(0, 1, "LOC"),)), 5)} == {"Rome"}


def test_extra_columns_are_emptied_for_new_words():
    method = LabelWiseTokenReplacement(rate=1.0)
    method.fit(CORPUS)
    sentence = Sentence(("Oslo", "met"), (Entity(0, 1, "LOC"),), columns=(("NNP", "VBD"),))
    assert method.generate(sentence, random.Random(0)).columns == (("NNP", "_"),)


def test_refuses_a_missing_file_of_stop_words():
    with pytest.raises(MissingResourceError, match=r"nowhere\.txt"):
        LabelWiseTokenReplacement(stop_words="nowhere.txt")


def test_words_stay_in_their_language():
    gold = [
        Sentence(("she", "left", "Oslo"), (Entity(2, 3, "LOC"),), id="1", language="en"),
        Sentence(("in", "Rome"), (Entity(1, 2, "LOC"),), id="2", language="en"),
        Sentence(("वह", "दिल्ली", "गई"), (Entity(1, 2, "LOC"),), id="3", language="hi"),
    ]
    method = LabelWiseTokenReplacement(rate=1.0)
    method.fit(gold)
    for parent in (gold[0], replace(gold[0], language="eng")):
        assert {word for words in draws(method, parent, 200) for word in words} == {"she", "left", "in", "Rome"}
    assert set(draws(method, gold[2], 50)) == {("गई", "दिल्ली", "वह")}
    french = Sentence(("elle",), language="fr")
    assert len(set(draws(method, french, 300))) == 5, "gold has no French, so all languages count"


def test_the_ending_after_an_apostrophe_is_kept_and_harmonized():
    texts = [("Ankara'da", "kaldı"), ("Berlin", "güzel"), ("Ankara'nın", "tarihi")]
    gold = [Sentence(words, (Entity(0, 1, "LOC"),), id=words[0], language="tur") for words in texts]
    method = LabelWiseTokenReplacement(rate=1.0)
    method.fit(gold)
    assert [{words[0] for words in draws(method, parent, 50)} for parent in gold] == [
        {"Berlin'de"}, {"Ankara"}, {"Berlin'in"}
    ]  # fmt: skip
