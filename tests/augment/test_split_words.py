"""Methods that split words if each character is a word."""

from __future__ import annotations

import pytest

import nersery
from nersery import Corpus, Sentence
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
