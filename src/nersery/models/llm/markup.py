"""Marks that language models add to words without being asked: Markdown, quotation marks, names of types."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from unicodedata import normalize

from nersery.core.text.text_forms import QUOTATION_MARKS

_BOLD = re.compile(r"(?<![A-Za-z])\*\*(?=\S)(.+?)(?<=\S)\*\*(?![A-Za-z])", re.DOTALL)
_QUOTATION_MARKS = ('""', "''", "``", *QUOTATION_MARKS)
_BRACKETS = ("()", "[]", "{}", "<>")


def without_bold(text: str) -> str:
    """A text without Markdown's stars for bold words.

    >>> without_bold("**Ada Lovelace** met 2 ** 3 people"), without_bold("f**k that sh**t")
    ('Ada Lovelace met 2 ** 3 people', 'f**k that sh**t')
    """
    return _BOLD.sub(r"\1", text)


def bare_mention(text: str) -> str:
    """A mention without quotation marks or stars around the whole of it.

    >>> bare_mention('"**Dune**"'), bare_mention("「東京」"), bare_mention('"Dune" and "Alien"')
    ('Dune', '東京', '"Dune" and "Alien"')
    """
    text = without_bold(text.strip())
    inner, ends = text[1:-1], text[:1] + text[-1:]
    return inner if inner and ends in _QUOTATION_MARKS and not {*ends} & {*inner} else text


def names_a_type(words: Sequence[str], types: Collection[str]) -> bool:
    """Whether words contain a type in brackets, as a language model may mark a mention.

    >>> [names_a_type(words, {"PER"}) for words in (["Ada", "(", "per", ")"], ["Ada", "[PER]"], ["王小明（PER）"])]
    [True, True, True]
    >>> names_a_type(["Ada", "(", "Paris", ")"], {"PER"})
    False
    """
    text = _plain("".join(words))
    return any(f"{pair[0]}{_plain(type_)}{pair[1]}" in text for pair in _BRACKETS for type_ in types)


def _plain(text: str) -> str:
    return normalize("NFKC", text).casefold().replace(" ", "")
