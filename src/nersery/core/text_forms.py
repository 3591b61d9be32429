"""Forms of a text in which equal texts compare equal. What nersery writes keeps the form of its input.

Use `composed` to look up words, `unspaced` to find the same text elsewhere, and `folded` where case must not matter.
Code with another form needs that one: dictionaries are lower-cased, and lexicons of aligners also ignore width (NFKC).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from unicodedata import category, name, normalize

from nersery.core.languages import primary

DOTTED_I = "i\N{COMBINING DOT ABOVE}"
"""What Unicode makes of *İ* in lower case; Turkish writes *i*."""

DOTTED_I_LANGUAGES = ("tr", "az")
"""Languages in which the capital of *i* is *İ*."""

UNSEEN = ("Cf", "Mn", "Me")
"""Categories of characters that change the direction or the look of others, as of a comma in Arabic text."""

HANGUL_LETTER = re.compile("[\u1100-\u11ff]")
"""Part of a Korean syllable."""


def composed(text: str) -> str:
    """A text in NFC: a letter with its marks is one character, if Unicode has one.

    >>> composed("Cafe\N{COMBINING ACUTE ACCENT}") == "Caf\N{LATIN SMALL LETTER E WITH ACUTE}"
    True
    """
    return text if text.isascii() else normalize("NFC", text)


def respelled(text: str) -> str:
    """A text that a model wrote, with the characters that tokenizers take apart: Thai and Lao *am*, Korean syllables.

    >>> respelled("ท\u0e4d\u0e32") == "ท\N{THAI CHARACTER SARA AM}"
    True
    """
    whole = text.replace("\u0e4d\u0e32", "\u0e33").replace("\u0ecd\u0eb2", "\u0eb3")
    return composed(whole) if HANGUL_LETTER.search(whole) else whole


def unspaced(words: Iterable[str]) -> str:
    """A text in NFC without spaces, so that it compares equal where it was split into other words.

    >>> unspaced(["Oslo-based", "firm."]) == unspaced(["Oslo", "-based", "firm", "."])
    True
    """
    return composed("".join(words))


def folded(text: str) -> str:
    """A text for caseless comparison, by Unicode's canonical caseless matching; all *i* are one, as Turkish has two.

    >>> folded("CAFÉ") == folded("café"), folded("İZMİR ILICA") == folded("İzmir Ilıca") == "izmir ilica"
    (True, True)
    """
    return normalize("NFD", normalize("NFD", text).casefold()).replace(DOTTED_I, "i").replace("ı", "i")


def unpointed(text: str) -> str:
    """A text without the vowel points of Hebrew and Arabic, which few texts have.

    >>> unpointed("בָּרָא"), unpointed("بِسْمِ"), unpointed("में")
    ('ברא', 'بسم', 'में')
    """
    return text if text.isascii() else "".join(character for character in text if not _is_point(character))


@cache
def _is_point(character: str) -> bool:
    return category(character) == "Mn" and name(character, "").startswith(("ARABIC", "HEBREW"))


def capitals(text: str, language: str) -> str:
    """A text in capitals, as its language writes them.

    >>> capitals("izmir", "tr"), capitals("izmir", "")
    ('İZMİR', 'IZMIR')
    """
    return (text.replace("i", "İ") if primary(language) in DOTTED_I_LANGUAGES else text).upper()


def small_letters(text: str, language: str) -> str:
    """A text in small letters, as its language writes them; the sign *İ* becomes *i* in all.

    >>> small_letters("IĞDIR İLİ", "tr"), small_letters("IĞDIR İLİ", "")
    ('ığdır ili', 'iğdir ili')
    """
    if primary(language) in DOTTED_I_LANGUAGES:
        text = text.replace("I\N{COMBINING DOT ABOVE}", "i").replace("I", "ı")
    return text.replace("İ", "i").lower()


def is_punctuation(word: str) -> bool:
    """Whether a word is of punctuation and symbols alone, in any script.

    >>> [is_punctuation(word) for word in ("।", "…", "$", "U.S.", "の")]
    [True, True, True, False, False]
    """
    kinds = {category(character)[0] for character in word if category(character) not in UNSEEN}
    return bool(kinds) and kinds <= {"P", "S"}


def is_invisible(word: str) -> bool:
    """Whether a word has only characters without a look of their own, as a zero width space and a soft hyphen.

    >>> [is_invisible(word) for word in ("\u200b", "\ufeff\xad", "a\u200b", "-")]
    [True, True, False, False]
    """
    return all(category(character) == "Cf" for character in word)
