"""Text whose words are characters, as a method on a language model changes it: in the words of its vocabulary."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from nersery.core.outcome import Reject
from nersery.core.sentence import Sentence
from nersery.io.scripts_without_spaces import in_characters, lacks_spaces
from nersery.io.tokenization import splitter
from nersery.models.subwords.joined_characters import Tokenize, in_vocabulary_words

if TYPE_CHECKING:
    from nersery.models.loading import ModelSource


@dataclass(frozen=True)
class VocabularyWords:
    """Joins characters for a method, and parts the words of what it writes.

    In place of one character after another, which makes no word of a language, the method replaces whole words.

    Args:
        tokenize: Cuts a text into subwords.
        known: Words of several characters in the text that the method learns from, which stay whole.
    """

    tokenize: Tokenize
    known: frozenset[str]

    @classmethod
    def of(cls, sentences: Iterable[Sentence], source: ModelSource) -> Self | None:
        """For a model; None if the words of the sentences are no characters."""
        words = {word for sentence in sentences for word in sentence.words if lacks_spaces(word)}
        return cls(source.tokenizer().tokenize, frozenset(words)) if words and in_characters(words) else None

    def read(self, sentence: Sentence) -> Sentence:
        """The sentence in words of the vocabulary."""
        return in_vocabulary_words(sentence, self.tokenize)

    def written(self, draft: Sentence | Reject) -> Sentence | Reject:
        """The draft in characters again."""
        if isinstance(draft, Reject):
            return replace(draft, sentence=self._apart(draft.sentence) if draft.sentence else None)
        return self._apart(draft)

    def _apart(self, sentence: Sentence) -> Sentence:
        cut = splitter("characters")
        new = {place: cut(word) for place, word in enumerate(sentence.words) if self._is_joined(word)}
        return sentence.replace_spans((place, place + 1, characters) for place, characters in new.items())

    def _is_joined(self, word: str) -> bool:
        return lacks_spaces(word) and word not in self.known
