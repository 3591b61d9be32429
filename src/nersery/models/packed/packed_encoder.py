"""Encoders that compute nothing for padding: the BERT, RoBERTa, XLM-R and MPNet families.

The real subwords of a batch are gathered into one row, on which linear layers, norms and activations run. Outputs and
gradients are those of transformers. In training, attention pads within groups of windows of similar length.

A matrix product rounds differently for other shapes, and a prediction must not depend on the batch. Therefore, rows for
prediction always have `ROW` subwords, and attention is computed at the length of each window.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from nersery.core.warnings import set_in_context
from nersery.models.packed.packing import Packing
from nersery.models.packed.scattering import scatter
from nersery.models.packed.window_row import RecordedRow, WindowRow
from nersery.models.training.fast_dropout import dropped

FAMILIES = frozenset({"BertModel", "RobertaModel", "XLMRobertaModel", "CamembertModel", "MPNetModel"})
ROW_MULTIPLE, LENGTH_MULTIPLE = 32, 8
"""Row and padded window lengths are multiples of these in training where `_is_compiled`, so that shapes recur."""


ROW = 512
"""Subwords of a row in prediction, and the longest window that fits."""
_WINDOW_LENGTHS: ContextVar[Sequence[int] | None] = ContextVar("_WINDOW_LENGTHS", default=None)
"""Lengths of the windows in the row that a network reads; None if it reads padded windows.

They cannot be an argument: the models of transformers between `in_one_row` and `_forward`, such as classifiers,
hand on only the arguments that they know."""


def pack(network: Any) -> Any:
    """Make a network train without computing padding, if its architecture is one of `FAMILIES`. Others are unchanged.

    In evaluation mode the network still pads, unless it is called by `in_one_row`.
    """
    base = network.base_model
    known = type(base).__name__ in FAMILIES and type(base).__module__.startswith("transformers.")
    if known and not getattr(base.config, "is_decoder", False):
        base.forward = partial(_forward, base, base.forward)
    return network


def can_pack(network: Any) -> bool:
    """Whether `in_one_row` accepts a network: a packed one on a CPU. A GPU computes larger batches instead."""
    base = getattr(network, "base_model", None)
    forward = vars(base).get("forward") if base is not None else None
    return isinstance(forward, partial) and forward.func is _forward and network.device.type == "cpu"


def packed_rows(lengths: Sequence[int]) -> Iterator[list[int]]:
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
        while (place := bisect.bisect_left(keys, -room)) < len(order):  # the longest one that fits
            room += keys.pop(place)
            row.append(order.pop(place))
        yield row


def in_one_row(network: Any, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Any:
    """The output of a network in evaluation mode for padded windows. No window depends on others, to the last bit.

    Args:
        network: A network that `can_pack`, with a head that reads each subword alone.
        input_ids: At most `ROW` subwords without padding. Shape: (windows, subwords).
        attention_mask: 1 for a subword, 0 for padding, which is at the end. Shape: (windows, subwords).
        token_type_ids: Shape: (windows, subwords).

    Returns:
        Zero at padding. Shape of its tensors: (windows, subwords, …).
    """
    kept = attention_mask.flatten().nonzero().squeeze(1)
    inputs = {"input_ids": input_ids} | ({} if token_type_ids is None else {"token_type_ids": token_type_ids})
    # Filled with its first subword, because a network with a pruned vocabulary lacks the vectors of others.
    row = {
        name: ids.flatten()[torch.cat([kept, kept[:1].expand(ROW - len(kept))])][None] for name, ids in inputs.items()
    }
    with set_in_context(_WINDOW_LENGTHS, attention_mask.sum(1).tolist()):
        output = network(**row)
    tensors = {name: value[0, : len(kept)] for name, value in output.items() if isinstance(value, Tensor)}
    return type(output)(
        **{
            name: scatter(value, kept, input_ids.numel()).view(*input_ids.shape, *value.shape[1:])
            for name, value in tensors.items()
        }
    )


def attention_in_one_row(network: Any, windows: Sequence[Sequence[int]], layers: int) -> list[Tensor]:
    """Attention between the subwords of each window, summed over heads and layers; as independent as `in_one_row`.

    Args:
        network: A network that `can_pack`, in evaluation mode.
        windows: The subwords of each window, the longest window first, at most `ROW` subwords together.
        layers: The number of layers, counted from the last.

    Returns:
        Attention of each window from subword (row) to subword (column). Shape: (subwords, subwords).
    """
    base, lengths = network.base_model, [len(window) for window in windows]
    ids = [subword for window in windows for subword in window]
    input_ids = torch.tensor([*ids, *ids[:1] * (ROW - len(ids))])[None]
    hidden, bias = _embedded(base, input_ids, None, lengths), getattr(base.encoder, "compute_position_bias", None)
    row, recorded = WindowRow.of(lengths), RecordedRow.of(lengths)
    *stack, last = base.encoder.layer
    for number, layer in enumerate(stack):
        hidden = _layer(layer, hidden, recorded if number >= len(stack) + 1 - layers else row, bias)
    _context(last, hidden, recorded, bias)
    return [attention for start, *_ in recorded.groups for attention in recorded.totals[start]]


def _predict(base: Any, input_ids: Tensor, token_type_ids: Tensor | None, lengths: Sequence[int]) -> Any:
    """The hidden states of a row. Shape of ``input_ids``: (1, ROW)."""
    from transformers.modeling_outputs import BaseModelOutputWithPooling

    hidden, row = _embedded(base, input_ids, token_type_ids, lengths), WindowRow.of(lengths)
    return BaseModelOutputWithPooling(last_hidden_state=_encoded(base, hidden, row).unsqueeze(0))


def _embedded(base: Any, input_ids: Tensor, token_type_ids: Tensor | None, lengths: Sequence[int]) -> Tensor:
    """The embeddings of a row, which the first layer reads. Shape: (ROW, dimension)."""
    windows = torch.split(input_ids[:, : sum(lengths)], [*lengths], 1)
    positions = torch.cat([_positions(base.embeddings, window) for window in windows], 1)
    positions = nn.functional.pad(positions, (0, ROW - positions.shape[1]))
    types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
    hidden: Tensor = base.embeddings(input_ids=input_ids, position_ids=positions, token_type_ids=types)
    return hidden.squeeze(0)


def _forward(
    base: Any,
    original_forward: Any,
    input_ids: Tensor | None = None,
    attention_mask: Tensor | None = None,
    token_type_ids: Tensor | None = None,
    **options: Any,
) -> Any:
    """The output of ``base``, zero at padding. Transformers' ``original_forward`` handles all other calls."""
    if input_ids is not None and (lengths := _WINDOW_LENGTHS.get()) is not None:
        return _predict(base, input_ids, token_type_ids, lengths)
    unusual = any(value is not None and value is not False for name, value in options.items() if name != "return_dict")
    recorded = base.config.output_attentions or base.config.output_hidden_states
    if not base.training or input_ids is None or attention_mask is None or unusual or recorded:
        types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        return original_forward(input_ids=input_ids, attention_mask=attention_mask, **types, **options)
    from transformers.modeling_outputs import BaseModelOutputWithPooling

    is_compiled = _is_compiled(base.device)
    packing = Packing.of(attention_mask.bool(), LENGTH_MULTIPLE if is_compiled else 1)
    filling = packing.kept[:1].expand(-len(packing.kept) % ROW_MULTIPLE if is_compiled else 0)  # any subword will do
    row = torch.cat([packing.kept, filling])
    inputs = {
        "input_ids": input_ids,
        "position_ids": _positions(base.embeddings, input_ids),
        "token_type_ids": torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids,
    }
    inputs = {name: ids.expand_as(input_ids).flatten()[row].unsqueeze(0) for name, ids in inputs.items()}
    hidden = _encoded(base, base.embeddings(**inputs).squeeze(0), packing)
    whole = scatter(hidden[: len(packing.kept)], packing.kept, input_ids.numel()).view(*input_ids.shape, -1)
    return BaseModelOutputWithPooling(
        last_hidden_state=whole, pooler_output=base.pooler(whole) if base.pooler is not None else None
    )


def _is_compiled(device: torch.device) -> bool:
    """Whether each matrix product is compiled for its shapes, which takes as long as a small product.

    oneDNN does this with bf16, and keeps the last 1,024 compiled products.
    """
    return device.type == "cpu" and torch.is_autocast_enabled("cpu")


def _positions(embeddings: Any, input_ids: Tensor) -> Tensor:
    """Position ids. RoBERTa and MPNet count them from the padding id + 1. Shape: (windows, subwords)."""
    padding = getattr(embeddings, "padding_idx", None)
    if padding is None:
        return torch.arange(input_ids.shape[1], device=input_ids.device).unsqueeze(0)
    real = input_ids.ne(padding)
    return real.cumsum(1) * real + int(padding)


def _encoded(base: Any, hidden: Tensor, packing: Packing | WindowRow) -> Tensor:
    """The output of the last layer of an encoder. Shape: (subwords, dimension), as ``hidden``."""
    for layer in base.encoder.layer:
        hidden = _layer(layer, hidden, packing, getattr(base.encoder, "compute_position_bias", None))
    return hidden


def _layer(layer: Any, hidden: Tensor, packing: Packing | WindowRow, position_bias: Any) -> Tensor:
    """One layer of the encoder. Shape: (subwords, dimension), as ``hidden``."""
    context = _context(layer, hidden, packing, position_bias)
    if _is_mpnet(layer):
        norms, dense = layer.attention, layer.attention.attn.o
    else:
        norms, dense = layer.attention.output, layer.attention.output.dense
    hidden = norms.LayerNorm(dropped(norms.dropout, dense(context)) + hidden)
    output = layer.output
    return output.LayerNorm(dropped(output.dropout, output.dense(layer.intermediate(hidden))) + hidden)


def _context(layer: Any, hidden: Tensor, packing: Packing | WindowRow, position_bias: Any) -> Tensor:
    """The output of a layer's attention before its output projection. Shape: (subwords, dimension)."""
    if _is_mpnet(layer):
        inner = layer.attention.attn
        projections = inner.q, inner.k, inner.v
    else:
        inner = layer.attention.self
        projections = inner.query, inner.key, inner.value
    device = hidden.device.type
    shared = hidden.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else hidden  # cast once
    queries, keys, values = (project(shared) for project in projections)
    heads = int(inner.num_attention_heads)
    return packing.attend(queries, keys, values, heads, inner.dropout, position_bias)


def _is_mpnet(layer: Any) -> bool:
    return hasattr(layer.attention, "attn")
