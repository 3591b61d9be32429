"""Dropout with random numbers at a fifth of torch's cost on a CPU, where they took a tenth of a training step.

Torch draws one number of a Mersenne twister per element, one after the other. Here each element takes 16 bits of
numpy's SFC64, which is seeded from torch's generator. The same state of that generator gives the same mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

STEPS = 1 << 16
"""A rate is rounded to a multiple of 1 / STEPS, and the kept elements are scaled for the rounded rate."""
ONE = 0x3F80
"""The bits of the number one in bf16."""


def dropped(layer: nn.Dropout, values: Tensor) -> Tensor:
    """The output of a dropout layer."""
    steps = round(layer.p * STEPS)
    if layer.training and 0 < steps < STEPS and values.device.type == "cpu" and values.dtype in FACTORS:
        return _drop(values, steps)
    return layer(values)


class _Dropped(torch.autograd.Function):
    """Sets elements to zero with probability ``steps / STEPS``, and scales the others to keep the mean."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, steps: int) -> Tensor:
        source = np.random.SFC64(int(torch.empty((), dtype=torch.int64).random_()))
        drawn = torch.from_numpy(source.random_raw(-(-values.numel() // 4))).view(torch.int16)
        kept = FACTORS[values.dtype](drawn[: values.numel()], steps - STEPS // 2).view(values.shape)
        ctx.scale = STEPS / (STEPS - steps)
        ctx.save_for_backward(kept)
        return (values * kept).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return (gradient * kept).mul_(ctx.scale), None


_drop: Any = _Dropped.apply
FACTORS: Any = {
    torch.float32: lambda drawn, threshold: drawn >= threshold,
    torch.bfloat16: lambda drawn, threshold: drawn.ge_(threshold).mul_(ONE).view(torch.bfloat16),
}
"""Functions for the factors of the elements, 0 or 1, by data type. Other casts than these are slow."""
