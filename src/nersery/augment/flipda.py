"""FlipDA: entities get other types and other words, and a tagger chooses among the candidates."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from nersery.augment.base import NO_WORD, Augmenter
from nersery.augment.components.gold_training import sentences_with_entities, warn_of_unused
from nersery.augment.components.shared_settings import FineTuningSettings, TypeDescriptions
from nersery.augment.components.span_filling import check_span_model, fill_spans
from nersery.augment.linearized.linearization import linearized_input, token_descriptions
from nersery.augment.masked_lm import model_setup
from nersery.augment.masked_lm.mention_masking import fill, with_words
from nersery.core.outcome import Reject
from nersery.core.registry import name_of, unfitted
from nersery.core.sentence import Sentence, types_in
from nersery.core.settings.ranges import Count, Rate
from nersery.core.settings.typed_settings import ModelName, hidden
from nersery.core.text.text_forms import is_punctuation
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.masked.masked_inputs import Drawing, MaskedInput, replaceable_positions
from nersery.models.seq2seq.seq2seq_inputs import Sampling
from nersery.taggers.training.gold_tagger import check_gold_tagger, gold_tagger

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import MaskedLM

NO_AGREEMENT = "no candidate with its labels"
NOT_NEW = "no candidate with new words"
REPEATS_WORD = "the best candidate repeats a word"
Ranked = tuple[tuple[int, float], Sentence | Reject]
"""A rank (higher is better), and the candidate or its reject. Of rejects with the same rank, the last one counts."""
UNWRITTEN, OTHER_LABELS, OTHER_ISSUE = (0, 0.0), (1, 0.0), (2, 0.0)
"""The ranks of rejects. Those of candidates are 3 and the probability of their entities."""


@dataclass
class FlipDA(FineTuningSettings, TypeDescriptions, model_setup.MaskedModelSettings, Augmenter):
    """Gives entities other types and other words; a tagger selects the best of several candidates.

    With probability `flip_rate`, an entity gets another type and new words; some other words are replaced too. New
    words come from a masked language model fine-tuned on labelled gold or, as in the paper, from T5 without
    fine-tuning. A tagger trained on gold must predict exactly the intended labels; the candidate with the most probable
    entities is used.

    Args:
        model: ``bundled``, a masked language model, or an encoder-decoder with sentinels (T5, mT5), by name or folder.
        tagger: Folder or Hugging Face name of a tagger. None: in a run, that of the system's base; elsewhere the
            default tagger, trained on gold first.
        flip_rate: Probability that an entity gets another type.
        mask_rate: Probability that any other word is replaced, or in fine-tuning that a subword is masked.
        candidates: Candidates per sentence.
        top_k: Draw each word or subword from this many most probable ones, in proportion to their probability.
        in_turn: Replace words one by one, so that each depends on the previous ones; takes longer.
        max_subwords: Maximum subwords that T5 writes for a sentence.

    Reference:
        Zhou et al. (2022). FlipDA: Effective and Robust Data Augmentation for Few-Shot Learning. ACL.

    Departures:
        - The paper classifies texts. Here the label is the types of all entities, and each may flip.
        - The paper gives T5 the label as a sentence; here the type's description precedes each entity, in brackets. T5
          samples; the paper also uses greedy and beam search. The word after a hidden entity stays.
        - The masked language model is our addition; it keeps the length of entities.
        - The paper keeps the most probable candidate per label. Here, as in its code, those with other predicted labels
          are removed first.
        - A flipped entity must change its words, without repeating one.
    """

    tagger: ModelName | None = None
    flip_rate: Rate = 0.5
    mask_rate: Rate = 0.3
    candidates: Count = 10
    top_k: Count = 15
    in_turn: bool = True
    max_subwords: Count = 100
    batch_size: Count = 30
    _fill_spans: Callable[..., list[Sentence | Reject]] | None = hidden(default=None)
    _tagger: Any = hidden(default=None)
    _types: tuple[str, ...] = hidden(default=())

    def check(self) -> None:
        if self.is_encoder_decoder:
            check_span_model(self)
        else:
            super().check()
        check_gold_tagger(self.tagger)

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Load or train a tagger, and fine-tune a masked language model on words with their labels.

        Raises:
            DataError: If no sentence has an entity.
        """
        sentences = sorted(gold, key=lambda sentence: sentence.id)
        labelled = sentences_with_entities(self, sentences)
        self._types = tuple(sorted(types_in(labelled)))
        warn_of_unused(self.descriptions, "descriptions", sentences)
        self._tagger = gold_tagger(name_of(self), self.tagger, sentences, training)
        if self.is_encoder_decoder:
            from nersery.models.seq2seq.encoder_decoder import Seq2Seq

            sampling = Sampling(self.top_k, candidates=1, max_subwords=self.max_subwords)
            model = Seq2Seq(self.source, self.device, self.precision)
            self._fill_spans = partial(fill_spans, model, sampling, self.descriptions)
            return
        lm = self.opened(sentences, training)
        self._add_tokens(lm, [*sentences, *training.dev])
        model_setup.fine_tune(lm, self, sentences, _training_input, training, rate=self.mask_rate)
        self._lm = lm

    def generate_batch(self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]) -> list[Sentence | Reject]:
        """The candidate for each sentence that the tagger judges best."""
        if self._lm is None and self._fill_spans is None:
            raise unfitted(self, "generate")
        due = [number for number, sentence in enumerate(sentences) if replaceable_positions(sentence.words)]
        targets = {number: self._with_flipped_types(sentences[number], rngs[number]) for number in due}
        numbers = [number for number in due for _ in range(self.candidates)]
        drafts = [(targets[n], self._positions_to_rewrite(sentences[n], targets[n], rngs[n])) for n in numbers]
        write = self._fill_spans or self._fill_masked
        return self._best(sentences, [*zip(numbers, write(drafts, [rngs[n] for n in numbers]), strict=True)])

    def _fill_masked(
        self, drafts: Sequence[tuple[Sentence, Sequence[int]]], rngs: Sequence[random.Random]
    ) -> list[Sentence | Reject]:
        """The sentences with words from the masked language model in place of the hidden ones."""
        self._add_tokens(self._lm, [target for target, _ in drafts])
        masked_inputs = [linearized_input(target, positions) for target, positions in drafts]
        filled = fill(self._lm, masked_inputs, rngs, Drawing(self.top_k, weighted=True), in_turn=self.in_turn)
        return [with_words(*draft, words) for draft, words in zip(drafts, filled, strict=True)]

    def _add_tokens(self, model: MaskedLM, sentences: Sequence[Sentence]) -> None:
        """Add tokens for types. Tokens of types that gold does not have are initialized from descriptions, too."""
        types = types_in(sentences)
        model.add_tokens(token_descriptions(types.union(self._types), (), self.descriptions))

    def _with_flipped_types(self, sentence: Sentence, rng: random.Random) -> Sentence:
        """The sentence with the intended types of its entities.

        An entity keeps its type if gold does not have that type, which the tagger cannot know, or is only punctuation.
        """
        entities = []
        for entity in sentence.entities:
            other_types = [type_ for type_ in self._types if type_ != entity.type]
            may_flip = other_types and entity.type in self._types and replaceable_positions(sentence.mention(entity))
            flips = may_flip and rng.random() < self.flip_rate
            entities.append(replace(entity, type=rng.choice(other_types)) if flips else entity)
        return sentence.with_entities(entities)

    def _positions_to_rewrite(self, sentence: Sentence, target: Sentence, rng: random.Random) -> list[int]:
        """The positions of words to rewrite: those of flipped entities, and a share of all others; at least one."""
        pairs = zip(sentence.entities, target.entities, strict=True)
        flipped = {position for old, new in pairs if old.type != new.type for position in old.positions}
        positions = replaceable_positions(sentence.words)
        hidden = [position for position in positions if position in flipped or rng.random() < self.mask_rate]
        return hidden or [rng.choice(positions)]

    def _best(
        self, sentences: Sequence[Sentence], written: Sequence[tuple[int, Sentence | Reject]]
    ) -> list[Sentence | Reject]:
        """The candidate for each sentence, by its number, about which the tagger is most certain."""
        predictions = iter(self._tagger.predict([text for _, text in written if isinstance(text, Sentence)]))
        best: list[Ranked] = [(UNWRITTEN, Reject(NO_WORD))] * len(sentences)
        for number, text in written:
            rank, outcome = (
                (UNWRITTEN, text) if isinstance(text, Reject) else _ranked(text, next(predictions), sentences[number])
            )
            highest, _ = best[number]
            if rank > highest or (rank == highest and isinstance(outcome, Reject)):
                best[number] = rank, outcome
        return [outcome for _, outcome in best]


def _training_input(sentence: Sentence, rng: random.Random) -> MaskedInput:
    """A training input, in which any replaceable word may be masked."""
    return linearized_input(sentence, replaceable_positions(sentence.words))


def _ranked(candidate: Sentence, predicted: Sentence, parent: Sentence) -> Ranked:
    """The rank of a candidate, and the candidate or its reject.

    Args:
        predicted: The candidate with the labels that the tagger predicts.
    """
    if predicted.labels != candidate.labels:
        return OTHER_LABELS, Reject(NO_AGREEMENT, candidate)
    if not _is_new(candidate, parent):
        return OTHER_ISSUE, Reject(NOT_NEW, candidate)
    if _repeats(candidate) > _repeats(parent):
        return OTHER_ISSUE, Reject(REPEATS_WORD, candidate)
    probabilities = (1.0 if entity.score is None else entity.score for entity in predicted.entities)
    return (3, math.prod(probabilities)), candidate  # as if the entities were independent


def _repeats(sentence: Sentence) -> int:
    """How many words repeat the word before them. Single characters, as in Chinese, and punctuation do not count."""
    pairs = zip(sentence.words, sentence.words[1:], strict=False)
    return sum(len(word) > 1 and word == before and not is_punctuation(word) for before, word in pairs)


def _is_new(candidate: Sentence, parent: Sentence) -> bool:
    """Whether a candidate has other words than its parent, in particular in each flipped entity."""
    pairs = zip(parent.entities, candidate.entities, strict=True)  # an encoder-decoder may move them
    kept = (parent.mention(old) == candidate.mention(new) for old, new in pairs if old.type != new.type)
    return candidate.words != parent.words and not any(kept)
