"""The nearest neighbours of many vectors, by matrix products of large blocks."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from nersery.models.embeddings.text_encoder import Embeddings

BLOCK = 512
"""Queries per matrix product. With a fixed number, the result of a query does not depend on the other queries."""
GROUP = 64
"""Keys per group. Only the largest cosine of each group is compared first, which is many times faster than sorting
all."""
SPARE = 8
"""Groups searched beyond the requested number, so that ties are found."""


def nearest(
    queries: Embeddings, keys: Embeddings, count: int, own: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """The numbers of the keys with the largest cosines for each query, best first. Ties are in order of number.

    If there are fewer keys than ``count``, all rows are shorter. Memory: 2 KB per key.

    Args:
        queries: Vectors of length 1. Shape: (queries, dimension).
        keys: Vectors of length 1. Shape: (keys, dimension).
        own: For each query the number of the key that is the query itself, which comes last, or -1. Shape: (queries,).

    Returns:
        Shape: (queries, count).
    """
    known = pad(torch.from_numpy(keys), (0, 0, 0, -len(keys) % GROUP))
    excluded = torch.full((len(queries),), -1) if own is None else torch.from_numpy(own)
    neighbours = [np.empty((0, min(count, len(keys))), dtype=np.int64)]
    for start in range(0, len(queries), BLOCK):
        block = torch.from_numpy(queries[start : start + BLOCK])
        best = _nearest(block, known, len(keys), min(count, len(keys)), excluded[start : start + BLOCK])
        neighbours.append(best.numpy())
    return np.concatenate(neighbours)


@torch.no_grad()
def _nearest(queries: Tensor, keys: Tensor, real: int, count: int, own_keys: Tensor) -> Tensor:
    """The neighbours of one block of queries. The keys from number ``real`` on are padding."""
    cosines = (pad(queries, (0, 0, 0, BLOCK - len(queries))) @ keys.T)[: len(queries)]
    cosines[:, real:] = -torch.inf
    rows = (own_keys >= 0).nonzero()[:, 0]
    cosines[rows, own_keys[rows]] = -2.0  # below all cosines
    # The `count` nearest keys lie in at most `count` groups, those with the largest maxima.
    groups = cosines.view(len(queries), -1, GROUP).amax(2)
    best = groups.topk(min(count + SPARE, groups.shape[1])).indices.sort().values
    near = (best.unsqueeze(2) * GROUP + torch.arange(GROUP)).flatten(1)
    order = cosines.gather(1, near).sort(dim=1, descending=True, stable=True).indices
    return near.gather(1, order[:, :count])
