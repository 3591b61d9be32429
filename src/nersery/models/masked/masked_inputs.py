"""Texts with gaps, and how gaps are filled: what methods say to a masked language model, in words."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from nersery.core.errors import SettingsError

OWN = "\t"
"""Begins a word that stands for ids of our own, such as tag tokens; no word of a corpus can hold it."""

GAP = OWN + "gap"
"""Stands for words to be written, in the source of a sequence-to-sequence model."""


@dataclass(frozen=True, slots=True)
class MaskedInput:
    """A text with gaps.

    Args:
        words: The text; a word that begins with `OWN` is a tag token.
        gaps: The words to hide, by position, in order.
        condition: Words that stand in front as a text of their own, such as a definition.
    """

    words: tuple[str, ...]
    gaps: tuple[int, ...]
    condition: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """How a subword is drawn for a gap.

    Args:
        top_k: From how many of the most probable subwords.
        weighted: By their probability; otherwise each with the same chance.
        by_subword: Give a gap as many subwords as its word had, each drawn by itself; otherwise one subword that is a
            whole word.
        signs: Punctuation may be drawn too, where a whole word may.

    Raises:
        SettingsError: When ``top_k`` is below 1.
    """

    top_k: int = 5
    weighted: bool = False
    by_subword: bool = False
    signs: bool = False

    def __post_init__(self) -> None:
        if self.top_k < 1:
            raise SettingsError(f"top_k is {self.top_k}, expected 1 or more")


def is_replaceable(word: str) -> bool:
    """Whether a word has a letter or digit, so that another word can stand in its place."""
    return any(unicodedata.category(character)[0] in "LN" for character in word)
