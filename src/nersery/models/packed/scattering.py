"""Copies rows to distinct places and back. The backward pass of autograd itself is several times slower."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class _Scatter(torch.autograd.Function):
    """Copies rows to distinct places among ``size``. The other places are zero."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, slots: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(slots)
        return values.new_zeros(size, *values.shape[1:]).index_copy_(0, slots, values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (slots,) = ctx.saved_tensors
        return gradient.index_select(0, slots), None, None


class _Gather(torch.autograd.Function):
    """Copies rows from distinct places; the reverse of `_Scatter`."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, slots: Tensor) -> Tensor:
        ctx.save_for_backward(slots)
        ctx.size = len(values)
        return values.index_select(0, slots)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (slots,) = ctx.saved_tensors
        return gradient.new_zeros(ctx.size, *gradient.shape[1:]).index_copy_(0, slots, gradient), None


scatter: Callable[[Tensor, Tensor, int], Tensor] = _Scatter.apply
gather: Callable[[Tensor, Tensor], Tensor] = _Gather.apply
