"""A table returns the sentences it was given, and refuses duplicate ids."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery import Entity, Sentence
from nersery.core.entity import Origin, SoftLabel
from nersery.core.errors import DataError
from nersery.io.temporary_tables.sentence_table import SentenceTable
from tests.io.strategies import full_sentences


@given(st.lists(full_sentences(), max_size=3, unique_by=lambda sentence: sentence.id))
def test_sentences_survive_a_round_trip(given: list[Sentence]) -> None:
    table = SentenceTable(given)
    assert list(table) == given
    assert [sentence.scores for sentence in table] == [sentence.scores for sentence in given]
    assert [table.find(sentence.id) for sentence in given] == given


def test_every_part_of_a_sentence_survives_a_round_trip() -> None:
    whole = Sentence(
        ("Ada", "है"), (Entity(0, 1, "PER", 0.5),), "a~1", "hi", Origin("melm", ("a",), 1), {"sure": -2.0},
        (("x", "_"),), ("# text",), (SoftLabel(0, "PER", 0.5, 0.25),), "letter", ((0, 3), (4, 6)),
    )  # fmt: skip
    assert all(getattr(whole, field.name) for field in fields(whole)), "a new part of a sentence must come back too"
    found = SentenceTable([whole])[0]
    assert found == whole
    assert found.entities[0].score == 0.5


def test_refuses_duplicate_ids() -> None:
    one, other = Sentence(("Ada",), id="a"), Sentence(("Bob",), id="b")
    with pytest.raises(DataError, match="another sentence has the same id"):
        SentenceTable([one, other, one])
    assert SentenceTable([one]).find("b") is None
    with pytest.raises(IndexError):
        SentenceTable([one])[1]


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        ("an old résumé", "resume"),
        ("נָכוֹן", "נכון"),
        ("Ọ̀jọ̀gbọ́n Ṣóyínká", "ojogbon soyinka"),
        ("ＮＨＫ ｶﾞｲﾄﾞ", "NHKガイド"),
        ("第 二 羅 馬 帝 國", "羅馬"),
        ("Oslo , Norway", "Oslo, Nor"),
        ("می\u200cشود", "میشود"),
        ("Istanbul", "İstanbul"),
        ("a \u200b b", "\u200b"),
    ],
)
def test_finds_text_as_people_type_it_and_as_it_is_written(words: str, typed: str) -> None:
    table = SentenceTable([Sentence(tuple(words.split(" ")), id="a"), Sentence(("other",), id="b")], searchable=True)
    assert table.containing(typed) == table.containing(words) == [0]


@pytest.mark.parametrize(("words", "typed"), [("in form", "inform"), ("か", "が"), ("की", "का")])
def test_does_not_find_other_words(words: str, typed: str) -> None:
    table = SentenceTable([Sentence(tuple(words.split()), id="a")], searchable=True)
    assert table.containing(typed) == []
