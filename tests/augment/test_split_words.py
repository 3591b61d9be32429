"""Methods that split words if each character is a word."""

from __future__ import annotations

import pytest

import nersery
from nersery import Corpus, Sentence
from nersery.augment.base import AugmentStage
from nersery.core.registry import create
from nersery.core.warnings import collected_notes


@pytest.mark.parametrize("method", ["shuffle_within_segments", "label_wise_token_replacement", "eda"])
def test_methods_that_split_words_into_characters_say_so(method: str) -> None:
    characters = Corpus([Sentence(tuple("東京に住む"), id="a"), Sentence(tuple("京都へ行く"), id="b")])
    words = Corpus([Sentence(("東京", "に", "住む"), id="a"), Sentence(("we", "saw", "京"), id="b")])
    notes = []
    for corpus in (characters, words):
        with collected_notes() as messages:
            nersery.augment(corpus, method)
        notes.append([message for message in messages if "each word of this text is one character" in message])
    assert [len(note) for note in notes] == [1, 0]
    assert method in notes[0][0]


@pytest.mark.parametrize(
    "words", ["བློ་བཟང་ ཁ་སང་ བོད་ ལ་ ཕྱིན །", "ဒေါ် ခင်ကြည် သည် မန္တလေး တွင် အလုပ် လုပ် ခဲ့ သည်"], ids=["Tibetan", "Burmese"]
)
def test_split_text_in_which_most_words_have_one_syllable_is_no_text_in_syllables(words: str) -> None:
    with collected_notes() as messages:
        nersery.augment(Corpus([Sentence(tuple(words.split()), id="a")]), "shuffle_within_segments")
    assert not [message for message in messages if "each word of this text is one character" in message]


@pytest.mark.parametrize("method", ["masked_entity", "melm", "bda", "cbt", "label_conditioned"])
def test_methods_that_fill_single_characters_say_so_before_they_learn(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    characters = Corpus([Sentence(tuple("กรุงเทพ"), id="a")])
    augmenter = create("augment", method)
    monkeypatch.setattr(type(augmenter), "fit", lambda *_: None)
    with collected_notes() as messages:
        AugmentStage(augmenter, gold=characters).fit(augmenter, None, None)
    assert [message for message in messages if f"{method} moves or replaces single words" in message]
