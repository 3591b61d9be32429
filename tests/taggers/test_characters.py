"""Taggers of text whose words are single characters: they join them into words of their vocabulary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from transformers import AutoModel, AutoTokenizer

from nersery.core.sentence import Entity, Sentence
from nersery.core.training_context import Training
from nersery.taggers.base import load_tagger
from nersery.taggers.networks.word_attention import word_attention
from nersery.taggers.transformer import TransformerTagger
from tests.taggers.small_taggers import small

CITIES = ("北京", "东京", "南京")
GOLD = [
    Sentence((*"我在", *city, *end), (Entity(2, 4, "LOC"),), f"{city}{end}")
    for city in CITIES
    for end in ("很久", "工作", "。")
] + [Sentence(tuple(text), id=text) for text in ("我在工作", "我很久", "工作很久。")]
INNER = Sentence(tuple("我在北京"), (Entity(2, 3, "LOC"),), "inner")
"""Its entity ends within a word of the vocabulary."""


@pytest.fixture(scope="module")
def folder(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("characters")
    tokenizer = AutoTokenizer.from_pretrained(tiny_models["unigram"])
    tokenizer.add_tokens([*CITIES, "工作", "很久", "我", "在", "。"])
    network = AutoModel.from_pretrained(tiny_models["unigram"])
    network.resize_token_embeddings(len(tokenizer))
    network.save_pretrained(target)
    tokenizer.save_pretrained(target)
    return str(target)


@pytest.fixture(scope="module")
def tagger(folder: str) -> TransformerTagger:
    tagger = small(folder)
    tagger.fit(GOLD, Training(GOLD))
    return tagger


def test_learns_words_of_its_vocabulary_and_labels_characters(tagger: TransformerTagger, tmp_path: Path) -> None:
    predicted = tagger.predict(GOLD)
    assert [s.words for s in predicted] == [s.words for s in GOLD]
    assert [s.labels for s in predicted] == [s.labels for s in GOLD]
    tagger.save(tmp_path)
    assert [s.labels for s in load_tagger(tmp_path).predict(GOLD)] == [s.labels for s in GOLD]


def test_reads_single_characters_with_join_off(folder: str) -> None:
    tagger = small(folder, join=False, steps=2)
    tagger.fit(GOLD)
    assert len(tagger._examples(GOLD[0])[0].window.firsts) == len(GOLD[0])
    assert [s.words for s in tagger.predict(GOLD)] == [s.words for s in GOLD]


def test_trains_on_and_judges_entities_that_end_within_a_word(folder: str, tagger: TransformerTagger) -> None:
    small(folder, steps=2).fit([*GOLD, INNER])
    shares = tagger.certainty([INNER, GOLD[0]], passes=4)
    assert [len(of_words) for of_words in shares] == [len(INNER), len(GOLD[0])]
    assert shares[1][2] == shares[1][3]


def test_soft_labels_are_per_character_and_can_be_trained_on(folder: str, tagger: TransformerTagger) -> None:
    rough = small(folder, steps=4)
    rough.fit(GOLD)
    soft = rough.predict_soft(GOLD)
    assert [s.words for s in soft] == [s.words for s in GOLD]
    begins = {label.word: label.begin + label.inside for label in soft[0].soft_labels}
    assert begins[2] == pytest.approx(begins[3], abs=1e-3)
    assert [label.begin for label in soft[0].soft_labels if label.word == 3] == [0.0]
    small(folder, steps=2).fit(soft)


def test_attention_of_characters_is_that_of_their_joined_words(tagger: TransformerTagger) -> None:
    joined = Sentence(("我", "在", "北京", "很久"), (Entity(2, 3, "LOC"),), "joined")
    characters = Sentence(tuple("我在北京很久"), (Entity(2, 4, "LOC"),), "characters")
    of_words, of_characters = word_attention(tagger, [joined, characters])
    joint = [0, 1, 2, 2, 3, 3]
    assert of_characters.tolist() == of_words[np.ix_(joint, joint)].tolist()
