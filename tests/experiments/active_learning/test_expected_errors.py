"""The expected errors of a sentence, and the choice of sentences that are far from each other."""

from __future__ import annotations

import numpy as np
import pytest

from nersery import Entity, Sentence
from nersery.core.sentence import SoftLabel
from nersery.experiments.active_learning.expected_errors import expected_errors
from nersery.experiments.active_learning.farthest_first import farthest_first

WORDS = ("Ada", "Lovelace", "met", "Bo")


def reading(*entities: Entity, soft: tuple[SoftLabel, ...] = ()) -> Sentence:
    return Sentence(WORDS, entities, soft_labels=soft)


def test_counts_possibly_missed_entities_except_those_inside_a_predicted_one() -> None:
    ada = Entity(0, 2, "PER", 0.9)
    missed = SoftLabel(3, "PER", 0.3, 0.0)
    assert expected_errors([reading(ada, soft=(missed,))]) == pytest.approx(0.1 + 0.3)
    inside = SoftLabel(1, "LOC", 0.4, 0.5)
    assert expected_errors([reading(ada, soft=(inside,))]) == pytest.approx(0.1)
    two = (missed, SoftLabel(3, "LOC", 0.2, 0.4))
    assert expected_errors([reading(soft=two)]) == pytest.approx(0.5), "a word may begin one of several types"


def test_long_sentences_without_doubt_have_no_expected_errors() -> None:
    sure = Sentence(("word",) * 500, (Entity(0, 1, "PER", 1.0),))
    assert expected_errors([sure]) == 0


def test_disagreement_counts_even_if_every_tagger_is_sure() -> None:
    whole, part, other = Entity(0, 2, "PER", 1.0), Entity(0, 1, "PER", 1.0), Entity(0, 2, "LOC", 1.0)
    assert expected_errors([reading(whole), reading(whole)]) == 0
    assert expected_errors([reading(whole), reading(part)]) == pytest.approx(1.0)
    assert expected_errors([reading(whole), reading(other)]) == pytest.approx(1.0)
    two_of_three = expected_errors([reading(whole), reading(whole), reading()])
    assert 0 < two_of_three < expected_errors([reading(whole), reading()])


def test_farthest_first_weighs_distance_by_worth() -> None:
    angles = np.array([0.0, 0.01, 2.0, 4.0])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    nothing = vectors[:0]
    assert farthest_first([1.0, 0.9, 0.2, 0.3], vectors, nothing, 3) == [0, 3, 2]
    assert farthest_first([1.0, 0.9, 0.0, 0.0], vectors, nothing, 2) == [0, 1], "what is worth nothing stays"
    assert farthest_first([1.0, 0.9, 0.2, 0.3], vectors, vectors[:1], 1) != [0], "a known sentence is not taken again"
    assert sorted(farthest_first([0.0] * 4, vectors, nothing, 9)) == [0, 1, 2, 3]
