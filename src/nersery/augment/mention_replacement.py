"""Mention replacement: mentions give way to other mentions of their type."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from nersery.augment.base import NO_ENTITIES, Augmenter
from nersery.augment.components.gold_training import sentences_with_entities
from nersery.augment.words.gazetteer import Gazetteer, Mention
from nersery.core.outcome import Reject
from nersery.core.ranges import Rate
from nersery.core.registry import unfitted
from nersery.core.sentence import Edit, Sentence
from nersery.core.training_context import NO_TRAINING, Training


@dataclass
class MentionReplacement(Augmenter):
    """Replaces mentions by other mentions of their type from the training sentences.

    The new mention always differs, possibly also in length. The only mention of a type stays.

    Args:
        rate: Probability of replacing a mention.

    Reference:
        Dai and Adel (2020), COLING, section 3, "mention replacement"; MELM's "label-wise substitution".

    Departures:
        - Like the code, we draw uniformly from *distinct* mentions; the paper does not say.
        - The code may draw the same mention again. The paper says "another", so we never do.
    """

    rate: Rate = 0.3
    _gazetteers: dict[str, Gazetteer] = field(default_factory=dict, init=False, repr=False)

    def fit(self, sentences: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Learn the distinct mentions of each type.

        Raises:
            DataError: When no sentence has an entity.
        """
        seen: dict[str, set[Mention]] = {}
        for sentence in sentences_with_entities(self, sentences):
            for entity in sentence.entities:
                seen.setdefault(entity.type, set()).add(sentence.mention(entity))
        self._gazetteers = {type_: Gazetteer.of(sorted(mentions), None) for type_, mentions in seen.items()}

    def generate(self, sentence: Sentence, rng: random.Random) -> Sentence | Reject:
        """The sentence with some mentions replaced."""
        if not self._gazetteers:
            raise unfitted(self, "generate")
        if not sentence.entities:
            return Reject(NO_ENTITIES)
        edits: list[Edit] = []
        for entity in sentence.entities:
            if rng.random() < self.rate:
                gazetteer, mention = self._gazetteers.get(entity.type), sentence.mention(entity)
                if gazetteer is not None and gazetteer.has_other(mention):
                    edits.append((entity.start, entity.end, gazetteer.draw_other(mention, rng)))
        return sentence.replace_spans(edits)
