"""Batch shapes that depend only on the sizes of a single pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from nersery.core.batched import batched

ROWS = 16
MULTIPLE = 8

Shape = tuple[int, int]


def padded_shapes(sizes: Iterable[tuple[int, Shape]], cells: int) -> Iterator[tuple[list[int], int, Shape]]:
    """Batches of pairs with one padded shape: their numbers, the rows of the batch, and the padded sizes of both sides.

    Rounding in a matrix product depends on its shape. Here the shape follows from the sizes of any single pair of the
    batch, so the links of a pair are the same to the last bit, whatever other pairs are in its batch.

    Args:
        sizes: The number of each pair, and the sizes of its sides.
        cells: Maximum number of cells (source size times target size) in a batch of several pairs.
    """
    groups: dict[Shape, list[int]] = defaultdict(list)
    for number, (source, target) in sizes:
        groups[-(-max(source, 1) // MULTIPLE) * MULTIPLE, -(-max(target, 1) // MULTIPLE) * MULTIPLE].append(number)
    for shape, group in groups.items():
        rows = max(1, min(ROWS, cells // (shape[0] * shape[1])))
        for part in batched(group, rows):
            yield part, rows, shape
