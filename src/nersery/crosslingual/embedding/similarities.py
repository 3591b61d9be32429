"""Choose links by the similarities of subwords.

Similarities have the shape (pairs, source subwords, target subwords), padded; a mask of that shape is false at
padding.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

DAMPING = 0.9
"""For `itermax`, as in the paper."""


def cosines(left: Tensor, right: Tensor, mask: Tensor, distortion: float) -> Tensor:
    """Cosines, scaled to [0, 1], and lowered if the two subwords have different positions in their sentences.

    Positions run from 0 for a sentence's first subword to 1 for its last one. Similarities at a distance ``d`` are
    multiplied by ``1 - distortion * d ** 2``.

    Args:
        left: Hidden states of source subwords. Shape: (pairs, source subwords, dimension).
        right: The same for target subwords.
        distortion: In [0, 1].
    """
    left, right = (torch.nn.functional.normalize(states, dim=-1) for states in (left, right))
    similarities = ((left @ right.transpose(1, 2) + 1) / 2).clamp(0, 1)
    if distortion:
        distances = _positions(mask.any(2))[:, :, None] - _positions(mask.any(1))[:, None, :]
        similarities = similarities * (1 - distortion * distances**2)
    return similarities * mask


def _positions(mask: Tensor) -> Tensor:
    """The position of each subword in its sentence, in [0, 1]. Shape: (pairs, subwords)."""
    numbers = torch.arange(mask.shape[1], device=mask.device, dtype=torch.float32)
    return numbers / (mask.sum(1, keepdim=True) - 1).clamp(min=1)


def argmax(similarities: Tensor) -> Tensor:
    """Link two subwords if each is the most similar one to the other. Of equally similar ones, the first counts."""
    forward = torch.zeros_like(similarities, dtype=torch.bool)
    backward = forward.clone()
    forward.scatter_(2, similarities.argmax(2, keepdim=True), True)
    backward.scatter_(1, similarities.argmax(1, keepdim=True), True)
    return forward & backward & (similarities > 0)


def itermax(similarities: Tensor) -> Tensor:
    """`argmax` twice. The second time, similarities of subwords with a link are damped, or 0 if both have one."""
    linked = argmax(similarities)
    source, target = linked.any(2, keepdim=True), linked.any(1, keepdim=True)
    damped = torch.where(source | target, DAMPING * similarities, similarities)
    return linked | argmax(damped.masked_fill(source & target, 0.0))


def match(similarities: Tensor, mask: Tensor) -> Tensor:
    """Link the subwords by the one-to-one matching with the largest sum of similarities."""
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


Weights = NDArray[np.float64]


def best_matching(weights: Weights) -> list[tuple[int, int]]:
    """The one-to-one pairs of rows and columns with the largest sum of weights.

    Each member of the shorter side is in a pair.

    Args:
        weights: Finite numbers. Shape: (rows, columns).

    Reference:
        Roy Jonker and Anton Volgenant (1987). A Shortest Augmenting Path Algorithm for Dense and Sparse Linear
        Assignment Problems. Computing 38.

    >>> best_matching(np.array([[0.9, 0.8], [0.8, 0.1]]))
    [(0, 1), (1, 0)]
    """
    if weights.shape[0] > weights.shape[1]:
        return sorted((row, column) for column, row in best_matching(weights.T))
    costs = -weights
    prices = costs.min(1, initial=np.inf), np.zeros(costs.shape[1])
    row_of = np.full(costs.shape[1], -1)
    waiting = []
    for row, column in enumerate(costs.argmin(1)) if costs.size else ():
        if row_of[column] < 0:
            row_of[column] = row
        else:
            waiting.append(row)
    # A row whose cheapest column is taken gets one by a shortest path in costs minus prices, which stay 0 or more.
    for row in waiting:
        column, previous = _shortest_path(costs, row, row_of, prices)
        while column >= 0:  # along the path, each row passes its column to the row before it
            owner = previous[column]
            left = int(np.flatnonzero(row_of == owner)[0]) if owner != row else -1
            row_of[column] = owner
            column = left
    return sorted((int(row), column) for column, row in enumerate(row_of) if row >= 0)


def _shortest_path(
    costs: Weights, start: int, row_of: NDArray[np.int_], prices: tuple[Weights, Weights]
) -> tuple[int, NDArray[np.int_]]:
    """The free column nearest to a row, and the row from which each column is reached. Updates the prices."""
    of_rows, of_columns = prices
    lengths = np.full(costs.shape[1], np.inf)
    previous = np.full(costs.shape[1], -1)
    closed = np.zeros(costs.shape[1])  # infinity for a closed column
    row, length = start, 0.0
    while True:
        reached = costs[row] - of_columns + closed
        reached += length - of_rows[row]
        nearer = reached < lengths
        np.copyto(lengths, reached, where=nearer)
        np.copyto(previous, row, where=nearer)
        column = int((lengths + closed).argmin())
        length = lengths[column]
        if row_of[column] < 0:
            break
        closed[column] = np.inf
        row = row_of[column]
    # Prices change so that edges of the matching cost 0 again, and no other edge costs less than 0.
    seen = np.flatnonzero(closed)
    of_rows[start] += length
    of_rows[row_of[seen]] += length - lengths[seen]
    of_columns[seen] -= length - lengths[seen]
    return column, previous
