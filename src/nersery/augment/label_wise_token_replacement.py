"""Label-wise token replacement: replace words with training words that have the same tag."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from nersery.augment.base import Augmenter
from nersery.augment.components.gold_training import no_sentences
from nersery.augment.words.thesaurus import lookup_form
from nersery.core.outcome import Reject
from nersery.core.registry import unfitted
from nersery.core.sentence import Edit, Sentence
from nersery.core.settings.ranges import Rate
from nersery.core.settings.typed_settings import FileName, hidden
from nersery.core.tags import encode
from nersery.core.text.inflection import inflected, inflection
from nersery.core.text.languages import canonical
from nersery.core.text.word_lists import check_file, read_words
from nersery.core.training_context import NO_TRAINING, Training


@dataclass
class LabelWiseTokenReplacement(Augmenter):
    """Replaces words with other training words that have the same tag.

    Words are drawn in proportion to their frequency with the IOB2 tag in the language.

    Args:
        rate: Probability of replacing a word.
        stop_words: File of words that are neither replaced nor inserted, one per line.

    Reference:
        Dai and Adel (2020). An Analysis of Simple Data Augmentation for Named Entity Recognition. COLING, section 3,
        "label-wise token replacement".

    Departures:
        - The code skips NLTK's English stop words; the paper and we do not (but see `stop_words`).
        - The code may draw the same token again. The paper says "another", so we never do.
    """

    needs_whole_words: ClassVar[bool] = True

    rate: Rate = 0.3
    stop_words: FileName = ""
    _distributions: dict[tuple[str, str], _Distribution] = hidden(default_factory=dict)
    _languages: frozenset[str] = hidden(default=frozenset())
    _stop_words: frozenset[str] = hidden(default=frozenset())

    def __post_init__(self) -> None:
        super().__post_init__()
        check_file(self.stop_words)

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Count how often each word has each tag: by language, and in all languages for sentences in another language.

        Raises:
            DataError: If there is no sentence, or the file of stop words is broken.
            MissingResourceError: If the file of stop words is missing.
        """
        self._stop_words = frozenset(map(lookup_form, read_words(self.stop_words))) if self.stop_words else frozenset()
        counts: dict[tuple[str, str], Counter[str]] = {}
        languages: set[str] = set()
        for sentence in gold:
            own = canonical(sentence.language)
            languages.add(own)
            for word, tag in zip(sentence.words, _tags(sentence), strict=True):
                for language in {"", own}:
                    counts.setdefault((language, tag), Counter())[_split_ending(word, own)[0]] += 1
        if not counts:
            raise no_sentences(self)
        self._distributions = {
            key: _Distribution.of({word: count for word, count in words.items() if not self._is_stop_word(word)})
            for key, words in counts.items()
        }
        self._languages = frozenset(languages)

    def generate(self, sentence: Sentence, rng: random.Random) -> Sentence | Reject:
        if not self._distributions:
            raise unfitted(self, "generate")
        words, tags = sentence.words, _tags(sentence)
        own = canonical(sentence.language)
        language = own if own in self._languages else ""
        edits: list[Edit] = []
        for position in [n for n in range(len(words)) if rng.random() < self.rate]:
            word, key = words[position], (language, tags[position])
            if key in self._distributions and not self._is_stop_word(word):
                stem, ending = _split_ending(word, own)
                replacement = self._distributions[key].draw_other(stem, rng)
                if replacement is not None:
                    edits.append((position, position + 1, (inflected(replacement, ending, own),)))
        return sentence.replace_spans(edits)

    def _is_stop_word(self, word: str) -> bool:
        return bool(self._stop_words) and lookup_form(word) in self._stop_words


def _split_ending(word: str, language: str) -> tuple[str, str]:
    """A word without the ending that punctuation joins to it, and the ending, which stays in the sentence."""
    ending = inflection(word, language)
    return word.removesuffix(ending), ending


@dataclass(frozen=True, slots=True)
class _Distribution:
    """Words and how often each occurs, in a form to draw from.

    Args:
        words: Words in an order that does not depend on the order of the corpus.
        ends: For each word, the number of occurrences of it and of all words before it.
        spans: For each word, the range ``[start, end)`` of its occurrences among the numbered occurrences of all words.
    """

    words: tuple[str, ...]
    ends: tuple[int, ...]
    spans: dict[str, tuple[int, int]]

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> _Distribution:
        words = tuple(sorted(counts))
        ends = tuple(accumulate(counts[word] for word in words))
        spans = {word: (end - counts[word], end) for word, end in zip(words, ends, strict=True)}
        return cls(words, ends, spans)

    def draw_other(self, word: str, rng: random.Random) -> str | None:
        """Draw a word other than the given one, with a single draw; None if there is no other.

        >>> _Distribution.of({"a": 9, "b": 1}).draw_other("a", random.Random(0))
        'b'
        """
        # Draw among the occurrences of the other words, and skip those of the word itself: redrawing is not needed.
        start, end = self.spans.get(word, (0, 0))
        count = (self.ends[-1] if self.ends else 0) - (end - start)
        if count == 0:
            return None
        drawn = int(rng.random() * count)
        return self.words[bisect_right(self.ends, drawn if drawn < start else drawn + end - start)]


def _tags(sentence: Sentence) -> list[str]:
    return encode(sentence.entities, len(sentence.words), "IOB2")
