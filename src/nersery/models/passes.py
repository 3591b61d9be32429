"""Forward passes of fixed shapes. The numbers of an input do not depend on the inputs beside it, to the last bit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch

from nersery.core.batched import batched
from nersery.models.packed.packed_encoder import packed_rows
from nersery.models.subwords.windows import Window

WINDOWS, WINDOWS_ON_GPU = 16, 128
"""Windows in one forward pass. With fewer windows, a GPU needs as long to start its kernels as to run them."""
Owner = TypeVar("Owner")
PassShape = dict[str, int]
"""The padding of a pass: ``rows`` and ``multiple`` of `nersery.models.subwords.collation.collate`; empty if packed."""


def windows_at_once(device: torch.device) -> int:
    """The number of windows in one forward pass. It is fixed for a device, so that results never depend on it."""
    return WINDOWS_ON_GPU if device.type == "cuda" else WINDOWS


def by_length(
    lengths: Sequence[int], rows: Callable[[int], int], multiple: int, *, packed: bool = False
) -> Iterator[tuple[list[int], PassShape]]:
    """Split inputs into forward passes of one padded length each, the longest first.

    A matrix product rounds differently for other shapes. The shape of a pass therefore depends on each of its inputs
    alone.

    Args:
        rows: Returns the most inputs in a pass for a padded length; below 1 counts as 1.
        multiple: Lengths are padded to a multiple of this.
        packed: Fill rows without padding instead; see `nersery.models.packed.packed_encoder.packed_rows`.

    Yields:
        The numbers of the inputs of a pass, and its shape.
    """
    if packed:
        yield from ((numbers, {}) for numbers in packed_rows(lengths))
        return
    groups: dict[int, list[int]] = defaultdict(list)
    for number, length in enumerate(lengths):
        groups[-(-length // multiple) * multiple].append(number)
    for length in sorted(groups, reverse=True):
        shape = {"rows": max(1, rows(length)), "multiple": multiple}
        yield from ((numbers, shape) for numbers in batched(groups[length], shape["rows"]))


def window_passes(
    owned: Sequence[tuple[Owner, Window]], rows: Callable[[int], int], multiple: int, *, packed: bool = False
) -> Iterator[tuple[list[Owner], list[Window], PassShape]]:
    """Split windows into forward passes; see `by_length`.

    Args:
        owned: Pairs of an owner, such as the number of a text, and a window that belongs to it.

    Yields:
        The owners of the windows of a pass, the windows, and the shape of the pass.
    """
    for part, shape in by_length([len(window.subwords) for _, window in owned], rows, multiple, packed=packed):
        yield [owned[place][0] for place in part], [owned[place][1] for place in part], shape
