"""Mention replacement: replace mentions with other mentions of their type."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from unicodedata import normalize

from nersery.augment.base import NO_ENTITIES, Augmenter
from nersery.augment.components.gold_training import sentences_with_entities
from nersery.augment.words.gazetteer import Gazetteer, Mention, spaces_in_mentions, with_ending, without_ending
from nersery.core.outcome import Reject
from nersery.core.registry import unfitted
from nersery.core.sentence import Edit, Sentence
from nersery.core.settings.ranges import Rate
from nersery.core.settings.typed_settings import hidden
from nersery.core.text.inflection import APOSTROPHES
from nersery.core.text.languages import canonical, primary
from nersery.core.training_context import NO_TRAINING, Training

ANY = "any"
VOWELS = "aeiouæœ"


def _beginning(mention: Mention) -> str:
    """Whether a mention begins with a vowel, a consonant, or *h*, which may be silent."""
    letter = normalize("NFD", mention[0])[:1].lower()
    return letter if letter == "h" else "vowel" if letter in VOWELS else "consonant"


def _fits_next(sentence: Sentence, index: int) -> bool:
    """Whether the form of a word depends on how the next word begins, as for *l'* and *an*; no word has index -1."""
    if index < 0:
        return False
    word = sentence.words[index]
    if word[-1] in APOSTROPHES:
        return word[-2:-1].isalpha()  # a lone apostrophe is a quotation mark
    return word.lower() in ("a", "an") and primary(sentence.language) in ("", "en")


@dataclass
class MentionReplacement(Augmenter):
    """Replaces mentions with others of their type and language from training sentences.

    The new mention always differs; it may be longer or shorter. A type's only mention stays.

    Args:
        rate: Probability of replacing a mention.

    Reference:
        Dai and Adel (2020), COLING, section 3, "mention replacement"; MELM's "label-wise substitution".

    Departures:
        - Like the code, we draw uniformly from *distinct* mentions, but never the same: the paper says "another".
        - After *a*, *an* or an elision (*l'*), a vowel stays a vowel.
    """

    rate: Rate = 0.3
    _gazetteers: dict[tuple[str, str, str], Gazetteer] = hidden(default_factory=dict)
    _languages: frozenset[str] = hidden(default=frozenset())
    _spaces: dict[Mention, list[bool]] = hidden(default_factory=dict)

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Collect the distinct mentions of each type, all and by their beginning.

        They are collected by language, and in all languages for sentences in another one.

        Raises:
            DataError: If no sentence has an entity.
        """
        seen: dict[tuple[str, str, str], set[Mention]] = {}
        labelled = sentences_with_entities(self, gold)
        for sentence in labelled:
            for entity in sentence.entities:
                mention, _ = without_ending(sentence, entity)
                for language in ("", canonical(sentence.language)):
                    for beginning in (ANY, _beginning(mention)):
                        seen.setdefault((language, entity.type, beginning), set()).add(mention)
        self._gazetteers = {key: Gazetteer.of(sorted(mentions), None) for key, mentions in seen.items()}
        self._languages = frozenset(canonical(sentence.language) for sentence in labelled)
        self._spaces = spaces_in_mentions(labelled)

    def generate(self, sentence: Sentence, rng: random.Random) -> Sentence | Reject:
        if not self._gazetteers:
            raise unfitted(self, "generate")
        if not sentence.entities:
            return Reject(NO_ENTITIES)
        language = canonical(sentence.language)
        language = language if language in self._languages else ""
        edits, spaces = list[Edit](), dict[Mention, list[bool]]()
        for entity in sentence.entities:
            if rng.random() < self.rate:
                mention, ending = without_ending(sentence, entity)
                beginning = _beginning(mention) if _fits_next(sentence, entity.start - 1) else ANY
                gazetteer = self._gazetteers.get((language, entity.type, beginning))
                if gazetteer is not None and gazetteer.has_other(mention):
                    drawn = gazetteer.draw_other(mention, rng)
                    replacement = with_ending(drawn, ending, sentence.language)
                    edits.append((entity.start, entity.end, replacement))
                    if drawn in self._spaces:
                        spaces[replacement] = self._spaces[drawn]
        return sentence.replace_spans(edits, spaces)
