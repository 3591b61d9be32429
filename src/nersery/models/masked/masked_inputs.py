"""Inputs of masked language models in words, and how gaps are filled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import category

from nersery.core.text.inflection import APOSTROPHES, inflected, inflection
from nersery.core.text.scripts import script_of
from nersery.core.text.text_forms import capitalized, in_form_of, upper_case
from nersery.io.word_splitting.scripts_without_spaces import has_letter_or_digit
from nersery.io.word_splitting.tokenization import outer_punctuation
from nersery.models.tokens import TOKEN_PREFIX, Token

POSSESSIVE = re.compile(rf"(?<=\w\w)[{APOSTROPHES}]s$", re.IGNORECASE)
"""An *'s* after two characters or more: not a word of its own, and not the elided *l's*."""
ADDRESS = re.compile(r"\w://|www\.\w|[@＠]\w", re.IGNORECASE)
"""Part of a link, an e-mail address or a user's name, which would be broken by a word in its place."""
HASHTAG = re.compile(r"[#＃](?=[^\W\d_])")
MIN_CAPITALS = 2
"""The fewest words outside names that must be in capitals if a text is to count as written in capitals."""


@dataclass(frozen=True, slots=True)
class MaskedInput:
    """A text with words to mask.

    Args:
        words: The text, with tag tokens.
        gaps: Positions of the words to mask, in order. If the gaps are to be filled, these words must be text.
        condition: Words before the text, as a text of their own, such as a definition.
        names: Positions of the words that are part of a name.
        language: Language of the text; empty if unknown.
    """

    words: tuple[Token, ...]
    gaps: tuple[int, ...]
    condition: tuple[str, ...] = ()
    names: frozenset[int] = frozenset()
    language: str = ""

    @property
    def style(self) -> tuple[str, bool]:
        """The script of most words, empty if no word has a script, and whether no word has a capital."""
        texts = [*self._texts.values()]
        counts = Counter(filter(None, map(script_of, texts)))
        return max(counts, key=counts.__getitem__, default=""), all(word == word.lower() for word in texts)

    @property
    def is_in_capitals(self) -> bool:
        """Whether the text has no lower-case letters, like some headlines. Acronyms alone do not prove it."""
        texts = self._texts
        spoken = [word for place, word in texts.items() if place not in self.names and sum(map(str.isalpha, word)) > 1]
        return " ".join(texts.values()).isupper() and sum(map(str.isupper, spoken)) >= MIN_CAPITALS

    def in_form_of_text(self, word: str) -> str:
        """A word in the Unicode form of the text; see `nersery.core.text.text_forms.in_form_of`."""
        return in_form_of(word, " ".join(self._texts.values()))

    @property
    def _texts(self) -> dict[int, str]:
        """The words that are not tokens, by position."""
        return {
            place: word
            for place, word in enumerate(self.words)
            if isinstance(word, str) and not word.startswith(TOKEN_PREFIX)
        }

    def with_affixes(self, gap: int, word: str) -> str:
        """A word for a gap with what is attached to the old one: punctuation, a hashtag's *#*, a name's *'s* or ending.

        Gaps are never links or users' names; see `replaceable_positions`.
        """
        is_last = all(not isinstance(after, str) or after.startswith(TOKEN_PREFIX) for after in self.words[gap + 1 :])
        old = str(self.words[gap])
        before, behind = outer_punctuation(old, ends=is_last)
        if hashtag := HASHTAG.match(old, len(before)):
            before += hashtag[0]
        if gap in self.names:
            name = old.removesuffix(behind)
            if possessive := POSSESSIVE.search(name):
                word += possessive[0]
            else:
                word = inflected(word, inflection(name, self.language), self.language)
        return before + word + behind


@dataclass(frozen=True, slots=True)
class Drawing:
    """How a gap is filled.

    Args:
        top_k: Draw from this many of the most probable subwords.
        weighted: Draw by probability; otherwise uniformly.
        by_subword: Draw one subword for each subword of the old word; otherwise one subword that is a whole word.
        punctuation: Punctuation may be drawn as well, unless ``by_subword``.
    """

    top_k: int = 5
    weighted: bool = False
    by_subword: bool = False
    punctuation: bool = False


def replaceable_positions(words: Sequence[str]) -> list[int]:
    """The positions of words that another word can replace: those with a letter or digit, except addresses.

    >>> replaceable_positions(["RT", "@ada", ":", "#Oslo", "https://t.co/x", "3"])
    [0, 3, 5]
    """
    return [place for place, word in enumerate(words) if has_letter_or_digit(word) and not ADDRESS.search(word)]


def in_case_of(word: str, original: str, language: str = "") -> str:
    """A lower-case word, changed to the case of another word by the rules of its language.

    >>> [in_case_of("oslo", original) for original in ("in", "Rome", "(Rome", "NATO", "A", "J.", "F1")]
    ['oslo', 'Oslo', 'Oslo', 'OSLO', 'Oslo', 'Oslo', 'Oslo']
    >>> [in_case_of("1st", original) for original in ("NATO", "2ND")]
    ['1st', '1ST']
    >>> in_case_of("izmir", "Ankara", "tr"), in_case_of("izmir", "ABD", "tr"), in_case_of("ბათუმი", "Google", "ka")
    ('İzmir', 'İZMİR', 'ბათუმი')
    """
    if original == original.lower() or (word[:1].isdecimal() and not original[:1].isdecimal()):
        return word
    if original == original.upper() and sum(map(str.isalpha, original)) > 1:
        return upper_case(word, language)
    return capitalized(word, language) if has_capital(original) else word


def has_capital(word: str) -> bool:
    """Whether the first letter or digit of a word is a capital letter. Before it may be a modifier, such as an ʻokina.

    >>> [has_capital(word) for word in ("(Rome", "iPhone", "Ünye", "3D", "ქართული", "ʻAha")]
    [True, False, True, False, False, True]
    """
    first = next((sign for sign in word if sign.isalnum() and category(sign) != "Lm"), "")
    return first != first.lower()
