"""Matrices of many shapes, padded to the same shape."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

SHAPES = [(1, 1), (1, 4), (3, 1), (3, 5), (5, 3), (6, 6)]


def padded(matrices: Sequence[Tensor], junk: float) -> tuple[Tensor, Tensor]:
    """Stack matrices, with a junk value in the padding, and return the mask of their real cells."""
    values = torch.full((len(matrices) + 1, 8, 7), junk)
    mask = torch.zeros_like(values, dtype=torch.bool)
    for number, matrix in enumerate(matrices):
        rows, columns = matrix.shape
        values[number, :rows, :columns] = matrix
        mask[number, :rows, :columns] = True
    return values, mask
