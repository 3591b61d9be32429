from __future__ import annotations

import itertools

import pytest

from nersery import Entity, Sentence
from nersery.core.majority import METHOD, majority, merged_by_vote
from nersery.core.sentence import Origin

WORDS = ("Ada", "Lovelace", "in", "Oslo")
WHOLE, PART, OTHER = Entity(0, 2, "PER", score=0.8), Entity(0, 1, "PER", score=0.6), Entity(0, 2, "ORG", score=0.9)
PLACE = Entity(3, 4, "LOC")


def labelled(*entities: Entity, id: str = "raw:1") -> Sentence:
    return Sentence(WORDS, entities, id=id, origin=Origin("tagger_labels"))


def test_an_entity_counts_only_with_the_same_words_and_type() -> None:
    found = majority([labelled(WHOLE, PLACE), labelled(PART, PLACE), labelled(OTHER)])
    assert found.entities == (PLACE,)
    assert found.entities[0].score == pytest.approx(2 / 3)


def test_half_is_not_a_majority() -> None:
    assert majority([labelled(WHOLE), labelled()]).entities == ()
    assert majority([labelled(WHOLE), labelled(WHOLE)]).entities == (WHOLE,)


def test_every_vote_counts_the_same_whatever_the_order() -> None:
    versions = [labelled(WHOLE, PLACE), labelled(PART), labelled(WHOLE), labelled(PART, PLACE), labelled(WHOLE, PLACE)]
    for order in itertools.permutations(versions):
        found = majority(order)
        assert found.entities == (WHOLE, PLACE)
        assert [entity.score for entity in found.entities] == pytest.approx([0.48, 0.6])


def test_keeps_a_single_vote_unchanged() -> None:
    alone = labelled(PART)
    assert majority([alone]) is alone


def test_yields_each_sentence_once_in_order_of_first_occurrence() -> None:
    found = merged_by_vote([labelled(WHOLE), labelled(PLACE, id="raw:2"), labelled(WHOLE, PLACE)])
    assert [sentence.id for sentence in found] == ["raw:1", "raw:2"]
    assert found[0].entities == (WHOLE,)
    assert [sentence.origin and sentence.origin.method for sentence in found] == [METHOD, "tagger_labels"]
