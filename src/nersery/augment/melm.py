"""MELM: a masked language model, fine-tuned on masked entities with their labels, writes new entities."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nersery.augment.base import Augmenter
from nersery.augment.components.gold_training import sentences_with_entities, warn_of_unused
from nersery.augment.components.shared_settings import FineTuningSettings, TypeDescriptions
from nersery.augment.linearized.linearization import linearized_input, token_descriptions
from nersery.augment.masked_lm import model_setup
from nersery.augment.masked_lm.mention_masking import MentionPredictions
from nersery.core.sentence import Entity, Sentence, types_in
from nersery.core.settings.ranges import Count, Rate
from nersery.core.settings.typed_settings import hidden
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.masked.masked_inputs import MaskedInput

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import MaskedLM


@dataclass
class MELM(MentionPredictions, FineTuningSettings, TypeDescriptions, model_setup.MaskedModelSettings, Augmenter):
    """Replaces words of mentions with predictions of a masked language model that sees their labels.

    Tag tokens around each word of a mention show the model its label. Filter the output with `agreement`, as in the
    paper.

    Args:
        model: ``bundled``, or a masked language model by Hugging Face name or folder.
        linearize: If false, the model sees no tags: the paper's ablation.
        mask_rate: Probability of masking a subword of a mention in fine-tuning (the paper's η).

    Reference:
        Zhou et al. (2022). MELM: Data Augmentation with Masked Entity Language Modeling for Low-Resource NER. ACL.

    Departures:
        - The paper masks and samples subwords, which joins halves of different words. Here a new word is a whole word
          of the vocabulary, of the same script and case, no number or function word, unless `by_subword`.
        - The code cuts the first character of every word and never uses the best prediction. We do neither.
        - At least one word of each sentence is replaced, unlike in the paper. Function words, URLs, @names
          and words without letters or digits stay and do not count for the rate.
        - The paper makes three rounds: `copies = 3`.
        - With several languages, one marker precedes each entity. Mentions inserted by `code_mixing` keep their own
          language.
        - The paper uses XLM-R base at 1e-5; the bundled model is a twelfth of its size and learns at 1e-4.
    """

    linearize: bool = True
    mask_rate: Rate = 0.7
    batch_size: Count = 30
    _languages: dict[tuple[str, ...], frozenset[str]] = hidden(default_factory=dict)

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Fine-tune the model on the mentions. Raises `DataError` if no sentence has an entity."""
        labelled = sentences_with_entities(self, gold)
        warn_of_unused(self.descriptions, "descriptions", labelled)
        self._languages = _languages_of_mentions(labelled)
        model = self.opened(labelled, training)
        self._prepare(model, [*labelled, *training.dev])
        model_setup.fine_tune(model, self, labelled, self._with_mentions_hidden, training, rate=self.mask_rate)
        self._lm = model

    def _prepare(self, model: MaskedLM, sentences: Sequence[Sentence]) -> None:
        """Add tokens for types and languages. Embeddings of tokens missing in gold come only from descriptions."""
        if self.linearize:
            types = types_in(sentences)
            languages = {language for sentence in sentences for language in self._languages_in(sentence).values()}
            model.add_tokens(token_descriptions(types, languages - {""}, self.descriptions))

    def _with_mentions_hidden(self, sentence: Sentence, rng: random.Random) -> MaskedInput:
        return self._masked_input(sentence, sorted(sentence.inside))

    def _masked_input(self, sentence: Sentence, positions: Sequence[int]) -> MaskedInput:
        if not self.linearize:
            return super()._masked_input(sentence, positions)
        return linearized_input(sentence, positions, self._languages_in(sentence))

    def _languages_in(self, sentence: Sentence) -> dict[Entity, str]:
        """The language of each entity: the sentence's own, unless only other languages have the mention."""
        by_entity = {}
        for entity in sentence.entities if self._languages else ():
            languages = self._languages.get(sentence.mention(entity), frozenset([sentence.language]))
            by_entity[entity] = sentence.language if sentence.language in languages else min(languages)
        return by_entity


def _languages_of_mentions(gold: Sequence[Sentence]) -> dict[tuple[str, ...], frozenset[str]]:
    """The languages of each mention in sentences that were not generated; empty if there is only one language."""
    originals = [sentence for sentence in gold if sentence.origin is None and sentence.language]
    if len({sentence.language for sentence in originals}) < 2:
        return {}
    languages: dict[tuple[str, ...], set[str]] = {}
    for sentence in originals:
        for entity in sentence.entities:
            languages.setdefault(sentence.mention(entity), set()).add(sentence.language)
    return {mention: frozenset(codes) for mention, codes in languages.items()}
