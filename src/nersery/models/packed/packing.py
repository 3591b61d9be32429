"""Attention within each window for training, where speed counts: windows are padded in groups of similar length."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from nersery.models.packed.scattering import gather, scatter
from nersery.models.training.fast_dropout import dropped

LEAST_SHARE = 0.75
"""Of the longest window of a group; a shorter one begins the next group. Most attention is then on real subwords, and
a batch of 16 sentences has about three groups."""


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
