"""Text whose words are characters: methods on a language model replace words of its vocabulary in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoModelForMaskedLM, AutoTokenizer

import nersery
from nersery import Corpus, Entity, Sentence
from nersery.augment.components.vocabulary_words import VocabularyWords
from nersery.core.outcome import Reject, Result
from nersery.core.training_context import Training
from nersery.models.loading import ModelSource

CITIES = ("北京", "东京", "南京", "纽约市")
GOLD = Corpus(
    Sentence((*"我在", *city, *end, "OK"), (Entity(2, 2 + len(city), "LOC"),), f"{city}{end}")
    for city in CITIES[:3]
    for end in ("很久", "工作")
)


@pytest.fixture(scope="module")
def folder(tiny_masked_lms: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("characters")
    tokenizer = AutoTokenizer.from_pretrained(tiny_masked_lms["unigram"])
    tokenizer.add_tokens([*CITIES, "工作", "很久", "我", "在"])
    network = AutoModelForMaskedLM.from_pretrained(tiny_masked_lms["unigram"])
    network.resize_token_embeddings(len(tokenizer))
    network.save_pretrained(target)
    tokenizer.save_pretrained(target)
    return str(target)


def made(folder: str, method: str, **settings: object) -> list[Sentence]:
    result = nersery.augment(GOLD, method, model=folder, copies=4, **settings)
    assert isinstance(result, Result)
    assert len(result.corpus) + len(result.rejects) == 4 * len(GOLD)
    return [*result.corpus]


@pytest.mark.parametrize(("method", "settings"), [("masked_entity", {}), ("melm", {"epochs": 1}), ("bda", {})])
def test_words_are_replaced_and_characters_written(folder: str, method: str, settings: dict[str, object]) -> None:
    sentences = made(folder, method, **settings)
    assert sentences
    for sentence in sentences:
        assert all(len(word) == 1 or word.isascii() for word in sentence.words), sentence.words
        assert [entity.type for entity in sentence.entities] == ["LOC"]
    mentions = {"".join(s.mention(s.entities[0])) for s in sentences}
    assert "纽约市" in mentions or method == "bda", "a name of three characters in place of one of two"


def test_with_join_off_characters_are_replaced(folder: str) -> None:
    assert {len(sentence) for sentence in made(folder, "masked_entity", join=False)} == {len(GOLD[0])}


def test_only_text_in_characters_is_read_so(folder: str) -> None:
    source = ModelSource(folder)
    words = [Sentence(("我", "在", "北京", "工作")), Sentence(("我们", "在", "东京"))]
    assert VocabularyWords.of(words, source) is None
    assert VocabularyWords.of([Sentence(("Ada", "wrote"))], source) is None
    assert VocabularyWords.of([Sentence(("Ada", "京"))], source) is not None


def test_what_gold_has_as_a_word_stays_one(folder: str) -> None:
    reading = VocabularyWords.of([*GOLD, Sentence(("很久",))], ModelSource(folder))
    assert reading is not None
    sentence = Sentence((*"在北京", "很久"), (Entity(1, 3, "LOC"),), "a")
    assert reading.read(sentence).words == ("在", "北京", "很久")
    assert reading.written(reading.read(sentence)) == sentence
    rejected = reading.written(Reject("no", reading.read(sentence)))
    assert isinstance(rejected, Reject)
    assert rejected.sentence == sentence
    assert reading.written(Reject("no")) == Reject("no")


def test_dev_is_read_alike(folder: str) -> None:
    result = nersery.augment(GOLD, "melm", model=folder, epochs=1, dev=GOLD, seed=Training().seed)
    assert isinstance(result, Result)
    assert result.corpus
