"""Synonym replacement: replace words with words of the same meaning."""

from __future__ import annotations

import random
from dataclasses import dataclass

from nersery.augment.base import Augmenter
from nersery.augment.words.thesaurus import SynonymSettings, check_wordnet
from nersery.core.outcome import Reject
from nersery.core.registry import unfitted
from nersery.core.sentence import Sentence
from nersery.core.settings.ranges import Rate


@dataclass
class SynonymReplacement(SynonymSettings, Augmenter):
    """Replaces words with synonyms from WordNet (English) or from your own table.

    Each word, inside and outside entities, becomes any of its synonyms with probability `rate`. Lookup ignores case;
    capitals are kept. A synonym of several words makes an entity longer.

    Args:
        rate: Probability of replacing a word.

    Reference:
        Dai and Adel (2020), COLING, section 3, "synonym replacement". Miller (1995), WordNet, Communications of the ACM
        38(11).

    Departures:
        - The code looks up base forms through NLTK (`cars` becomes `automobile`). We look up the written form, so
          inflected words stay.
        - The code skips NLTK's English stop words; we skip English function words with WordNet, and only `stop_words`
          with a table.
        - The code also splits synonyms at hyphens; we keep `self-made` one word.
    """

    rate: Rate = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.table:
            check_wordnet(self.wordnet)

    def generate(self, sentence: Sentence, rng: random.Random) -> Sentence | Reject:
        if self._thesaurus is None:
            raise unfitted(self, "generate")
        words = sentence.words
        positions = [position for position in range(len(words)) if rng.random() < self.rate]
        drawn = [(position, self._thesaurus.draw_like(words[position], rng, sentence)) for position in positions]
        edits = [(position, position + 1, synonym) for position, synonym in drawn if synonym]
        if not edits and not any(map(self._thesaurus.of, words)):
            return Reject("no synonyms")
        return sentence.replace_spans(edits)
