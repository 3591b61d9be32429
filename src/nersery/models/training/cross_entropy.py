"""Cross-entropy over large vocabularies."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

BLOCK = 4 << 20
"""Scores processed at once: not more than a processor's cache holds."""


class _MeanCrossEntropy(torch.autograd.Function):
    """Computes the gradient along with the loss, a few rows at a time."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, targets: Tensor) -> Tensor:
        gradient = torch.empty_like(scores)
        total = torch.zeros((), device=scores.device)
        rows = max(1, BLOCK // scores.shape[1])
        for start in range(0, len(scores), rows):
            part = slice(start, start + rows)
            block = scores[part].log_softmax(-1, dtype=torch.float32)
            total -= block.gather(1, targets[part, None]).sum()
            block.exp_()[torch.arange(len(block)), targets[part]] -= 1
            gradient[part] = block.div_(len(scores))
        ctx.save_for_backward(gradient)
        return total / len(scores)

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor, None]:
        (gradient,) = ctx.saved_tensors
        return gradient if scale == 1 else gradient * scale, None


def mean_cross_entropy(scores: Tensor, targets: Tensor) -> Tensor:
    """The mean of ``cross_entropy`` in fp32, with its gradient, without copies of all scores in fp32.

    With 250,000 subwords, each such copy takes 300 MB for 300 rows.

    Args:
        scores: Shape: (rows, vocabulary).
        targets: Shape: (rows).
    """
    return _MeanCrossEntropy.apply(scores, targets)  # type: ignore[no-untyped-call]
