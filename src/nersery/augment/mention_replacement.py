"""Mention replacement: replace mentions with other mentions of their type."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from nersery.augment.base import NO_ENTITIES, Augmenter
from nersery.augment.components.gold_training import sentences_with_entities
from nersery.augment.words.gazetteer import Gazetteer, Mention, spaces_in_mentions, with_ending, without_ending
from nersery.core.outcome import Reject
from nersery.core.registry import unfitted
from nersery.core.sentence import Edit, Sentence
from nersery.core.settings.ranges import Rate
from nersery.core.settings.typed_settings import hidden
from nersery.core.text.languages import canonical
from nersery.core.training_context import NO_TRAINING, Training


@dataclass
class MentionReplacement(Augmenter):
    """Replaces mentions with others of their type and language from training sentences.

    The new mention always differs, perhaps in length. The only mention of a type stays.

    Args:
        rate: Probability of replacing a mention.

    Reference:
        Dai and Adel (2020), COLING, section 3, "mention replacement"; MELM's "label-wise substitution".

    Departures:
        - Like the code, we draw uniformly from *distinct* mentions; the paper does not say.
        - The code may draw the same mention again. The paper says "another", so we never do.
    """

    rate: Rate = 0.3
    _gazetteers: dict[tuple[str, str], Gazetteer] = hidden(default_factory=dict)
    _languages: frozenset[str] = hidden(default=frozenset())
    _spaces: dict[Mention, list[bool]] = hidden(default_factory=dict)

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Collect the distinct mentions of each type: by language, and in all languages for sentences in another one.

        Raises:
            DataError: If no sentence has an entity.
        """
        seen: dict[tuple[str, str], set[Mention]] = {}
        labelled = sentences_with_entities(self, gold)
        for sentence in labelled:
            for entity in sentence.entities:
                mention, _ = without_ending(sentence, entity)
                for language in ("", canonical(sentence.language)):
                    seen.setdefault((language, entity.type), set()).add(mention)
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
                gazetteer = self._gazetteers.get((language, entity.type))
                mention, ending = without_ending(sentence, entity)
                if gazetteer is not None and gazetteer.has_other(mention):
                    drawn = gazetteer.draw_other(mention, rng)
                    replacement = with_ending(drawn, ending, sentence.language)
                    edits.append((entity.start, entity.end, replacement))
                    if drawn in self._spaces:
                        spaces[replacement] = self._spaces[drawn]
        return sentence.replace_spans(edits, spaces)
