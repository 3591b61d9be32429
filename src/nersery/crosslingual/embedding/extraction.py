"""From the similarities of subwords to links: what counts as linked, and how sure that is.

Similarities are of shape (pairs, source subwords, target subwords), padded; a mask of that shape marks what is no
padding.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from nersery.crosslingual.embedding.matching import best_matching
from nersery.models.hidden_states import HiddenStates

Extraction = Literal["softmax", "entmax", "argmax", "itermax", "match"]
Normalizer = Callable[[Tensor], Tensor]
"""Turns scores into probabilities along the last dimension."""

FEW_SUBWORDS = 2
"""Added to the number of subwords when their mean is computed."""
ITERATIONS = 2
DAMPING = 0.9
"""Of `itermax`, as in the paper."""


def softmax(scores: Tensor) -> Tensor:
    """The probabilities of the last dimension."""
    return scores.softmax(-1)


def entmax(scores: Tensor) -> Tensor:
    """Probabilities of the last dimension, many of which are 0: the 1.5-entmax.

    It is ``max(score / 2 - t, 0) ** 2`` with the ``t`` at which the sum is 1, found exactly by sorting.

    Reference:
        Ben Peters, Vlad Niculae and André F. T. Martins (2019). Sparse Sequence-to-Sequence Models. ACL.
    """
    halves = scores / 2 - scores.amax(-1, keepdim=True) / 2
    halves = halves.clamp(min=-2.0)  # t is -1 or more; without this, sums of padding would swallow the rest
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


def word_states(states: HiddenStates) -> HiddenStates:
    """Unit vectors of words: the mean of their subwords, without what the subwords of the text have in common.

    Of short texts less than the mean is subtracted, since little would be left of their words.
    """
    values: list[Tensor] = []
    owners: list[tuple[int, ...]] = []
    for start, text_owners in zip(states.starts, states.owners, strict=True):
        subwords = states.values[start : start + len(text_owners)]
        subwords = torch.nn.functional.normalize(subwords - subwords.sum(0) / (len(text_owners) + FEW_SUBWORDS), dim=-1)
        words = sorted(set(text_owners))
        index = torch.tensor([words.index(word) for word in text_owners], device=subwords.device, dtype=torch.long)
        sums = subwords.new_zeros(len(words), subwords.shape[1]).index_add_(0, index, subwords)
        values.append(torch.nn.functional.normalize(sums, dim=-1))
        owners.append(tuple(words))
    starts = itertools.accumulate(map(len, owners[:-1]), initial=0)
    return HiddenStates(torch.cat([*values, states.values[-1:]]), tuple(starts), tuple(owners))


def by_probability(forward: Tensor, backward: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Linked is what has a probability above the threshold both ways; how sure that is, is their geometric mean."""
    return (forward > threshold) & (backward > threshold), (forward.sqrt() * backward.sqrt()).clamp(max=1)


def cosines(left: Tensor, right: Tensor, mask: Tensor, distortion: float) -> Tensor:
    """Cosines, moved into [0, 1], and lowered by how far apart in their sentences two subwords are.

    Positions run from 0 for a sentence's first subword to 1 for its last; similarities at a distance ``d`` are
    multiplied by ``1 - distortion * d ** 2``.

    Args:
        left: HiddenStates of source subwords. Shape: (pairs, source subwords, dimension).
        right: The same of target subwords.
        distortion: In [0, 1].
    """
    left, right = (torch.nn.functional.normalize(states, dim=-1) for states in (left, right))
    similarities = ((left @ right.transpose(1, 2) + 1) / 2).clamp(0, 1)
    if distortion:
        distances = _positions(mask.any(2))[:, :, None] - _positions(mask.any(1))[:, None, :]
        similarities = similarities * (1 - distortion * distances**2)
    return similarities * mask


def _positions(mask: Tensor) -> Tensor:
    """Where in its sentence each subword is, in [0, 1]. Shape: (pairs, subwords)."""
    numbers = torch.arange(mask.shape[1], device=mask.device, dtype=torch.float32)
    return numbers / (mask.sum(1, keepdim=True) - 1).clamp(min=1)


def argmax(similarities: Tensor) -> Tensor:
    """Linked are two subwords of which each is the most similar one to the other; of equals it is the first."""
    forward = torch.zeros_like(similarities, dtype=torch.bool)
    backward = forward.clone()
    forward.scatter_(2, similarities.argmax(2, keepdim=True), True)
    backward.scatter_(1, similarities.argmax(1, keepdim=True), True)
    return forward & backward & (similarities > 0)


def itermax(similarities: Tensor) -> Tensor:
    """`argmax`, and again with the similarities of subwords that have a link damped, or 0 where both have one."""
    linked = argmax(similarities)
    for _ in range(ITERATIONS - 1):
        source, target = linked.any(2, keepdim=True), linked.any(1, keepdim=True)
        damped = torch.where(source | target, DAMPING * similarities, similarities)
        linked = linked | argmax(damped.masked_fill(source & target, 0.0))
    return linked


def match(similarities: Tensor, mask: Tensor) -> Tensor:
    """Linked are the subwords of the one-to-one pairing that has the largest sum of similarities."""
    weights = similarities.double().cpu().numpy()
    sizes = zip(mask.any(2).sum(1).tolist(), mask.any(1).sum(1).tolist(), strict=True)
    chosen = [
        (number, row, column)
        for number, (rows, columns) in enumerate(sizes)
        for row, column in best_matching(weights[number, :rows, :columns])
    ]
    linked = torch.zeros_like(mask)
    linked[torch.tensor(chosen, dtype=torch.long, device=mask.device).reshape(-1, 3).unbind(1)] = True
    return linked & (similarities > 0)
