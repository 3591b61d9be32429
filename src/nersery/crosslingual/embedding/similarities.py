"""From the similarities of subwords to links.

Similarities are of shape (pairs, source subwords, target subwords), padded; a mask of that shape marks what is no
padding.
"""

from __future__ import annotations

import torch
from torch import Tensor

from nersery.crosslingual.embedding.matching import best_matching

ITERATIONS = 2
DAMPING = 0.9
"""Of `itermax`, as in the paper."""


def cosines(left: Tensor, right: Tensor, mask: Tensor, distortion: float) -> Tensor:
    """Cosines, moved into [0, 1], and lowered by how far apart in their sentences two subwords are.

    Positions run from 0 for a sentence's first subword to 1 for its last; similarities at a distance ``d`` are
    multiplied by ``1 - distortion * d ** 2``.

    Args:
        left: Hidden states of source subwords. Shape: (pairs, source subwords, dimension).
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
