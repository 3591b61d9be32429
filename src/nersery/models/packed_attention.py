"""Attention within each window where windows stand in one row, or are padded to it in groups.

`WindowRow` is for prediction, where a window must not depend on others; `Packing` is for training, where speed counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import Tensor, nn

from nersery.models.training.fast_dropout import dropped

LEAST_SHARE = 0.75
"""Of the longest window of a group; a shorter one begins the next group. Most attention is then on real subwords, and
a batch of 16 sentences has about three groups."""


@dataclass(frozen=True)
class WindowRow:
    """Windows in a row, one after the other.

    Args:
        groups: First subword, number and length of neighbours of the same length.
    """

    groups: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, lengths: Sequence[int]) -> Self:
        """Windows of these lengths."""
        groups, start = [], 0
        for length, same in itertools.groupby(lengths):
            groups.append((start, len([*same]), length))
            start += groups[-1][1] * length
        return cls(tuple(groups))

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, heads: int, dropout: nn.Dropout, position_bias: Any
    ) -> Tensor:
        """As `Packing.attend`, without padding and dropout; zero behind the last window."""
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
        """Attention in the group that begins there. Shape: (windows, heads, length, dimension), as inputs."""
        context: Tensor = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        return context


@dataclass(frozen=True)
class RecordedRow(WindowRow):
    """A row whose attention is recorded.

    Args:
        totals: By first subword of a group: attention summed over heads and layers. Shape: (windows, length, length).
    """

    totals: dict[int, Tensor] = field(default_factory=dict)

    def _attended(self, start: int, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> Tensor:
        scores = query @ key.transpose(2, 3) * query.shape[3] ** -0.5
        shares = (scores if bias is None else scores + bias).softmax(-1, dtype=torch.float32)
        self.totals[start] = shares.sum(1) + self.totals.get(start, 0)
        context: Tensor = shares.to(value.dtype) @ value
        return context


@dataclass(frozen=True)
class _Group:
    """Windows of similar length, one after the other in the packed row.

    Args:
        size: Its number of subwords.
        slots: Place of each subword among the padded positions; None if there is no padding.
        mask: 0 for a subword, minus infinity for padding. Shape: (windows, 1, 1, longest).
    """

    size: int
    slots: Tensor | None
    mask: Tensor

    def pad(self, values: Tensor, heads: int) -> Tensor:
        """From shape (subwords, dimension) to (windows * heads, longest, dimension of a head)."""
        windows, longest = self.mask.shape[0], self.mask.shape[3]
        if self.slots is not None:
            values = scatter(values, self.slots, windows * longest)
        return values.view(windows, longest, heads, -1).transpose(1, 2).flatten(0, 1)

    def unpad(self, values: Tensor, heads: int) -> Tensor:
        """The reverse. Shape: (subwords, dimension)."""
        values = values.view(-1, heads, *values.shape[1:]).transpose(1, 2).flatten(2).flatten(0, 1)
        return values if self.slots is None else gather(values, self.slots)


@dataclass(frozen=True)
class Packing:
    """Where the real subwords of a batch stand in one row, the longest windows first.

    Args:
        kept: Their positions in the flattened batch.
    """

    kept: Tensor
    groups: tuple[_Group, ...]

    @classmethod
    def of(cls, mask: Tensor, multiple: int) -> Packing:
        """Where there is a subword.

        Args:
            mask: Shape: (windows, subwords).
            multiple: Of the padded lengths.
        """
        order = mask.sum(1).argsort(descending=True, stable=True)
        ordered = mask[order]
        rows, columns = ordered.nonzero(as_tuple=True)
        lengths = ordered.sum(1).tolist()
        offsets = list(itertools.accumulate(lengths, initial=0))
        ranks = torch.arange(offsets[-1], device=mask.device) - torch.tensor(offsets, device=mask.device)[rows]
        groups, first = [], 0
        for last, length in enumerate([*lengths[1:], -1], 1):
            if length >= LEAST_SHARE * lengths[first]:
                continue
            span, longest = slice(offsets[first], offsets[last]), lengths[first] + -lengths[first] % multiple
            real = torch.arange(longest, device=mask.device) < ordered[first:last].sum(1, keepdim=True)
            slots = None if real.all() else (rows[span] - first) * longest + ranks[span]
            bias = torch.zeros(real.shape, device=mask.device).masked_fill(~real, -torch.inf)
            groups.append(_Group(span.stop - span.start, slots, bias[:, None, None]))
            first = last
        return cls(order[rows] * mask.shape[1] + columns, tuple(groups))

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, heads: int, dropout: nn.Dropout, position_bias: Any
    ) -> Tensor:
        """Multi-head attention within each window; zero behind the last one. Shape: (subwords, dimension), as inputs.

        Args:
            position_bias: MPNet's, computed from the length of its argument; None for other families.
        """
        contexts = []
        sizes = [group.size for group in self.groups]
        sizes.append(len(queries) - sum(sizes))
        # The reverse of one split is one `cat`; slices would fill a whole row with zeros for each group.
        split = zip(*(torch.split(part, sizes) for part in (queries, keys, values)), strict=True)
        for group, tensors in zip(self.groups, split, strict=False):
            query, key, value = (group.pad(part, heads) for part in tensors)
            bias = group.mask
            if position_bias is not None:
                bias = bias + position_bias(queries.new_empty(1, query.shape[1], 0))
            bias = bias.expand(-1, heads, query.shape[1], -1).flatten(0, 1).to(query.dtype)
            scores = torch.baddbmm(bias, query, key.transpose(1, 2), alpha=query.shape[2] ** -0.5)
            # in fp32: in bf16 it takes four times as long where the length is no multiple of 16
            shares = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
            contexts.append(group.unpad(torch.bmm(dropped(dropout, shares), value), heads))
        context = torch.cat(contexts)
        return nn.functional.pad(context, (0, 0, 0, sizes[-1]))


class _Scatter(torch.autograd.Function):
    """Rows to distinct places among ``size``, the others zero. Autograd's own reverse is several times slower."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, slots: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(slots)
        return values.new_zeros(size, *values.shape[1:]).index_copy_(0, slots, values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (slots,) = ctx.saved_tensors
        return gradient.index_select(0, slots), None, None


class _Gather(torch.autograd.Function):
    """Rows from distinct places; the reverse of `_Scatter`."""

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
