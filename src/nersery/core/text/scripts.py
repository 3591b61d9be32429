"""The script that a word is written in."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache

SHARED = ("", "COMBINING", "MODIFIER", "VARIATION")
"""The names of letters and marks that several scripts share begin with these words."""
KATAKANA = ("KATAKANA LETTER", "KATAKANA-HIRAGANA")
"""How the Unicode names of katakana letters begin, and the name of the sign for a long vowel."""
EAST_ASIAN = ("BOPOMOFO", "HIRAGANA", "IDEOGRAPHIC", "KANGXI", "KATAKANA")
"""How the names of Chinese and Japanese characters that count as ``CJK`` begin."""
FULL_NAMES = {
    "CANADIAN": "Canadian Aboriginal",
    "CJK": "Chinese or Japanese",
    "HANIFI": "Hanifi Rohingya",
    "MEETEI": "Meetei Mayek",
    "NKO": "N'Ko",
    "OL": "Ol Chiki",
}
"""The full names of scripts that `script_of` abbreviates."""


def script_of(word: str) -> str:
    """The Unicode name of the script of the first letter or vowel sign; empty for numbers and punctuation.

    Chinese characters and kana are one script, because Japanese mixes them.

    >>> script_of("2nd"), script_of("दिल्ली"), script_of("ி"), script_of("カナ"), script_of("1,000")
    ('LATIN', 'DEVANAGARI', 'TAMIL', 'CJK', '')
    >>> script_of("ﾃ"), script_of("ＮＨＫ"), script_of("々"), script_of("𝓐𝓭𝓪"), script_of("µm"), script_of("3º")
    ('CJK', 'LATIN', 'CJK', 'LATIN', 'GREEK', 'LATIN')
    """
    for character in word:
        if script := _script_of_character(character):
            return script
    return ""


def main_script(words: Iterable[str]) -> str:
    """The most frequent script among the first letters of words, as `script_of` names it; ``UNKNOWN`` without letters.

    >>> main_script(["ལྷ་ས", "in", "བོད"]), main_script(["1", "!"])
    ('TIBETAN', 'UNKNOWN')
    """
    letters = (letter for word in words for letter in word[:3] if letter.isalpha())
    scripts = Counter(filter(None, map(script_of, letters)))
    return scripts.most_common(1)[0][0] if scripts else "UNKNOWN"


def script_name(script: str) -> str:
    """The name of a script in messages.

    >>> script_name("DEVANAGARI"), script_name("CJK")
    ('Devanagari', 'Chinese or Japanese')
    """
    return FULL_NAMES.get(script, script.capitalize())


def script_in_name(character: str) -> str:
    """The script with which the name of a letter or sign begins; ``CJK`` for all of Chinese and Japanese.

    >>> script_in_name("。"), script_in_name("។")
    ('CJK', 'KHMER')
    """
    first = unicodedata.name(character, "").split(" ", 1)[0].split("-")[0]
    return "CJK" if first in EAST_ASIAN else first


def digits_of(text: str) -> str:
    """The kind of digits in a number; empty for European digits, which all scripts use, and for all other texts.

    >>> digits_of("২৯"), digits_of("۳"), digits_of("٣"), digits_of("1,000"), digits_of("１"), digits_of("ক২")
    ('BENGALI DIGIT', 'ARABIC DIGIT', 'ARABIC DIGIT', '', '', '')
    """
    digits = (character for character in unicodedata.normalize("NFKC", text) if character.isdecimal())
    first = next((digit for digit in digits if not digit.isascii()), "1")
    script = re.split("[ -]", unicodedata.name(first).removeprefix("EXTENDED "))[0]
    return "" if script == "DIGIT" or script_of(text) else f"{script} DIGIT"


@cache
def _script_of_character(character: str) -> str:
    if unicodedata.category(character)[0] not in "LM":
        return ""
    letters = (letter for letter in unicodedata.normalize("NFKC", character) if unicodedata.category(letter)[0] in "LM")
    script = script_in_name(next(letters, character))
    return "" if script in SHARED else script


def is_katakana(text: str) -> bool:
    """Whether all characters are katakana, the script of foreign names in Japanese.

    >>> [is_katakana(text) for text in ("ウェールズ", "ﾄﾞ", "の", "・", "")]
    [True, True, False, False, False]
    """
    names = (unicodedata.name(character, "") for character in unicodedata.normalize("NFKC", text))
    return bool(text) and all(name.startswith(KATAKANA) for name in names)
