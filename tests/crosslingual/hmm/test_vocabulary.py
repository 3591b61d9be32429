"""Prefixes: what is cut off, and what is never split."""

import pytest

from nersery.crosslingual.hmm import vocabulary as module
from nersery.crosslingual.hmm.texts import UNKNOWN
from nersery.crosslingual.hmm.vocabulary import Vocabulary, word_prefix


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Parliament", "parl"),
        ("STRASSE", "stra"),
        ("Straße", "stra"),
        ("ＡＢＣＤＥ", "abcd"),
        ("cafe\u0301s", "café"),
        ("10,000,000", "10,000,000"),
        ("१०००००", "१०००००"),
        ("विश्वविद्यालय", "विश्व"),  # the fourth code point, a virama, joins the fifth
        ("किताबें", "किता"),
        ("கட்டுரை", "கட்டு"),
        ("北京大学生", "北京大学"),
        (
            "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466x",
            "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
        ),
        ("", ""),
    ],
)
def test_prefixes_keep_characters_and_numbers_whole(word, expected):
    assert word_prefix(word) == expected


def test_settings_change_case_and_length_of_prefixes():
    assert word_prefix("Parliament", ignore_case=False) == "Parl"
    assert word_prefix("Parliament", prefix=0) == "parliament"
    assert word_prefix("ab", prefix=4) == "ab"
    assert word_prefix("ΟΔΟΣ") == word_prefix("οδος")


@pytest.mark.parametrize("known", [1, 1 << 14])
def test_a_vocabulary_grows_and_looks_up(monkeypatch, known):
    monkeypatch.setattr(module, "MAX_CACHED", known)
    vocabulary = Vocabulary()
    assert vocabulary.look_up(["tree"]).tolist() == [UNKNOWN]
    assert vocabulary.add(("House", "houses", "tree")) == [0, 0, 1]
    assert vocabulary.add(("tree",)) == [1]
    assert vocabulary.look_up(["housing", "river", "Tree"]).tolist() == [0, UNKNOWN, 1]
    assert len(vocabulary) == 2
