"""Normal forms of texts, for comparisons. What nersery writes keeps the form of its input.

Use `composed` to look up words, `unspaced` to find the same text elsewhere, and `folded` to ignore case. Code that uses
another form needs that one: dictionaries are lower-cased, and lexicons of aligners also ignore width (NFKC).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from unicodedata import category, is_normalized, name, normalize

from nersery.core.text.languages import primary

DOTTED_I = "i\N{COMBINING DOT ABOVE}"
"""Unicode's lower case of *İ*; Turkish writes *i*."""

DOTTED_I_LANGUAGES = ("tr", "az")
"""Languages in which the capital of *i* is *İ*."""

BRACKETS = ("()", "[]", "{}", "（）", "【】", "《》")
QUOTATION_MARKS = ("“”", "„“", "„”", "«»", "「」", "『』")

UNSEEN = ("Cf", "Mn", "Me")
"""Categories of characters that change the direction or the look of others, such as of a comma in Arabic text."""

ACUTE = "\N{COMBINING ACUTE ACCENT}"
_GREEK_ACCENT = re.compile(f"(?<=[α-ω]){ACUTE}|(?<=[ιυ]\N{COMBINING DIAERESIS}){ACUTE}")

HANGUL_LETTER = re.compile("[\u1100-\u11ff]")
"""Matches a part of a Korean syllable."""


def composed(text: str) -> str:
    """A text in NFC: a letter with its marks is one character, if Unicode has one.

    >>> composed("Cafe\N{COMBINING ACUTE ACCENT}") == "Caf\N{LATIN SMALL LETTER E WITH ACUTE}"
    True
    """
    return text if text.isascii() else normalize("NFC", text)


def in_form_of(word: str, text: str) -> str:
    """A word in NFD if a text is: if its letters with marks are several characters, although Unicode has one.

    >>> [len(in_form_of("é", text)) for text in ("Café", "Café", "Oslo")]
    [2, 1, 1]
    """
    if text.isascii() or is_normalized("NFC", text) or not is_normalized("NFD", text):
        return word
    return normalize("NFD", word)


def respelled(text: str) -> str:
    """A model's output with characters joined that tokenizers split: Thai and Lao *am*, and Korean syllables.

    >>> respelled("ท\u0e4d\u0e32") == "ท\N{THAI CHARACTER SARA AM}"
    True
    """
    whole = text.replace("\u0e4d\u0e32", "\u0e33").replace("\u0ecd\u0eb2", "\u0eb3")
    return composed(whole) if HANGUL_LETTER.search(whole) else whole


def unspaced(words: Iterable[str]) -> str:
    """The joined words in NFC without spaces, so that texts compare equal if they are split into words differently.

    >>> unspaced(["Oslo-based", "firm."]) == unspaced(["Oslo", "-based", "firm", "."])
    True
    """
    return composed("".join(words))


def folded(text: str) -> str:
    """A text for Unicode's canonical caseless matching, without what capitals of a language lack or add.

    Dotted and dotless *i* are equal, because Turkish has both. Greek loses its accent, which capitals do not have.

    >>> folded("CAFÉ") == folded("café"), folded("İZMİR ILICA") == folded("İzmir Ilıca") == "izmir ilica"
    (True, True)
    >>> folded("ΓΙΑΝΝΗΣ") == folded("Γιάννης")
    True
    """
    form = normalize("NFD", normalize("NFD", text).casefold()).replace(DOTTED_I, "i").replace("ı", "i")
    return _GREEK_ACCENT.sub("", form) if ACUTE in form else form


def unpointed(text: str) -> str:
    """A text without the vowel points of Hebrew and Arabic, which most texts omit.

    >>> unpointed("בָּרָא"), unpointed("بِسْمِ"), unpointed("में")
    ('ברא', 'بسم', 'में')
    """
    return text if text.isascii() else "".join(character for character in text if not _is_point(character))


@cache
def _is_point(character: str) -> bool:
    return category(character) == "Mn" and name(character, "").startswith(("ARABIC", "HEBREW"))


def upper_case(text: str, language: str) -> str:
    """A text in upper case, by the rules of its language.

    >>> upper_case("izmir", "tr"), upper_case("izmir", "")
    ('İZMİR', 'IZMIR')
    """
    return (text.replace("i", "İ") if primary(language) in DOTTED_I_LANGUAGES else text).upper()


def capitalized(word: str, language: str) -> str:
    """A word with a capital first letter, by the rules of its language in Unicode's CLDR. Georgian has no such letter.

    >>> capitalized("izmir", "tr"), capitalized("ijsland", "nl"), capitalized("ბათუმი", "ka")
    ('İzmir', 'IJsland', 'ბათუმი')
    """
    if primary(language) == "nl" and word.startswith("ij"):
        return "IJ" + word[2:]
    is_dotted = word.startswith("i") and primary(language) in DOTTED_I_LANGUAGES
    return ("İ" if is_dotted else word[:1].title()) + word[1:]


def lower_case(text: str, language: str) -> str:
    """A text in lower case, by the rules of its language; *İ* becomes *i* in every language.

    >>> lower_case("IĞDIR İLİ", "tr"), lower_case("IĞDIR İLİ", "")
    ('ığdır ili', 'iğdir ili')
    """
    if primary(language) in DOTTED_I_LANGUAGES:
        text = text.replace("I\N{COMBINING DOT ABOVE}", "i").replace("I", "ı")
    return text.replace("İ", "i").lower()


def is_punctuation(word: str) -> bool:
    """Whether a word consists of punctuation and symbols only, in any script.

    >>> [is_punctuation(word) for word in ("।", "…", "$", "U.S.", "の")]
    [True, True, True, False, False]
    """
    kinds = {category(character)[0] for character in word if category(character) not in UNSEEN}
    return bool(kinds) and kinds <= {"P", "S"}


def is_invisible(word: str) -> bool:
    """Whether a word has only invisible characters, such as a zero width space or a soft hyphen.

    >>> [is_invisible(word) for word in ("\u200b", "\ufeff\xad", "a\u200b", "-")]
    [True, True, False, False]
    """
    return all(category(character) == "Cf" for character in word)
