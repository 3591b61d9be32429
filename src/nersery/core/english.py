"""English: its function words, and whether text looks English."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nersery.core.scripts import main_script

FUNCTION_WORDS = frozenset(Path(__file__).with_name("function_words.txt").read_text("utf-8").split())
"""English articles, pronouns, quantifiers, prepositions, conjunctions and auxiliaries."""
ENGLISH = 0.15
"""Minimum share of these words, among words with a letter, for text in Latin script to count as English."""
ENOUGH = 100
"""Number of words below which the language is uncertain."""


def looks_english(words: Iterable[str]) -> bool:
    """Whether the words of a text look English.

    >>> looks_english("the cat sat on the mat".split()), looks_english("die Katze saß auf der Matte".split())
    (True, False)
    """
    lettered = [word.lower() for word in words if any(map(str.isalpha, word))]
    function_words = sum(word in FUNCTION_WORDS for word in lettered) / max(1, len(lettered))
    return main_script(lettered) == "LATIN" and function_words >= ENGLISH
