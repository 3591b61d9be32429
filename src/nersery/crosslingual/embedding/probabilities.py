"""Turn scores of pairs of subwords into probabilities of links, and choose links by them.

Scores have the shape (pairs, source subwords, target subwords), padded; a mask of that shape is false at padding.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from torch import Tensor

from nersery.models.embeddings.hidden_states import HiddenStates

Normalizer = Callable[[Tensor], Tensor]
"""Turns scores into probabilities along the last dimension."""

MEAN_SMOOTHING = 2
"""Added to the number of subwords by which their sum is divided; see `word_states`."""


def softmax(scores: Tensor) -> Tensor:
    """Probabilities along the last dimension."""
    return scores.softmax(-1)


def entmax(scores: Tensor) -> Tensor:
    """The 1.5-entmax: probabilities along the last dimension, many of which are 0.

    It is ``max(score / 2 - t, 0) ** 2``, with the ``t`` for which the sum is 1, found exactly by sorting.

    Reference:
        Ben Peters, Vlad Niculae and André F. T. Martins (2019). Sparse Sequence-to-Sequence Models. ACL.
    """
    halves = scores / 2 - scores.amax(-1, keepdim=True) / 2
    halves = halves.clamp(min=-2.0)  # t is -1 or more; without this, sums with padding would lose the other scores
    ordered = halves.sort(-1, descending=True).values
    counts = torch.arange(1, scores.shape[-1] + 1, device=scores.device, dtype=scores.dtype)
    means = ordered.cumsum(-1) / counts
    squares = (ordered**2).cumsum(-1) / counts
    thresholds = means - ((1 - counts * (squares - means**2)) / counts).clamp(min=0).sqrt()
    support = (thresholds <= ordered).sum(-1, keepdim=True)
    return (halves - thresholds.gather(-1, support - 1)).clamp(min=0) ** 2


NORMALIZERS: dict[str, Normalizer] = {"softmax": softmax, "entmax": entmax}


def both_directions(scores: Tensor, mask: Tensor, normalizer: Normalizer = softmax) -> tuple[Tensor, Tensor]:
    """Probabilities of target subwords for each source subword, and the other way round.

    Shape: twice (pairs, source subwords, target subwords).
    """
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min / 4)
    forward = normalizer(scores)
    backward = normalizer(scores.transpose(1, 2).contiguous()).transpose(1, 2)
    return forward * mask, backward * mask


def probable_links(forward: Tensor, backward: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """The links above `threshold` in both directions, and their probability: the geometric mean of both."""
    return (forward > threshold) & (backward > threshold), (forward.sqrt() * backward.sqrt()).clamp(max=1)


def word_states(states: HiddenStates) -> HiddenStates:
    """Unit vectors of words: the mean of their subwords, minus what all subwords of the text have in common.

    In short texts, less than the mean of the text is subtracted, because otherwise little would be left of the words.
    """
    values: list[Tensor] = []
    owners: list[tuple[int, ...]] = []
    for start, text_owners in zip(states.starts, states.owners, strict=True):
        subwords = states.values[start : start + len(text_owners)]
        subwords = torch.nn.functional.normalize(
            subwords - subwords.sum(0) / (len(text_owners) + MEAN_SMOOTHING), dim=-1
        )
        words, index = torch.unique(torch.tensor(text_owners, dtype=torch.long), return_inverse=True)
        sums = subwords.new_zeros(len(words), subwords.shape[1]).index_add_(0, index.to(subwords.device), subwords)
        values.append(torch.nn.functional.normalize(sums, dim=-1))
        owners.append(tuple(words.tolist()))
    starts = itertools.accumulate(map(len, owners[:-1]), initial=0)
    return HiddenStates(torch.cat([*values, states.values[-1:]]), tuple(starts), tuple(owners))
