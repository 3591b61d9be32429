from __future__ import annotations

import pytest

from nersery.io.word_splitting.scripts_without_spaces import has_letter_or_digit


@pytest.mark.parametrize("word", ["Ada", "3", "a.", "राम", "京", "أحمد", "Ⅳ", "½", "ฯลฯ", "々"])
def test_finds_a_letter_or_digit_in_a_word(word: str) -> None:
    assert has_letter_or_digit(word)


@pytest.mark.parametrize("word", [".", "।", "。", "👩‍👩‍👧", "\u200b", "--", "€", "ๆ", "ฯ", "ៗ"])
def test_finds_no_letter_or_digit_in_a_word_of_signs(word: str) -> None:
    assert not has_letter_or_digit(word)
