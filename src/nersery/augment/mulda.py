"""MulDA: an encoder-decoder fine-tuned on sentences with their tags continues the beginnings of gold sentences."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nersery.augment.base import Augmenter
from nersery.augment.components.gold_training import sentences_with_entities, warn_of_unused
from nersery.augment.components.shared_settings import FineTuningSettings, TypeDescriptions
from nersery.augment.linearized.linearization import linearize, with_split_words
from nersery.augment.linearized.parsing import NEAR_COPY, is_near_copy, parse, parsed_child, punctuation_mentions
from nersery.augment.linearized.tagged_writing import check_encoder_decoder, fine_tuned_writer, write_sentences
from nersery.core.errors import beginning
from nersery.core.outcome import Reject
from nersery.core.registry import unfitted
from nersery.core.sentence import Sentence, types_in
from nersery.core.settings.ranges import Count, Rate, RateAboveZero
from nersery.core.settings.typed_settings import ModelName, hidden
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.pretrained.model_settings import ModelSettings
from nersery.models.seq2seq.seq2seq_inputs import Sampling, TextPair
from nersery.models.tokens import GAP

if TYPE_CHECKING:
    from nersery.models.seq2seq.encoder_decoder import Seq2Seq

TOO_LONG = "beginning longer than the model"


@dataclass
class MulDA(FineTuningSettings, TypeDescriptions, Augmenter, ModelSettings):
    """Continues the beginnings of gold sentences, including entities, with a fine-tuned encoder-decoder.

    A tag token precedes each entity word. The model learns to continue beginnings of random length, in all languages of
    gold. Filter the output with `duplicates` and `agreement`.

    Args:
        model: An encoder-decoder with a mask token or sentinels, by name or folder.
        shown_rate: Maximum share of a sentence's words to start from, in [0, 1].
        top_k: Draw each word or subword from this many most probable ones, in proportion to their probability.
        candidates: Texts to sample; the most probable is used.
        max_subwords: Maximum output of an encoder-decoder; longer texts are rejected.
        similarity: Reject a sentence that shares at least this share of words with its parent, in (0, 1].
        language: Language of sentences that name none, for models with language codes such as mBART.

    Reference:
        Liu et al. (2021). MulDA: A Multilingual Data Augmentation Framework for Low-Resource Cross-Lingual NER. ACL.

    Departures:
        - The paper first translates gold into other languages; we do not.
        - The paper uses mBART; the default is mBART-50, with which ACLM compares.
        - The share to start from is ours; other settings are ACLM's.
    """

    model: ModelName = "facebook/mbart-large-50"
    shown_rate: Rate = 0.5
    top_k: Count = 10
    candidates: Count = 1
    max_subwords: Count = 100
    similarity: RateAboveZero = 0.9
    epochs: Count = 10
    language: str = ""
    _lm: Any = hidden(default=None)
    _types: frozenset[str] = hidden(default=frozenset())
    _punctuation_mentions: frozenset[tuple[str, ...]] = hidden(default=frozenset())

    def check(self) -> None:
        check_encoder_decoder(self)

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Fine-tune the model on gold sentences with their tags.

        Raises:
            DataError: If no sentence has an entity, or no sentence fits the model.
        """
        sentences = list(gold)
        labelled = sentences_with_entities(self, sentences)
        warn_of_unused(self.descriptions, "descriptions", labelled)
        self._types = frozenset(types_in([*labelled, *training.dev]))
        self._punctuation_mentions = punctuation_mentions(labelled)
        self._lm = fine_tuned_writer(self, sentences, training, self._types, _random_pair, self._learning_issue)

    def generate_batch(self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]) -> list[Sentence | Reject]:
        """A new sentence for each sentence, which begins like it."""
        if self._lm is None:
            raise unfitted(self, "generate")
        shown = [rng.randint(0, int(self.shown_rate * len(s))) for s, rng in zip(sentences, rngs, strict=True)]
        pairs = [_pair(self._lm, sentence, count) for sentence, count in zip(sentences, shown, strict=True)]
        sampling = Sampling(self.top_k, self.candidates, self.max_subwords)
        return write_sentences(self._lm, self._types, sentences, pairs, rngs, sampling, self._read, too_long=TOO_LONG)

    def _learning_issue(self, model: Seq2Seq, sentence: Sentence) -> str:
        """Why the model cannot learn from a sentence. If it is parsed as another, the model would learn wrong labels.

        A text that cannot be parsed as a sentence does no harm, because it is also rejected when the model writes it.
        """
        whole = _pair(model, sentence, len(sentence) - 1)
        read = parse(model.written(whole.target), self._types, closed=False)
        if isinstance(read, Sentence) and read.labels != with_split_words(sentence, model.parts).labels:
            return f'the model writes it as "{beginning(read.text)}", under which its labels would be wrong'
        return model.length_issue(whole)

    def _read(self, words: Sequence[str], parent: Sentence) -> Sentence | Reject:
        child = parsed_child(words, self._types, parent, self._punctuation_mentions)
        if isinstance(child, Reject) or not is_near_copy(child, [parent], self.similarity):
            return child
        return Reject(NEAR_COPY, child)


def _random_pair(model: Seq2Seq, sentence: Sentence, rng: random.Random) -> TextPair:
    return _pair(model, sentence, rng.randrange(len(sentence)))


def _pair(model: Seq2Seq, sentence: Sentence, shown: int) -> TextPair:
    """The input of the model with the first ``shown`` words of a sentence, and the text that it must write."""
    text = linearize(with_split_words(sentence, model.parts), closed=False)
    end = text.positions[shown - 1] + 1 if shown else 0
    return TextPair((*text.words[:end], GAP), text.words, sentence.language)
