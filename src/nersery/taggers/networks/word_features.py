"""Features of words for the BiLSTM: an id, the characters, and an optional word vector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import nn

from nersery.core.text.text_forms import composed
from nersery.models.embeddings.word_vectors import WordVectors
from nersery.models.subwords.windows import Window, windows_over

PAD, UNKNOWN = range(2)
"""The ids of padding, and of words or characters that did not occur in training."""
FIRST = UNKNOWN + 1
MAX_WINDOW_LENGTH = 512
"""The longest window, in words; longer sentences are read in overlapping windows."""
MAX_WORD_LENGTH = 64
"""The longest word, in characters; of longer words, the first and last 32 characters are used."""
MIN_WORDS = 2
"""Characters in fewer distinct words are unknown, so that the unknown character is also trained."""


@dataclass(frozen=True)
class KnownWords:
    """The words and characters that a tagger knows from training.

    Args:
        words: Lower-cased and `composed` words.
        characters: Characters of composed words.
    """

    words: tuple[str, ...]
    characters: tuple[str, ...]

    @classmethod
    def of(cls, words: Iterable[str]) -> KnownWords:
        """All words, and the characters that occur in at least two distinct words.

        >>> KnownWords.of(["Ada", "Adam", "ada"])
        KnownWords(words=('ada', 'adam'), characters=('A', 'a', 'd'))
        """
        distinct = set(map(composed, words))
        counts = Counter(character for word in distinct for character in set(word))
        frequent = (character for character, count in counts.items() if count >= MIN_WORDS)
        return cls(tuple(sorted({composed(word.lower()) for word in distinct})), tuple(sorted(frequent)))

    def with_those_of(self, other: KnownWords) -> KnownWords:
        """The union of both; the ids of this one stay the same."""
        words, characters = (self.words, other.words), (self.characters, other.characters)
        return KnownWords(*(tuple(dict.fromkeys((*mine, *theirs))) for mine, theirs in (words, characters)))

    @cached_property
    def word_ids(self) -> Mapping[str, int]:
        """The id of each word."""
        return {word: number for number, word in enumerate(self.words, start=FIRST)}

    @cached_property
    def character_ids(self) -> Mapping[str, int]:
        """The id of each character."""
        return {character: number for number, character in enumerate(self.characters, start=FIRST)}

    def spelling(self, word: str) -> list[int]:
        """The ids of a word's characters."""
        word = composed(word)
        if len(word) > MAX_WORD_LENGTH:
            word = word[: MAX_WORD_LENGTH // 2] + word[-MAX_WORD_LENGTH // 2 :]
        return [self.character_ids.get(character, UNKNOWN) for character in word]


class WordTable:
    """The distinct words of some sentences, at places from 1 on; place 0 is padding.

    Attributes:
        ids: Word ids. Shape: (places,).
        spellings: Character ids, padded with `PAD`. Shape: (places, MAX_WORD_LENGTH).
        lengths: Characters per word, at least 1. Shape: (places,).
        vectors: Word vectors from the user's file. Shape: (places, dimension); the dimension may be 0.
    """

    def __init__(self, words: Iterable[str], lexicon: KnownWords, user_vectors: WordVectors | None = None) -> None:
        distinct = list(dict.fromkeys(words))
        self._places = {word: place for place, word in enumerate(distinct, start=1)}
        self.ids = torch.tensor([PAD, *(lexicon.word_ids.get(composed(word.lower()), UNKNOWN) for word in distinct)])
        spellings = [[PAD], *map(lexicon.spelling, distinct)]
        self.lengths = torch.tensor([len(spelling) for spelling in spellings])
        self.spellings = torch.tensor([spelling + [PAD] * (MAX_WORD_LENGTH - len(spelling)) for spelling in spellings])
        self.vectors = torch.zeros(len(spellings), 0)
        if user_vectors is not None:
            self.vectors = nn.functional.pad(torch.from_numpy(user_vectors.matrix(distinct)), (0, 0, 1, 0))

    def windows(self, words: Sequence[str]) -> list[Window]:
        """The windows of a sentence, with the places of its words as subwords."""
        return windows_over([(self._places[word],) for word in words], MAX_WINDOW_LENGTH)
