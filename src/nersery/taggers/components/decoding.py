"""Shared by taggers, from windows to labels: examples, forward passes of fixed shape, decoding, certainty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from nersery.core.errors import SettingsError
from nersery.core.progress import Progress
from nersery.core.sentence import Entity, Sentence, SoftLabel
from nersery.models.inference import Shape, by_length, windows_at_once
from nersery.models.subwords.windows import Window
from nersery.models.training.dropout import thinned
from nersery.taggers.components.crf import ConditionalRandomField
from nersery.taggers.components.tag_set import TagSet

Scorer = Callable[[Sequence[Window], Shape], Tensor]
"""Scores windows in a pass of the given shape. Shape: (passes, rows, words, tags), with rows and words beyond those of
the windows."""

LENGTH_MULTIPLE = 4
LONGEST = 512
"""Subwords for which a forward pass has room in each row; longer windows, or Monte Carlo passes, get fewer rows."""
DECODED = 128
"""Sentences decoded at once, unless `MOST_DECODED` allows fewer."""
SMALLEST = 1e-6
"""The smallest probability whose logarithm is taken, so that an impossible soft label cannot dominate the loss."""
CERTAIN = 0.99
"""Words whose label has this probability get no soft labels."""
LISTED = 1e-3
"""Soft labels with smaller probabilities are left out."""
MOST_DECODED = 1 << 20
"""Numbers in the largest tensor of decoding, passes and padding included: neither one long line among short ones nor
hundreds of types may fill the memory."""


class LabelledWindow(NamedTuple):
    """A window of a sentence with its labels.

    Args:
        tags: The tag of each word.
        begins: Whether it starts where its sentence does; `ends` is the same for the end.
        soft: The probability of each label of `TagSet.labels`, with soft labels. Shape: (words, labels).
    """

    window: Window
    tags: tuple[int, ...]
    begins: bool
    ends: bool
    soft: Tensor | None


def examples(windows: Sequence[Window], sentence: Sentence, tags: TagSet) -> list[LabelledWindow]:
    """The training examples of a sentence."""
    indices = tags.indices(sentence.entities, len(sentence))
    soft = tags.soft_targets(sentence) if sentence.soft_labels else None
    labelled_windows = []
    for window in windows:
        end = window.start + len(window.firsts)
        target = None if soft is None else soft[window.start : end]
        tags_of_words = tuple(indices[window.start : end])
        labelled_windows.append(LabelledWindow(window, tags_of_words, window.start == 0, end == len(sentence), target))
    return labelled_windows


def loss(
    emissions: Tensor, mask: Tensor, batch: Sequence[LabelledWindow], crf: ConditionalRandomField | None, tags: TagSet
) -> Tensor:
    """The mean loss over the words of a batch.

    For tags: the negative log-likelihood of the CRF; without one, the cross-entropy of each word. For soft labels: the
    cross-entropy between them and the marginal probabilities of each word's labels.

    Args:
        emissions: Shape: (windows, words, tags).
        mask: Whether there is a word. Shape: (windows, words).
    """
    soft = torch.tensor([example.soft is not None for example in batch], device=mask.device)
    if not soft.any():
        return _hard_loss(emissions, mask, batch, crf)
    if soft.all():
        return _soft_loss(emissions, mask, batch, crf, tags)
    hard_part = _hard_loss(emissions[~soft], mask[~soft], [e for e in batch if e.soft is None], crf)
    soft_part = _soft_loss(emissions[soft], mask[soft], [e for e in batch if e.soft is not None], crf, tags)
    share = mask[soft].sum() / mask.sum()
    return (1 - share) * hard_part + share * soft_part


def disagreement(ours: Tensor, theirs: Tensor) -> Tensor:
    """The divergence of two opinions from their mean, in nats; 0 if they are the same.

    Args:
        ours, theirs: Scores of tags. Shape: (words, tags).
    """
    logs = torch.stack([ours, theirs]).float().log_softmax(dim=-1)
    mean = logs.exp().mean(dim=0)
    divergence: Tensor = (torch.special.xlogy(mean, mean) - mean * logs).sum(dim=-1).mean()
    return divergence


def _hard_loss(
    emissions: Tensor, mask: Tensor, batch: Sequence[LabelledWindow], crf: ConditionalRandomField | None
) -> Tensor:
    padded = [example.tags + (0,) * (mask.shape[1] - len(example.tags)) for example in batch]
    tags = torch.tensor(padded).to(mask.device)
    if crf is None:
        return nn.functional.cross_entropy(emissions[mask], tags[mask])
    return crf.loss(emissions, tags, mask, *_borders(batch, mask))


def _soft_loss(
    emissions: Tensor, mask: Tensor, batch: Sequence[LabelledWindow], crf: ConditionalRandomField | None, tags: TagSet
) -> Tensor:
    if crf is None:
        probabilities = emissions.float().softmax(2)
    else:
        probabilities = crf.marginals(emissions, mask, _borders(batch, mask))
    labels = probabilities[mask] @ tags.label_of_tag.to(mask.device)
    targets = torch.cat([example.soft for example in batch if example.soft is not None]).to(mask.device)
    return -(targets * labels.clamp_min(SMALLEST).log()).sum(1).mean()


def _borders(batch: Sequence[LabelledWindow], mask: Tensor) -> tuple[Tensor, Tensor]:
    begins, ends = torch.tensor([[example.begins, example.ends] for example in batch], device=mask.device).unbind(1)
    return begins, ends


def emissions(
    windows: Sequence[Sequence[Window]],
    score: Scorer,
    *,
    passes: int = 1,
    packed: bool = False,
    device: torch.device,
    progress: Progress | None = None,
) -> list[Tensor]:
    """Scores of each tag at each word, taken from the window whose core has the word.

    Args:
        windows: Those of each sentence.
        passes: Monte Carlo passes over each window.
        device: Of the network; it decides how many windows are scored at once.
        packed: Score rows of windows; see `nersery.models.packed.packed_encoder.rows`.
        progress: Counts windows.

    Returns:
        Shape: (words, passes, tags), for each sentence.
    """
    flat = [(number, window) for number, windows_of_sentence in enumerate(windows) for window in windows_of_sentence]
    parts: list[dict[int, Tensor]] = [{} for _ in windows]
    rows = partial(_rows, passes=passes, most=windows_at_once(device))
    lengths = [len(window.subwords) for _, window in flat]
    for indices, shape in by_length(lengths, rows, LENGTH_MULTIPLE, packed=packed):
        members = [flat[index] for index in indices]
        scores = score([window for _, window in members], shape).float().cpu()
        for row, (number, window) in enumerate(members):
            start, end = window.core
            parts[number][start] = scores[:, row, start - window.start : end - window.start].transpose(0, 1)
        if progress is not None:
            progress.advance(len(members))
    return [torch.cat([part[start] for start in sorted(part)]) for part in parts]


def _rows(length: int, passes: int, most: int) -> int:
    """Windows per pass, by their padded length alone; see `by_length`."""
    return max(1, min(most, most * LONGEST // (length * passes)))


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
        emissions: Of one pass.
        soft: Add soft labels.

    Raises:
        SettingsError: If there should be soft labels, and the tags are those of another library's model, which may
            begin entities with I.
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
                uncertain = (score[: len(sentences[number])] < CERTAIN).nonzero().flatten().tolist()
                soft_labels[number] = tags.soft_labels(probabilities, uncertain, LISTED)
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
    """For each word the share of passes that predict its label; see `Tagger.certainty`."""
    decoder, shares_by_number = _decoder(tags, crf), dict[int, tuple[float, ...]]()
    for numbers, padded, mask in _padded(emissions):
        passes, words = padded.shape[1], padded.shape[2]
        paths = decoder.decode(padded.flatten(0, 1), mask.repeat_interleave(passes, 0))
        labels = [tags.labels_of(sentences[number].entities, words) for number in numbers]
        agrees = tags.labels(paths).view(-1, passes, words) == torch.tensor(labels).unsqueeze(1)
        for number, counts in zip(numbers, agrees.sum(1).tolist(), strict=True):
            shares_by_number[number] = tuple(count / passes for count in counts[: len(sentences[number])])
    return [shares_by_number[number] for number in range(len(sentences))]


class Decoding(ABC):
    """What taggers have in common whose network scores the tags of each word, and which may have a CRF on top."""

    _tags: TagSet

    @property
    @abstractmethod
    def _scored_by(self) -> tuple[nn.Module, ConditionalRandomField | None]:
        """The network and the CRF; an error before training."""

    @abstractmethod
    def _emissions(
        self, sentences: Sequence[Sentence], progress: Progress | None = None, *, thinned_passes: int = 0
    ) -> list[Tensor]:
        """Scores as from `emissions`; with ``thinned_passes``, those of this number of passes under `thinned`."""

    @property
    def types(self) -> tuple[str, ...]:
        """The types that a trained tagger can predict."""
        return self._tags.types

    @torch.no_grad()
    def predict(self, sentences: Sequence[Sentence], progress: Progress | None = None) -> list[Sentence]:
        """Label sentences; see `Tagger.predict`. An entity's score is the mean probability of its words' tags."""
        _, crf = self._scored_by
        return labelled(sentences, self._emissions(sentences, progress), self._tags, crf)

    @torch.no_grad()
    def predict_soft(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Label sentences with probabilities; see `Tagger.predict_soft`."""
        _, crf = self._scored_by
        return labelled(sentences, self._emissions(sentences), self._tags, crf, soft=True)

    @torch.no_grad()
    def certainty(self, sentences: Sequence[Sentence], *, passes: int = 10, seed: int = 0) -> list[tuple[float, ...]]:
        """Judge labels; see `Tagger.certainty`."""
        network, crf = self._scored_by
        with thinned(network, passes, seed):
            scores = self._emissions(sentences, thinned_passes=passes)
        return shares(sentences, scores, self._tags, crf)


def _decoder(tags: TagSet, crf: ConditionalRandomField | None) -> ConditionalRandomField:
    """The CRF on the CPU, or one that only knows which tag sequences are legal."""
    decoder = ConditionalRandomField(tags)
    if crf is not None:  # copied: the CRF in training must stay on its device
        decoder.load_state_dict({name: weights.cpu() for name, weights in crf.state_dict().items()})
    return decoder


def _padded(emissions: Sequence[Tensor]) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Groups of sentences of similar length: their numbers, padded emissions, and where there are words.

    Shape: (sentences, passes, words, tags) and (sentences, words).
    """
    if not emissions:
        return
    order = sorted(range(len(emissions)), key=lambda number: len(emissions[number]))
    groups: list[list[int]] = [[]]
    for number in order:
        words, passes, tags = emissions[number].shape
        size = (len(groups[-1]) + 1) * passes * tags * max(words, tags)
        if groups[-1] and (len(groups[-1]) == DECODED or size > MOST_DECODED):
            groups.append([])
        groups[-1].append(number)
    for numbers in groups:
        padded = nn.utils.rnn.pad_sequence([emissions[number] for number in numbers], batch_first=True)
        lengths = torch.tensor([len(emissions[number]) for number in numbers])
        yield numbers, padded.transpose(1, 2), torch.arange(padded.shape[1]) < lengths.unsqueeze(1)
