"""The training examples and the loss of taggers, for hard and soft labels, with or without a CRF."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from nersery.core.sentence import Sentence
from nersery.models.subwords.windows import Window
from nersery.taggers.output_layer.crf import ConditionalRandomField
from nersery.taggers.output_layer.tag_set import TagSet

MIN_PROBABILITY = 1e-6
"""Probabilities are clamped to this minimum before the logarithm, so that an impossible soft label cannot dominate the
loss."""


class LabelledWindow(NamedTuple):
    """A window of a sentence with its labels.

    Args:
        tags: The tag of each word.
        begins: Whether the window starts where its sentence does; `ends` is the same for the end.
        soft: The probability of each label of `TagSet.labels` if the sentence has soft labels. Shape: (words, labels).
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

    For tags, the loss is the negative log-likelihood of the CRF or, without a CRF, the cross-entropy of each word. For
    soft labels, it is the cross-entropy between them and the marginal probabilities of each word's labels.

    Args:
        emissions: Shape: (windows, words, tags).
        mask: Whether there is a word at a position. Shape: (windows, words).
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
    """The mean divergence of two networks' predictions from their average, in nats; 0 if they are equal.

    Args:
        ours, theirs: Scores of tags. Shape: (words, tags).
    """
    logs = torch.stack([ours, theirs]).float().log_softmax(dim=-1)
    mean = logs.exp().mean(dim=0)
    return (torch.special.xlogy(mean, mean) - mean * logs).sum(dim=-1).mean()


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
    return -(targets * labels.clamp_min(MIN_PROBABILITY).log()).sum(1).mean()


def _borders(batch: Sequence[LabelledWindow], mask: Tensor) -> tuple[Tensor, Tensor]:
    begins, ends = torch.tensor([[example.begins, example.ends] for example in batch], device=mask.device).unbind(1)
    return begins, ends
