"""Choose valuable sentences that are unlike each other: farthest first, weighted by the worth of each sentence.

Reference:
    Ozan Sener and Silvio Savarese (2018). Active Learning for Convolutional Neural Networks: A Core-Set Approach. ICLR,
    algorithm 1 (farthest first).

Departures:
    - A distance is multiplied by the worth of the sentence, so that distant sentences that teach nothing are not taken.
    - Vectors are centred first. The sentences of a fine-tuned encoder all lie in one direction; without this, small
      distances would decide more than the worth.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def farthest_first(
    worth: Sequence[float], vectors: NDArray[np.float32], known: NDArray[np.float32], count: int
) -> list[int]:
    """Choose rows one after the other, each with the largest product of worth and distance to the nearest known row.

    Args:
        worth: The worth of each row, 0 or more.
        vectors: Distances are Euclidean, between directions seen from the mean of all. Shape: (rows, dimension).
        known: Vectors that exist already, such as those of labelled sentences. Shape: (known, dimension).

    Returns:
        The numbers of the rows in the order of their choice. Ties go to the first row.

    >>> vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    >>> farthest_first([0.9, 1.0, 0.5], vectors, vectors[:0], 2)
    [1, 2]
    """
    mean = np.concatenate([vectors, known]).mean(0)
    vectors, known = (
        centred / np.linalg.norm(centred, axis=1, keepdims=True).clip(1e-9)
        for centred in (vectors - mean, known - mean)
    )
    weights = np.asarray(worth, dtype=np.float64)
    distances = np.full(len(weights), 2.0)  # the largest distance between two directions, if nothing is known
    for vector in known:
        distances = np.minimum(distances, np.linalg.norm(vectors - vector, axis=1))
    is_left = np.ones(len(weights), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < min(count, len(weights)):
        best = int(np.argmax(np.where(is_left, weights * distances, -1)))
        chosen.append(best)
        is_left[best] = False
        distances = np.minimum(distances, np.linalg.norm(vectors - vectors[best], axis=1))
    return chosen
