"""Words as the statistical aligner counts them: in lower case, and only their first letters."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nersery.crosslingual.hmm.texts import UNKNOWN, SymbolTable

_VIRAMA = 9
"""The combining class of the sign that joins a consonant to the next one."""
MAX_CACHED = 1 << 14
"""Maximum number of words whose prefixes are remembered."""
_JOINERS = "\u200c\u200d"

Numbers = NDArray[np.int64]


def word_prefix(word: str, ignore_case: bool = True, prefix: int = 4) -> str:
    """A word without what distinguishes its forms: in lower case, and only the first letters.

    The word is never cut before a vowel sign or another mark, nor before a consonant that is joined to the one before
    it. Words with digits stay whole.

    Args:
        ignore_case: Whether to ignore case and variants of a character, as in Unicode's NFKC.
        prefix: Minimum number of code points to keep; 0 keeps all.

    >>> word_prefix("Länder"), word_prefix("1,000.50"), word_prefix("विश्वविद्यालय")
    ('länd', '1,000.50', 'विश्व')
    """
    if ignore_case:
        word = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    if not prefix or len(word) <= prefix or any(character.isdigit() for character in word):
        return word
    end = prefix
    while end < len(word) and _continues_grapheme(word[end - 1], word[end]):
        end += 1
    return word[:end]


def _continues_grapheme(before: str, character: str) -> bool:
    return (
        unicodedata.category(character)[0] == "M"
        or character in _JOINERS
        or before in _JOINERS
        or unicodedata.combining(before) == _VIRAMA
    )


@dataclass
class Vocabulary:
    """The numbered prefixes of one language.

    Args:
        ignore_case: See `word_prefix`.
        prefix: See `word_prefix`.
    """

    ignore_case: bool = True
    prefix: int = 4
    prefixes: SymbolTable = field(default_factory=SymbolTable)
    _known: dict[str, int] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.prefixes)

    def add(self, words: Sequence[str]) -> list[int]:
        """The numbers of the words' prefixes. New prefixes are added."""
        return [self._number(word, self.prefixes.add) for word in words]

    def look_up(self, words: Sequence[str]) -> Numbers:
        """The numbers of the words' prefixes; `UNKNOWN` for a prefix that is not in the vocabulary."""
        return np.array([self._number(word, self.prefixes.find) for word in words], np.int64)

    def _number(self, word: str, of_prefix: Callable[[str], int]) -> int:
        number = self._known.get(word, UNKNOWN)
        if number == UNKNOWN:
            number = of_prefix(word_prefix(word, self.ignore_case, self.prefix))
            if len(self._known) >= MAX_CACHED:  # frequent words soon return
                self._known.clear()
            self._known[word] = number
        return number
