"""ACLM: keeps the entities of a sentence and the words they attend to, and lets a language model rewrite the rest."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from nersery.augment.base import NO_ENTITIES, Augmenter
from nersery.augment.components.gold_training import sentences_with_entities, warn_of_unused
from nersery.augment.components.shared_settings import FineTuningSettings, TypeDescriptions
from nersery.augment.linearized.parsing import (
    NEAR_COPY,
    ONLY_PUNCTUATION,
    REPEATED,
    is_near_copy,
    mentions_outside,
    punctuation_mentions,
)
from nersery.augment.linearized.tagged_writing import check_encoder_decoder
from nersery.augment.masked_lm.model_setup import MaskedModelSettings
from nersery.augment.templates.masked_writer import MaskedWriter
from nersery.augment.templates.seq2seq_writer import Seq2SeqWriter
from nersery.augment.templates.template import Template, TemplateMaker
from nersery.augment.templates.template_writer import TemplateWriter
from nersery.augment.words.stop_words import stop_words
from nersery.core.outcome import Reject
from nersery.core.registry import name_of, unfitted
from nersery.core.sentence import Origin, Sentence
from nersery.core.settings.ranges import Count, CountOrZero, Rate, RateAboveZero
from nersery.core.settings.typed_settings import FileName, ModelName, hidden
from nersery.core.training_context import NO_TRAINING, Training
from nersery.taggers.base import load_tagger
from nersery.taggers.training.gold_tagger import gold_tagger

if TYPE_CHECKING:
    from nersery.models.embeddings.text_encoder import TextEncoder
    from nersery.models.pretrained.loading import ModelSource
    from nersery.taggers.base import Tagger

NO_GAP = "no word to rewrite"
MIXED_ABOVE = 0.7
MIXNER_MEAN, MIXNER_DEVIATION = 0.5, 0.79
"""Of the normally distributed number that is drawn for each sentence and round. The paper does not give the deviation.
With this one, two rounds in five are mixed, as in its code."""


@dataclass
class ACLM(FineTuningSettings, TypeDescriptions, MaskedModelSettings, Augmenter):
    """Keeps entities and keywords; a language model rewrites the rest of the sentence.

    Keywords are the words to which entities attend most in a tagger trained on gold. Entities and keywords form a
    template. For each copy, some keywords are hidden at random (dynamic masking). An encoder-decoder then writes a
    whole sentence, as in the paper; a masked language model, such as the bundled one, fills the gaps. Filter the output
    with `duplicates` (as in the paper) and `agreement` (as in its code).

    Args:
        model: `bundled`, a masked language model, or an encoder-decoder with a mask token, by name or folder.
        keywords: ``attention``, or the paper's ablations ``random`` and ``none``.
        keyword_rate: Keywords per entity, as a share in [0, 1] of the words outside entities (the paper's p).
        layers: Last layers of the tagger whose attention is summed; 0: all.
        tagger: Folder or Hugging Face name of a tagger. None: in a run, that of the system's base; elsewhere the
            default tagger, trained on gold first.
        stop_words: File of words that cannot be keywords, one per line. Empty: the language's list.
        mixner: Join the template with that of a similar sentence, in two of five copies.
        neighbours: Nearest sentences from which the similar one is drawn.
        sentence_encoder: Encoder for this similarity: `bundled`, or a name or folder.
        top_k: Draw each word or subword from this many most probable ones, in proportion to their probability.
        candidates: Samples or beams; the most probable is used.
        decoding: How an encoder-decoder writes: ``sample``, or ``beams`` (the paper's).
        passes: Passes in which a masked language model fills the gaps, most certain words first.
        max_subwords: Maximum output of an encoder-decoder; longer texts are rejected.
        similarity: Reject a sentence that shares at least this share of words with its parent, in (0, 1].
        language: Language of sentences that name none, for models with language codes such as mBART.

    Reference:
        Ghosh et al. (2023). ACLM: A Selective-Denoising based Generative Data Augmentation Approach for Low-Resource
        Complex NER. ACL.

    Departures:
        - The paper uses `beams` and mixner, as do our recipes for it. By default, we sample and do not mix.
        - The paper's five rounds are `copies = 5`.
        - Constants of mixner and dynamic masking are the paper's, except mixner's standard deviation, which it does not
          give. Ours, 0.79, mixes in two of five rounds, as its code does.
        - For K keywords, the paper calls 1/K the variance of dynamic masking; its code and we use it as standard
          deviation.
        - Stop words count as words for `keyword_rate`, but are never keywords; the paper does not say.
        - The code has one stop list for ten languages. Here each has its own, limited to words common in gold; English
          also has all function words.
        - If attention fails, the code keeps only entities; here that is an error.
        - `random` keywords: the model trains on one draw per sentence; each copy draws again.
        - The masked language model is our addition. It fills gaps with whole words in the script of the sentence, or
          punctuation; their number is drawn from the gaps of gold. The most probable of `candidates` drafts is used.
        - The paper uses mBART-50-large at 1e-5, and XLM-R large at 1e-2 for attention; the bundled model learns at
          1e-4.
    """

    keywords: Literal["attention", "random", "none"] = "attention"
    keyword_rate: Rate = 0.3
    layers: CountOrZero = 4
    tagger: ModelName | None = None
    stop_words: FileName = ""
    mixner: bool = False
    neighbours: Count = 2
    sentence_encoder: ModelName = "bundled"
    top_k: Count = 10
    candidates: Count = 5
    decoding: Literal["sample", "beams"] = "sample"
    passes: Count = 10
    max_subwords: Count = 100
    similarity: RateAboveZero = 0.9
    epochs: Count = 10
    language: str = ""
    _unlabelled: frozenset[tuple[str, ...]] = hidden(default=frozenset())
    _writer: TemplateWriter | None = hidden(default=None)
    _maker: Any = hidden(default=None)
    _partners: Any = hidden(default=None)

    def check(self) -> None:
        if self.tagger is not None and self.keywords == "attention":
            from nersery.taggers.networks.word_attention import with_attention

            with_attention(load_tagger(self.tagger))
        if self.mixner:
            self._encoder_source().config()
        if self.is_encoder_decoder:
            self.refuse_adaptation()
            check_encoder_decoder(self)
        else:
            super().check()

    def check_tagger(self, tagger: Tagger) -> None:
        """Refuse a tagger without attention if keywords are chosen by it; see `Augmenter.check_tagger`."""
        if self.tagger is None and self.keywords == "attention":
            from nersery.taggers.networks.word_attention import with_attention

            with_attention(tagger)

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Choose the keywords of gold, and fine-tune the model on its templates.

        Raises:
            DataError: If no sentence has an entity.
        """
        from nersery.taggers.networks.word_attention import word_attention

        sentences = sorted(gold, key=lambda sentence: sentence.id)
        labelled = sentences_with_entities(self, sentences)
        warn_of_unused(self.descriptions, "descriptions", labelled)
        excluded = {} if self.keywords == "none" else stop_words(labelled, self.stop_words)
        needs_tagger = self.keywords == "attention"
        tagger: Any = gold_tagger(name_of(self), self.tagger, sentences, training) if needs_tagger else None
        attentions = partial(word_attention, tagger, layers=self.layers)
        self._unlabelled = mentions_outside(sentences, _mentions(labelled))
        self._maker = TemplateMaker(self.keywords, self.keyword_rate, excluded, attentions)
        dev = [sentence for sentence in training.dev if sentence.entities]
        templates = self._maker.training_templates([*labelled, *dev], training.seed)
        writer = Seq2SeqWriter(self) if self.is_encoder_decoder else MaskedWriter(self)
        writer.learn(labelled, replace(training, dev=dev), templates)
        self._writer = writer
        if self.mixner:
            from nersery.models.embeddings.text_encoder import TextEncoder

            encoder = TextEncoder(self._encoder_source(), device=self.device, precision=self.precision)
            self._partners = _Partners(encoder, labelled, self.neighbours)

    def generate_batch(self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]) -> list[Sentence | Reject]:
        if self._writer is None:
            raise unfitted(self, "generate")
        outcomes: list[Sentence | Reject] = [Reject(NO_GAP if s.entities else NO_ENTITIES) for s in sentences]
        mixed = self._mixed(sentences, rngs)
        templates = [template.dynamically_masked(rng) for (template, _), rng in zip(mixed, rngs, strict=True)]
        due = [n for n, template in enumerate(templates) if template.sentence.entities and template.gaps()]
        drafts = self._writer.write([templates[n] for n in due], [rngs[n] for n in due])
        for number, draft in zip(due, drafts, strict=True):
            outcomes[number] = self._checked(draft, *mixed[number])
        return outcomes

    def _mixed(
        self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]
    ) -> list[tuple[Template, tuple[Sentence, ...]]]:
        """The template of each sentence, possibly joined with that of another one, and the sentences it comes from."""
        templates = self._maker.templates(sentences, rngs)
        mixed: list[tuple[Template, tuple[Sentence, ...]]] = [(t, (t.sentence,)) for t in templates]
        chosen = [n for n, rng in enumerate(rngs) if self.mixner and is_mixed(rng) and sentences[n].entities]
        partners = self._partners.of([sentences[n] for n in chosen]) if chosen else []
        drawn = {n: rngs[n].choice(candidates) for n, candidates in zip(chosen, partners, strict=True) if candidates}
        partner_templates = self._maker.templates(list(drawn.values()), [rngs[n] for n in drawn])
        for number, partner in zip(drawn, partner_templates, strict=True):
            mixed[number] = (templates[number].mixed_with(partner), (sentences[number], partner.sentence))
        return mixed

    def _encoder_source(self) -> ModelSource:
        from nersery.models.pretrained.loading import ModelSource

        return ModelSource(self.sentence_encoder, trust_remote_code=self.trust_remote_code)

    def _checked(
        self, draft: Sentence | Reject, template: Template, sources: tuple[Sentence, ...]
    ) -> Sentence | Reject:
        """The draft with its origin, unless it nearly repeats its sources, or its labels are wrong.

        Words of a mention may be outside entities if they also are in gold or in a source, such as *it*, also a film.
        """
        if isinstance(draft, Reject):
            return draft
        draft = replace(draft, origin=Origin("aclm", tuple(source.id for source in sources), 1))
        if is_near_copy(draft, {template.sentence, *sources}, self.similarity):
            return Reject(NEAR_COPY, draft)
        if not punctuation_mentions([draft]) <= punctuation_mentions(sources):
            return Reject(ONLY_PUNCTUATION, draft)
        mentions = _mentions([draft])
        unlabelled = self._unlabelled | mentions_outside(sources, mentions)
        return draft if mentions_outside([draft], mentions) <= unlabelled else Reject(REPEATED, draft)


def _mentions(sentences: Iterable[Sentence]) -> set[tuple[str, ...]]:
    return {sentence.mention(entity) for sentence in sentences for entity in sentence.entities}


def is_mixed(rng: random.Random) -> bool:
    """Draw whether a sentence is mixed with a partner in a round."""
    return rng.gauss(MIXNER_MEAN, MIXNER_DEVIATION) > MIXED_ABOVE


class _Partners:
    """The gold sentences most similar to a sentence, by the cosine of sentence embeddings. Of copies, the first counts.

    Args:
        gold: Sentences from which partners are taken.
        neighbours: Number of most similar sentences from which a partner is drawn.
    """

    def __init__(self, encoder: TextEncoder, gold: Sequence[Sentence], neighbours: int) -> None:
        self._encoder, self._neighbours = encoder, neighbours
        distinct: dict[tuple[str, ...], Sentence] = {}
        for sentence in gold:
            distinct.setdefault(sentence.words, sentence)
        self._gold = [*distinct.values()]
        self._numbers = {words: number for number, words in enumerate(distinct)}
        self._vectors = encoder.sentences([*distinct])

    def of(self, sentences: Sequence[Sentence]) -> list[list[Sentence]]:
        """The gold sentences to draw each sentence's partner from, most similar first, but none with the same words."""
        import numpy as np

        from nersery.models.embeddings.neighbours import nearest

        # Gold sentences already have vectors. -1 marks sentences to encode, whose rows are overwritten below.
        numbers = np.array([self._numbers.get(sentence.words, -1) for sentence in sentences], dtype=np.int64)
        vectors = self._vectors[numbers]
        vectors[numbers < 0] = self._encoder.sentences([s.words for s in sentences if s.words not in self._numbers])
        neighbours = nearest(vectors, self._vectors, self._neighbours, numbers)
        return [
            [self._gold[number] for number in row if self._gold[number].words != sentence.words]
            for row, sentence in zip(neighbours.tolist(), sentences, strict=True)
        ]
