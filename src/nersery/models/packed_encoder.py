"""Encoders that compute nothing for padding: the BERT, RoBERTa, XLM-R and MPNet families.

The real subwords of a batch are gathered into one row, on which linear layers, norms and activations run. Outputs and
gradients are those of transformers. In training, attention pads within groups of windows of similar length.

A product of matrices rounds differently for other shapes, and a prediction must not depend on the batch. So rows for
prediction always have `ROW` subwords, and each window has an attention of its own length.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from nersery.models.training.fast_dropout import dropped

FAMILIES = frozenset({"BertModel", "RobertaModel", "XLMRobertaModel", "CamembertModel", "MPNetModel"})
LEAST_SHARE = 0.75
"""Of the longest window of a group; a shorter one begins the next group. Most attention is then on real subwords, and
a batch of 16 sentences has about three groups."""
ROW_MULTIPLE, LENGTH_MULTIPLE = 32, 8
"""Of the subwords in a row and of those of a padded window, in training where `_is_compiled`: so that shapes recur."""


ROW = 512
"""Subwords of a row in prediction, and the longest window that fits."""
_LENGTHS: ContextVar[Sequence[int] | None] = ContextVar("_LENGTHS", default=None)
"""Lengths of the windows in the row that the network reads; None if it reads padded windows."""


def pack(network: Any) -> Any:
    """Let a network train without computing padding, if its architecture is one of `FAMILIES`; others are unchanged.

    In evaluation mode the network still pads, unless it is called by `in_one_row`.
    """
    base = network.base_model
    known = type(base).__name__ in FAMILIES and type(base).__module__.startswith("transformers.")
    if known and not getattr(base.config, "is_decoder", False):
        base.forward = partial(_forward, base, base.forward)
    return network


def can_pack(network: Any) -> bool:
    """Whether `in_one_row` takes a network: on a CPU; a GPU computes larger batches."""
    base = getattr(network, "base_model", None)
    forward = vars(base).get("forward") if base is not None else None
    return isinstance(forward, partial) and forward.func is _forward and network.device.type == "cpu"


def rows(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Fill rows with windows.

    Args:
        lengths: The length of each window, at most `ROW`.

    Yields:
        The numbers of the windows of a row, the longest first.
    """
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    keys = [-lengths[number] for number in order]
    while order:
        room, row = ROW, list[int]()
        while (place := bisect.bisect_left(keys, -room)) < len(order):  # the longest one for which there is room
            room += keys.pop(place)
            row.append(order.pop(place))
        yield row


def in_one_row(network: Any, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Any:
    """The output of a network in evaluation mode for padded windows; each window independent of the others to the bit.

    Args:
        network: One that `can_pack`, with a head that looks at each subword alone.
        input_ids: At most `ROW` subwords without padding. Shape: (windows, subwords).
        attention_mask: 1 for a subword, 0 for padding, which is at the end. Shape: (windows, subwords).
        token_type_ids: Shape: (windows, subwords).

    Returns:
        Zero at padding. Shape of its tensors: (windows, subwords, …).
    """
    kept = attention_mask.flatten().nonzero().squeeze(1)
    inputs = {"input_ids": input_ids} | ({} if token_type_ids is None else {"token_type_ids": token_type_ids})
    # Filled with what it begins with: a network with a pruned vocabulary has no vector for other subwords.
    row = {
        name: ids.flatten()[torch.cat([kept, kept[:1].expand(ROW - len(kept))])][None] for name, ids in inputs.items()
    }
    token = _LENGTHS.set(attention_mask.sum(1).tolist())
    try:
        output = network(**row)
    finally:
        _LENGTHS.reset(token)
    tensors = {name: value[0, : len(kept)] for name, value in output.items() if isinstance(value, Tensor)}
    return type(output)(
        **{
            name: _scatter(value, kept, input_ids.numel()).view(*input_ids.shape, *value.shape[1:])
            for name, value in tensors.items()
        }
    )


def _predict(base: Any, input_ids: Tensor, token_type_ids: Tensor | None, lengths: Sequence[int]) -> Any:
    """The hidden states of a row. Shape of ``input_ids``: (1, ROW)."""
    from transformers.modeling_outputs import BaseModelOutputWithPooling

    windows = torch.split(input_ids[:, : sum(lengths)], [*lengths], 1)
    positions = torch.cat([_positions(base.embeddings, window) for window in windows], 1)
    positions = nn.functional.pad(positions, (0, ROW - positions.shape[1]))
    types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
    hidden = base.embeddings(input_ids=input_ids, position_ids=positions, token_type_ids=types).squeeze(0)
    row = _Row.of(lengths)
    for layer in base.encoder.layer:
        hidden = _layer(layer, hidden, row, getattr(base.encoder, "compute_position_bias", None))
    return BaseModelOutputWithPooling(last_hidden_state=hidden.unsqueeze(0))


def _forward(
    base: Any,
    padded: Any,
    input_ids: Tensor | None = None,
    attention_mask: Tensor | None = None,
    token_type_ids: Tensor | None = None,
    **others: Any,
) -> Any:
    """The output of ``base``, zero at padding; ``padded``, transformers' own forward, does what this cannot."""
    if input_ids is not None and (lengths := _LENGTHS.get()) is not None:
        return _predict(base, input_ids, token_type_ids, lengths)
    unusual = any(value is not None and value is not False for name, value in others.items() if name != "return_dict")
    recorded = base.config.output_attentions or base.config.output_hidden_states
    if not base.training or input_ids is None or attention_mask is None or unusual or recorded:
        types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        return padded(input_ids=input_ids, attention_mask=attention_mask, **types, **others)
    from transformers.modeling_outputs import BaseModelOutputWithPooling

    recurring = _is_compiled(base.device)
    packing = _Packing.of(attention_mask.bool(), LENGTH_MULTIPLE if recurring else 1)
    filling = packing.kept[:1].expand(-len(packing.kept) % ROW_MULTIPLE if recurring else 0)  # any subword will do
    read = torch.cat([packing.kept, filling])
    shown = {"input_ids": input_ids, "position_ids": _positions(base.embeddings, input_ids)}
    shown["token_type_ids"] = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
    shown = {name: ids.expand_as(input_ids).flatten()[read].unsqueeze(0) for name, ids in shown.items()}
    hidden = base.embeddings(**shown).squeeze(0)
    for layer in base.encoder.layer:
        hidden = _layer(layer, hidden, packing, getattr(base.encoder, "compute_position_bias", None))
    size = input_ids.numel()
    whole = _scatter(hidden[: len(packing.kept)], packing.kept, size).view(*input_ids.shape, -1)
    return BaseModelOutputWithPooling(
        last_hidden_state=whole, pooler_output=base.pooler(whole) if base.pooler is not None else None
    )


def _is_compiled(device: torch.device) -> bool:
    """Whether each product of matrices is compiled for its shapes, which takes as long as a small product.

    oneDNN does so with bf16, and keeps the last 1,024.
    """
    return device.type == "cpu" and torch.is_autocast_enabled("cpu")


def _positions(embeddings: Any, input_ids: Tensor) -> Tensor:
    """RoBERTa and MPNet number positions from behind the id of the padding. Shape: (windows, subwords)."""
    padding = getattr(embeddings, "padding_idx", None)
    if padding is None:
        return torch.arange(input_ids.shape[1], device=input_ids.device).unsqueeze(0)
    real = input_ids.ne(padding)
    return real.cumsum(1) * real + int(padding)


def _layer(layer: Any, hidden: Tensor, packing: _Packing | _Row, position_bias: Any) -> Tensor:
    """One layer of the encoder. Shape: (subwords, dimension), as ``hidden``."""
    attention = layer.attention
    if hasattr(attention, "attn"):  # MPNet
        inner, norms = attention.attn, attention
        projections, dense = (inner.q, inner.k, inner.v), inner.o
    else:
        inner, norms = attention.self, attention.output
        projections, dense = (inner.query, inner.key, inner.value), norms.dense
    device = hidden.device.type
    shared = hidden.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else hidden  # cast once
    heads = int(inner.num_attention_heads)
    queries, keys, values = (project(shared) for project in projections)
    context = packing.attend(queries, keys, values, heads, inner.dropout, position_bias)
    hidden = norms.LayerNorm(dropped(norms.dropout, dense(context)) + hidden)
    output = layer.output
    result: Tensor = output.LayerNorm(dropped(output.dropout, output.dense(layer.intermediate(hidden))) + hidden)
    return result


@dataclass(frozen=True)
class _Row:
    """Windows in a row, one after the other.

    Args:
        groups: First subword, number and length of neighbours of the same length.
    """

    groups: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, lengths: Sequence[int]) -> _Row:
        """Windows of these lengths."""
        groups, start = [], 0
        for length, same in itertools.groupby(lengths):
            groups.append((start, len([*same]), length))
            start += groups[-1][1] * length
        return cls(tuple(groups))

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, heads: int, dropout: nn.Dropout, position_bias: Any
    ) -> Tensor:
        """As `_Packing.attend`, without padding and dropout; zero behind the last window."""
        found = torch.zeros_like(queries)
        for start, count, length in self.groups:
            own = slice(start, start + count * length)
            query, key, value = (
                part[own].view(count, length, heads, -1).transpose(1, 2) for part in (queries, keys, values)
            )
            bias = None
            if position_bias is not None:
                bias = position_bias(queries.new_empty(1, length, 0)).to(queries.dtype)
            context = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
            found[own].view(count, length, heads, -1).copy_(context.transpose(1, 2))
        return found


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
            values = _scatter(values, self.slots, windows * longest)
        return values.view(windows, longest, heads, -1).transpose(1, 2).flatten(0, 1)

    def unpad(self, values: Tensor, heads: int) -> Tensor:
        """The reverse. Shape: (subwords, dimension)."""
        values = values.view(-1, heads, *values.shape[1:]).transpose(1, 2).flatten(2).flatten(0, 1)
        return values if self.slots is None else _gather(values, self.slots)


@dataclass(frozen=True)
class _Packing:
    """Where the real subwords of a batch stand in one row, the longest windows first.

    Args:
        kept: Their positions in the flattened batch.
    """

    kept: Tensor
    groups: tuple[_Group, ...]

    @classmethod
    def of(cls, mask: Tensor, multiple: int) -> _Packing:
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
            own, longest = slice(offsets[first], offsets[last]), lengths[first] + -lengths[first] % multiple
            there = torch.arange(longest, device=mask.device) < ordered[first:last].sum(1, keepdim=True)
            slots = None if there.all() else (rows[own] - first) * longest + ranks[own]
            bias = torch.zeros(there.shape, device=mask.device).masked_fill(~there, -torch.inf)
            groups.append(_Group(own.stop - own.start, slots, bias[:, None, None]))
            first = last
        return cls(order[rows] * mask.shape[1] + columns, tuple(groups))

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, heads: int, dropout: nn.Dropout, position_bias: Any
    ) -> Tensor:
        """Multi-head attention within each window; zero behind the last one. Shape: (subwords, dimension), as inputs.

        Args:
            position_bias: MPNet's, computed from the length of its argument; None for other families.
        """
        found = []
        sizes = [group.size for group in self.groups]
        sizes.append(len(queries) - sum(sizes))
        # The reverse of one split is one `cat`; slices would fill a whole row with zeros for each group.
        split = zip(*(torch.split(part, sizes) for part in (queries, keys, values)), strict=True)
        for group, own in zip(self.groups, split, strict=False):
            query, key, value = (group.pad(part, heads) for part in own)
            bias = group.mask
            if position_bias is not None:
                bias = bias + position_bias(queries.new_empty(1, query.shape[1], 0))
            bias = bias.expand(-1, heads, query.shape[1], -1).flatten(0, 1).to(query.dtype)
            scores = torch.baddbmm(bias, query, key.transpose(1, 2), alpha=query.shape[2] ** -0.5)
            # in fp32: in bf16 it takes four times as long where the length is no multiple of 16
            shares = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
            found.append(group.unpad(torch.bmm(dropped(dropout, shares), value), heads))
        context = torch.cat(found)
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


_scatter: Callable[[Tensor, Tensor, int], Tensor] = _Scatter.apply
_gather: Callable[[Tensor, Tensor], Tensor] = _Gather.apply
