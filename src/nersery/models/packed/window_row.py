"""Attention within each of the windows in a row, for prediction. No window depends on the others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class WindowRow:
    """Windows in a row, one after the other.

    Args:
        groups: Neighbouring windows of the same length: first subword, number of windows, and length.
    """

    groups: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, lengths: Sequence[int]) -> Self:
        """A row of windows with these lengths."""
        groups, start = [], 0
        for length, same in itertools.groupby(lengths):
            groups.append((start, len([*same]), length))
            start += groups[-1][1] * length
        return cls(tuple(groups))

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, heads: int, dropout: nn.Dropout, position_bias: Any
    ) -> Tensor:
        """Like `Packing.attend`, but without padding and dropout; zero after the last window."""
        output = torch.zeros_like(queries)
        for start, count, length in self.groups:
            span = slice(start, start + count * length)
            query, key, value = (
                part[span].view(count, length, heads, -1).transpose(1, 2) for part in (queries, keys, values)
            )
            bias = None
            if position_bias is not None:
                bias = position_bias(queries.new_empty(1, length, 0)).to(queries.dtype)
            context = self._attended(start, query, key, value, bias)
            output[span].view(count, length, heads, -1).copy_(context.transpose(1, 2))
        return output

    def _attended(self, start: int, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> Tensor:
        """Attention in the group that begins at ``start``. Shape: (windows, heads, length, dimension), as inputs."""
        return nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)


@dataclass(frozen=True)
class RecordedRow(WindowRow):
    """A row whose attention is recorded.

    Args:
        totals: Attention summed over heads and layers, by first subword of the group. Shape: (windows, length, length).
    """

    totals: dict[int, Tensor] = field(default_factory=dict)

    def _attended(self, start: int, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> Tensor:
        scores = query @ key.transpose(2, 3) * query.shape[3] ** -0.5
        shares = (scores if bias is None else scores + bias).softmax(-1, dtype=torch.float32)
        self.totals[start] = shares.sum(1) + self.totals.get(start, 0)
        return shares.to(value.dtype) @ value
