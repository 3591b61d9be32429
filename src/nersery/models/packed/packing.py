"""Attention within each window, for training: for speed, windows are padded in groups of similar length."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from nersery.models.packed.scattering import gather, scatter
from nersery.models.training.fast_dropout import dropped

MIN_SHARE = 0.75
"""A window shorter than this share of the longest in its group begins the next group. Most attention is then on real
subwords, and a batch of 16 sentences has about three groups."""


@dataclass(frozen=True)
class _Group:
    """Windows of similar length, one after the other in the packed row.

    Args:
        size: The number of subwords.
        slots: Position of each subword among the padded positions; None if there is no padding.
        mask: 0 for a subword, minus infinity for padding. Shape: (windows, 1, 1, longest).
    """

    size: int
    slots: Tensor | None
    mask: Tensor

    def pad(self, values: Tensor, heads: int) -> Tensor:
        """Pad values. Shape: (subwords, dimension) to (windows * heads, longest, dimension of a head)."""
        windows, longest = self.mask.shape[0], self.mask.shape[3]
        if self.slots is not None:
            values = scatter(values, self.slots, windows * longest)
        return values.view(windows, longest, heads, -1).transpose(1, 2).flatten(0, 1)

    def unpad(self, values: Tensor, heads: int) -> Tensor:
        """The reverse of `pad`. Shape: (subwords, dimension)."""
        values = values.view(-1, heads, *values.shape[1:]).transpose(1, 2).flatten(2).flatten(0, 1)
        return values if self.slots is None else gather(values, self.slots)


@dataclass(frozen=True)
class Packing:
    """The places of the real subwords of a batch in one row, the longest windows first.

    Args:
        kept: Positions of the real subwords in the flattened batch.
        groups: The windows in groups of similar length.
    """

    kept: Tensor
    groups: tuple[_Group, ...]

    @classmethod
    def of(cls, mask: Tensor, multiple: int) -> Packing:
        """The packing of a batch.

        Args:
            mask: Whether there is a subword. Shape: (windows, subwords).
            multiple: Padded lengths are multiples of this.
        """
        order = mask.sum(1).argsort(descending=True, stable=True)
        ordered = mask[order]
        rows, columns = ordered.nonzero(as_tuple=True)
        lengths = ordered.sum(1).tolist()
        offsets = list(itertools.accumulate(lengths, initial=0))
        ranks = torch.arange(offsets[-1], device=mask.device) - torch.tensor(offsets, device=mask.device)[rows]
        groups, first = [], 0
        for last, length in enumerate([*lengths[1:], -1], 1):
            if length >= MIN_SHARE * lengths[first]:
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
        """Multi-head attention within each window; zero after the last one. Shape: (subwords, dimension), as inputs.

        Args:
            position_bias: MPNet's function, which uses the length of its argument alone; None for other families.
        """
        contexts = []
        sizes = [group.size for group in self.groups]
        sizes.append(len(queries) - sum(sizes))
        # The backward pass of one split is one `cat`. Slices would fill a whole row with zeros for each group.
        split = zip(*(torch.split(part, sizes) for part in (queries, keys, values)), strict=True)
        for group, tensors in zip(self.groups, split, strict=False):
            query, key, value = (group.pad(part, heads) for part in tensors)
            bias = group.mask
            if position_bias is not None:
                bias = bias + position_bias(queries.new_empty(1, query.shape[1], 0))
            bias = bias.expand(-1, heads, query.shape[1], -1).flatten(0, 1).to(query.dtype)
            scores = torch.baddbmm(bias, query, key.transpose(1, 2), alpha=query.shape[2] ** -0.5)
            # In fp32, because bf16 takes four times as long if the length is not a multiple of 16.
            shares = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
            contexts.append(group.unpad(torch.bmm(dropped(dropout, shares), value), heads))
        context = torch.cat(contexts)
        return nn.functional.pad(context, (0, 0, 0, sizes[-1]))
