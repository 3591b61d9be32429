"""Forward passes of fixed shapes, so that an input gets the same numbers to the last bit whatever stands beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch

from nersery.core.batched import batched
from nersery.models.packed.packed_encoder import rows as packed_rows
from nersery.models.subwords.windows import Window

WINDOWS, WINDOWS_ON_GPU = 16, 128
"""Windows in one forward pass. A GPU takes as long for its kernels' starts as for their work on fewer."""
Owner = TypeVar("Owner")
PassShape = dict[str, int]
"""How a pass is padded: ``rows`` and ``multiple`` of `nersery.models.subwords.collation.collate`; empty if packed."""


def windows_at_once(device: torch.device) -> int:
    """The number of windows in one forward pass; always the same on a device, so that results never depend on it."""
    return WINDOWS_ON_GPU if device.type == "cuda" else WINDOWS


def by_length(
    lengths: Sequence[int], rows: Callable[[int], int], multiple: int, *, packed: bool = False
) -> Iterator[tuple[list[int], PassShape]]:
    """Split inputs into forward passes of one padded length each, the longest first.

    A product of matrices rounds differently for other shapes. Passes therefore have a shape that follows from each of
    their inputs alone.

    Args:
        rows: The most inputs in a pass, by the padded length.
        multiple: Lengths are padded to a multiple of this.
        packed: Fill rows without padding instead; see `nersery.models.packed.packed_encoder.rows`.

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
        shape = {"rows": rows(length), "multiple": multiple}
        yield from ((numbers, shape) for numbers in batched(groups[length], shape["rows"]))


def window_passes(
    owned: Sequence[tuple[Owner, Window]], rows: Callable[[int], int], multiple: int, *, packed: bool = False
) -> Iterator[tuple[list[Owner], list[Window], PassShape]]:
    """Split windows into forward passes; see `by_length`.

    Args:
        owned: Windows, each behind what it belongs to, such as the number of its text.

    Yields:
        What the windows of a pass belong to, the windows, and the shape of the pass.
    """
    for part, shape in by_length([len(window.subwords) for _, window in owned], rows, multiple, packed=packed):
        yield [owned[place][0] for place in part], [owned[place][1] for place in part], shape
