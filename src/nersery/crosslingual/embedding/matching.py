"""The best way to pair off rows and columns of a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float64]


def best_matching(weights: Weights) -> list[tuple[int, int]]:
    """The pairs of rows and columns, no row and no column in two of them, with the largest sum of weights.

    There are as many pairs as the shorter side has members.

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
    # A row that found its cheapest column taken gets one by a shortest path in costs less prices, which stay 0 or more.
    for row in waiting:
        column, previous = _shortest_path(costs, row, row_of, prices)
        while column >= 0:  # along the path, each row leaves its column to the one before it
            owner = previous[column]
            left = int(np.flatnonzero(row_of == owner)[0]) if owner != row else -1
            row_of[column] = owner
            column = left
    return sorted((int(row), column) for column, row in enumerate(row_of) if row >= 0)


def _shortest_path(
    costs: Weights, start: int, row_of: NDArray[np.int_], prices: tuple[Weights, Weights]
) -> tuple[int, NDArray[np.int_]]:
    """The free column that is nearest to a row, and from which row each column is reached; the prices follow."""
    of_rows, of_columns = prices
    lengths = np.full(costs.shape[1], np.inf)
    previous = np.full(costs.shape[1], -1)
    closed = np.zeros(costs.shape[1])  # infinity where a column is
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
    # Prices move so that edges of the matching cost 0 again, and no other edge falls below 0.
    seen = np.flatnonzero(closed)
    of_rows[start] += length
    of_rows[row_of[seen]] += length - lengths[seen]
    of_columns[seen] -= length - lengths[seen]
    return column, previous
