"""Compute labels from scores: decoding, soft labels, and certainty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from nersery.core.errors import SettingsError
from nersery.core.progress import Progress
from nersery.core.registry import unfitted
from nersery.core.sentence import Entity, Sentence, SoftLabel, checked_sentences
from nersery.core.settings.typed_settings import hidden
from nersery.models.subwords.joined_characters import WordGroups, character_labels
from nersery.models.training.monte_carlo_dropout import monte_carlo_dropout
from nersery.taggers.output_layer.crf import ConditionalRandomField
from nersery.taggers.output_layer.tag_set import TagSet

MAX_SENTENCES = 128
"""The number of sentences decoded at once, unless `MAX_DECODED` allows fewer."""
CERTAIN_PROBABILITY = 0.99
"""Words with a label of at least this probability get no soft labels."""
MAX_DECODED = 1 << 20
"""The most numbers in the largest tensor of decoding, including passes and padding, so that neither one long line among
short ones nor hundreds of types fill the memory."""


def labelled(
    sentences: Sequence[Sentence],
    emissions: Sequence[Tensor],
    tags: TagSet,
    crf: ConditionalRandomField | None,
    *,
    soft: bool = False,
) -> list[Sentence]:
    """Sentences with the best legal labels; the score of an entity is the mean marginal probability of its tags.

    Args:
        emissions: Scores of one pass.
        soft: Add soft labels.

    Raises:
        SettingsError: If soft labels are requested, and the tags are those of a third-party model, which may begin
            entities with I.
    """
    if soft and not tags.strict:
        raise SettingsError('only taggers that nersery trained have soft labels: choose labels = "hard"')
    decoder = _decoder(tags, crf)
    entities: dict[int, list[Entity]] = {}
    soft_labels: dict[int, tuple[SoftLabel, ...]] = {}
    for numbers, padded, mask in _padded(emissions):
        paths = decoder.decode(padded[:, 0], mask)
        marginals = decoder.marginals(padded[:, 0], mask)
        scores = marginals.gather(2, paths.unsqueeze(2)).squeeze(2)
        if soft:
            for number, probabilities, score in zip(numbers, marginals @ tags.label_of_tag, scores, strict=True):
                uncertain = (score[: len(sentences[number])] < CERTAIN_PROBABILITY).nonzero().flatten().tolist()
                soft_labels[number] = tags.soft_labels(probabilities, uncertain)
        for number, path, certainty in zip(numbers, paths.tolist(), scores.tolist(), strict=True):
            length = len(sentences[number])
            entities[number] = tags.entities(path[:length], certainty[:length])
    return [
        replace(sentence, entities=tuple(entities[number]), soft_labels=soft_labels.get(number, ()))
        for number, sentence in enumerate(sentences)
    ]


def shares(
    sentences: Sequence[Sentence], emissions: Sequence[Tensor], tags: TagSet, crf: ConditionalRandomField | None
) -> list[tuple[float, ...]]:
    """For each word, the share of passes that predict its label; see `Tagger.certainty`."""
    decoder, shares_by_number = _decoder(tags, crf), dict[int, tuple[float, ...]]()
    for numbers, padded, mask in _padded(emissions):
        passes, words = padded.shape[1], padded.shape[2]
        paths = decoder.decode(padded.flatten(0, 1), mask.repeat_interleave(passes, 0))
        labels = [tags.labels_of(sentences[number].entities, words) for number in numbers]
        agrees = tags.labels(paths).view(-1, passes, words) == torch.tensor(labels).unsqueeze(1)
        for number, counts in zip(numbers, agrees.sum(1).tolist(), strict=True):
            shares_by_number[number] = tuple(count / passes for count in counts[: len(sentences[number])])
    return [shares_by_number[number] for number in range(len(sentences))]


@dataclass
class Decoding(ABC):
    """The shared part of taggers with a network that scores the tags of each word, and possibly a CRF on top."""

    _network: Any = hidden(default=None)
    _crf: ConditionalRandomField | None = hidden(default=None)
    _tags: TagSet = hidden(default=TagSet(("O",)))
    history: dict[str, Any] = hidden(default_factory=dict)

    @property
    def network(self) -> Any:
        """The network; raises `UnfittedError` before training."""
        if self._network is None:
            raise unfitted(self, "predict", "fit, or load a saved tagger,")
        return self._network

    @abstractmethod
    def _emissions(
        self, sentences: Sequence[Sentence], progress: Progress | None = None, *, dropout_passes: int = 0
    ) -> list[Tensor]:
        """The scores, like those of `emissions`; with ``dropout_passes``, of that number of passes of MC dropout."""

    @property
    def types(self) -> tuple[str, ...]:
        """The types that a trained tagger can predict."""
        return self._tags.types

    def as_read(self, sentences: Sequence[Sentence], *, labelled: bool = False) -> list[tuple[Sentence, WordGroups]]:
        """The sentences as the network reads them, and the words joined in each word; see `with_joined_characters`."""
        return [(sentence, ()) for sentence in sentences]

    def predict(self, sentences: Sequence[Sentence], progress: Progress | None = None) -> list[Sentence]:
        """Label sentences; see `Tagger.predict`. An entity's score is the mean probability of its words' tags."""
        return self._predict([*checked_sentences(sentences, "the input")], progress)

    def predict_soft(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Label sentences with probabilities; see `Tagger.predict_soft`."""
        return self._predict(sentences, soft=True)

    @torch.no_grad()
    def _predict(
        self, sentences: Sequence[Sentence], progress: Progress | None = None, *, soft: bool = False
    ) -> list[Sentence]:
        read = self.as_read(sentences)
        longer = [sentence for sentence, _ in read]
        predicted = labelled(longer, self._emissions(longer, progress), self._tags, self._crf, soft=soft)
        return [character_labels(s, p, groups) for s, p, (_, groups) in zip(sentences, predicted, read, strict=True)]

    @torch.no_grad()
    def certainty(self, sentences: Sequence[Sentence], *, passes: int = 10, seed: int = 0) -> list[tuple[float, ...]]:
        """Estimate the certainty of labels; see `Tagger.certainty`."""
        read = self.as_read(sentences, labelled=True)
        longer = [sentence for sentence, _ in read]
        with monte_carlo_dropout(self.network, passes, seed):
            scores = self._emissions(longer, dropout_passes=passes)
        return [
            tuple(value for value, group in zip(of_words, groups, strict=True) for _ in group) if groups else of_words
            for of_words, (_, groups) in zip(shares(longer, scores, self._tags, self._crf), read, strict=True)
        ]


def _decoder(tags: TagSet, crf: ConditionalRandomField | None) -> ConditionalRandomField:
    """A copy of the CRF on the CPU, or without one, a CRF that only excludes illegal tag sequences."""
    decoder = ConditionalRandomField(tags)
    if crf is not None:  # copied, because a CRF in training must stay on its device
        decoder.load_state_dict({name: weights.cpu() for name, weights in crf.state_dict().items()})
    return decoder


def _padded(emissions: Sequence[Tensor]) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Yield groups of sentences of similar length: their numbers, padded emissions and word masks.

    Shape: (sentences, passes, words, tags) and (sentences, words).
    """
    if not emissions:
        return
    order = sorted(range(len(emissions)), key=lambda number: len(emissions[number]))
    groups: list[list[int]] = [[]]
    for number in order:
        words, passes, tags = emissions[number].shape
        size = (len(groups[-1]) + 1) * passes * tags * max(words, tags)
        if groups[-1] and (len(groups[-1]) == MAX_SENTENCES or size > MAX_DECODED):
            groups.append([])
        groups[-1].append(number)
    for numbers in groups:
        padded = nn.utils.rnn.pad_sequence([emissions[number] for number in numbers], batch_first=True)
        lengths = torch.tensor([len(emissions[number]) for number in numbers])
        yield numbers, padded.transpose(1, 2), torch.arange(padded.shape[1]) < lengths.unsqueeze(1)
