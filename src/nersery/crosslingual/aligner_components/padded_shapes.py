"""Shapes of batches that follow from each pair alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from nersery.core.batched import batched

ROWS = 16
MULTIPLE = 8

Shape = tuple[int, int]


def padded_shapes(sizes: Iterable[tuple[int, Shape]], cells: int) -> Iterator[tuple[list[int], int, Shape]]:
    """Pairs of one padded shape: their numbers, the rows of the batch, and the padded sizes of both sides.

    Matrix products of other shapes round differently. Here the shape follows from the sizes of any of the pairs, so the
    links of a pair do not change by a bit in other company.

    Args:
        sizes: The number of each pair, and the sizes of its sides.
        cells: Maximum number of cells, sources times targets, of several pairs together.
    """
    groups: dict[Shape, list[int]] = defaultdict(list)
    for number, (source, target) in sizes:
        groups[-(-max(source, 1) // MULTIPLE) * MULTIPLE, -(-max(target, 1) // MULTIPLE) * MULTIPLE].append(number)
    for shape, group in groups.items():
        rows = max(1, min(ROWS, cells // (shape[0] * shape[1])))
        for part in batched(group, rows):
            yield part, rows, shape
