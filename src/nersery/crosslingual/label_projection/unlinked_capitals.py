"""Words of names that have no links."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from unicodedata import category

from nersery.core.entity import Span
from nersery.io.word_splitting.abbreviations import ABBREVIATIONS
from nersery.io.word_splitting.scripts_without_spaces import OF_FOREIGN_NAMES

COMMAS = ",،、"
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa]")


def with_unlinked_capitals(spans: Sequence[Span], words: Sequence[str], linked: Collection[int]) -> list[Span]:
    """The spans ``[start, end)``, in order, extended by the words beside them that have capitals but no links.

    Aligners often miss a word of a name, above all in Vietnamese, which writes spaces between syllables: *Tây Ban Nha*
    is Spain. Capitals are no evidence at the beginning of a sentence, in headlines, in titles such as *Mr*, and in *I*.
    In Chinese split into characters, those that write the sounds of foreign names stand for the capitals. Japanese uses
    the same characters in its own words, so text with kana is left as it is.

    >>> with_unlinked_capitals([(5, 6)], "họ đến từ Tây Ban Nha .".split(), {0, 1, 2, 5, 6})
    [(3, 6)]
    >>> with_unlinked_capitals([(3, 4)], "在亚利桑那州", {0, 3, 5})
    [(1, 5)]
    """
    longer: list[Span] = []
    before = 0
    for number, (start, end) in enumerate(spans):
        after = spans[number + 1][0] if number + 1 < len(spans) else len(words)
        while (
            start > before and start - 1 not in linked and (_is_of_name(start - 1, words) or _spells_on(start, words))
        ):
            start -= 1
        while end < after and end not in linked and (_is_of_name(end, words) or _spells_on(end, words)):
            end += 1
        longer.append((start, end))
        before = end
    return longer if longer == spans or _capitals_mark_names(words) else [*spans]


def _capitals_mark_names(words: Sequence[str]) -> bool:
    """Whether at most three quarters of the words have capitals."""
    return 4 * sum(word[0].isupper() for word in words) <= 3 * len(words)


def _is_of_name(position: int, words: Sequence[str]) -> bool:
    """Whether a word seems to have its capital because it is part of a name."""
    word, previous = words[position], words[position - 1]
    begins = position == 0 or not (_ends_in_letter(previous) or previous in COMMAS)
    is_name = len(word) > 1 and word.lower() not in ABBREVIATIONS and _ends_in_letter(word)
    return word[0].isupper() and is_name and not begins


def _spells_on(position: int, words: Sequence[str]) -> bool:
    """Whether the characters before and at a position both spell foreign names in Chinese."""
    return {*words[position - 1 : position + 1]} <= OF_FOREIGN_NAMES and not any(map(_KANA.search, words))


def _ends_in_letter(word: str) -> bool:
    return word[-1].isalnum() or category(word[-1])[0] == "M"
