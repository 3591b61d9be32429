"""Similarity of words, within a script and across scripts."""

import numpy as np
import pytest

from nersery.crosslingual.hmm.string_similarity import WordFeatures, consonant_skeleton, romanized


def similarity(left, right):
    features = WordFeatures()
    return features.similarity(features.rows([left]), features.rows([right]))[0]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Oslo", "OSLO"),
        ("1,000", "1.000"),
        ("1000", "१०००"),
        ("2", "٢"),
        (".", "।"),
        (".", "۔"),
        (",", "၊"),
        ('"', "«"),
        ('"', "„"),
        ("“", "「"),
        ("(", "（"),
        ("北京", "北京"),
        ("NATO", "ＮＡＴＯ"),
        ("ベルリン", "ﾍﾞﾙﾘﾝ"),
        ("🚀", "🚀"),
        ("Москва", "Moskva"),
        ("Obama", "ओबामा"),
        ("Obama", "โอบามา"),
        ("Addis", "አዲስ"),
    ],
)
def test_similar_words_score_high_in_both_orders(left, right):
    assert similarity(left, right) > 0.9
    assert similarity(left, right) == similarity(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1000", "100"),
        ("1000", "thousand"),
        ("(", ")"),
        ("(", "„"),
        (".", "a"),
        ("river", "house"),
        ("river", "нос"),
        ("to", "तो"),  # too short to compare
        ("北京", "東京"),
        ("", "a"),
        ("🚀", "🍎"),
    ],
)
def test_dissimilar_words_score_zero(left, right):
    assert similarity(left, right) == 0


def test_closer_words_score_higher():
    assert 0 < similarity("Germany", "Germania") < similarity("Germany", "Germani") < 1
    assert similarity("parliament", "parlamento") > 0.2
    assert similarity("Delhi", "दिल्ली") == 0, "two consonants are too few"
    assert similarity("Washington", "वाशिंगटन") > 0.5
    assert similarity("Trump", "トランプ") > 0.4


def test_words_are_romanized():
    assert romanized("서울") == "seoul"
    assert romanized("Ærøskøbing")[2:] == "roskobing"
    assert romanized("東京 ., 12") == ""
    assert consonant_skeleton(romanized("Толстой")) == consonant_skeleton("tolstoy")
    assert consonant_skeleton("") == ""


def test_a_batch_of_pairs_equals_single_pairs():
    words = ["Oslo", "oslo", "1", "१", ".", "।", "Paris", "парис", "Parijs", "x", "東京", "", "\u0301", "river"]
    features = WordFeatures()
    rows = features.rows(words)
    left, right = (side.ravel() for side in np.meshgrid(rows, rows))
    expected = [similarity(words[one], words[other]) for one, other in zip(left, right, strict=True)]
    assert features.similarity(left, right).tolist() == expected
    assert features.rows(["Oslo", "new"]).tolist() == [0, len(words)]
    assert features.similarity(*features.rows(["new", "new"]).reshape(2, 1)).tolist() == [1], "words may come later"
