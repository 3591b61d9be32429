"""Inputs of masked language models in words, and how gaps are filled."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

OWN = "\t"
"""Begins a word that stands for ids of our own, such as tag tokens; corpora cannot contain it."""

GAP = OWN + "gap"
"""Stands for words to be written, in the source of an encoder-decoder."""


@dataclass(frozen=True, slots=True)
class MaskedInput:
    """A text with words to mask.

    Args:
        words: The text; a word that begins with `OWN` is a tag token.
        gaps: Positions of the words to mask, in order.
        condition: Words in front, as a text of their own, such as a definition.
    """

    words: tuple[str, ...]
    gaps: tuple[int, ...]
    condition: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """How a gap is filled.

    Args:
        top_k: Draw from this many of the most probable subwords.
        weighted: Draw by probability; otherwise uniformly.
        by_subword: Draw as many subwords as the old word had; otherwise one subword that is a whole word.
        signs: Punctuation may be drawn as well, unless ``by_subword``.
    """

    top_k: int = 5
    weighted: bool = False
    by_subword: bool = False
    signs: bool = False


def is_replaceable(word: str) -> bool:
    """Whether a word has a letter or digit, so that another word can stand in its place."""
    return any(unicodedata.category(character)[0] in "LN" for character in word)


def replaceable_places(words: Sequence[str]) -> list[int]:
    """The places of such words."""
    return [place for place, word in enumerate(words) if is_replaceable(word)]
