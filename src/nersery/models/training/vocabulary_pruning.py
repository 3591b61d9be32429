"""A model's table of subwords, cut to those of a text for as long as it is trained on that text."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


@contextlib.contextmanager
def pruned_vocabulary(network: nn.Module, subwords: Iterable[int]) -> Iterator[None]:
    """Within it the table of subwords has a row for each of these, and for no other; behind it all rows are back.

    A row without a gradient would only decay, yet an optimizer reads and writes it with its two moments at every step:
    of the bundled encoder these are half of all weights, of XLM-R more than two thirds. So training takes less time
    and memory, and subwords that the text has not stay exactly as they were pretrained. A table that is an output layer
    too stays whole.

    Args:
        network: With `torch.nn.Embedding` as input, behind ``get_input_embeddings`` as in transformers; others stay as
            they are.
        subwords: All that the network reads within; another one is an ``IndexError``.
    """
    embeddings: Any = getattr(network, "get_input_embeddings", lambda: None)
    table = embeddings()
    if not isinstance(table, nn.Embedding) or not _is_ours_alone(network, table):
        yield
        return
    rows = _PrunedEmbedding(table, sorted({*subwords}))
    _replace(network, table, rows)
    try:
        yield
    finally:
        _replace(network, rows, table)
        with torch.no_grad():
            table.weight[rows.subwords] = rows.weight


class _PrunedEmbedding(nn.Module):
    """Some rows of a table, found by the numbers that they have there."""

    subwords: Tensor
    places: Tensor

    def __init__(self, table: nn.Embedding, subwords: list[int]) -> None:
        super().__init__()
        device, padding = table.weight.device, table.padding_idx
        self.padding = subwords.index(padding) if padding is not None and padding in subwords else None
        self.register_buffer("subwords", torch.tensor(subwords, device=device), persistent=False)
        places = torch.full((len(table.weight),), -1, device=device)
        places[self.subwords] = torch.arange(len(subwords), device=device)
        self.register_buffer("places", places, persistent=False)
        self.weight = nn.Parameter(table.weight.detach()[self.subwords])

    def forward(self, ids: Tensor) -> Tensor:
        return functional.embedding(self.places[ids], self.weight, self.padding)


def _is_ours_alone(network: nn.Module, table: nn.Embedding) -> bool:
    """Whether nothing else has its weights, they are learnt, and a look at it is a plain look-up."""
    sharing = sum(weight is table.weight for _, weight in network.named_parameters(remove_duplicate=False))
    return sharing == 1 and table.weight.requires_grad and table.max_norm is None and not table.sparse


def _replace(network: nn.Module, old: nn.Module, new: nn.Module) -> None:
    for parent in network.modules():
        for name, child in parent.named_children():
            if child is old:
                setattr(parent, name, new)
