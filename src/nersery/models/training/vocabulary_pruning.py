"""Training without the embeddings of subwords that the text does not contain."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


@contextlib.contextmanager
def pruned_vocabulary(network: Any, subwords: Iterable[int]) -> Iterator[None]:
    """Reduce the embedding matrix to rows for these subwords within the context, and restore all rows afterwards.

    A row without a gradient would only decay, but the optimizer reads and writes it and its two moments at every step.
    Such rows are half of all weights of the bundled encoder and more than two thirds of XLM-R. Pruning saves time and
    memory, and the rows stay exactly as pretrained. A matrix that is shared with the output layer is not pruned.

    Args:
        network: A network with `torch.nn.Embedding` as input embeddings, as in transformers. Others are unchanged.
        subwords: All subwords that the network will read. Any other subword is an ``IndexError``.
    """
    try:
        table = network.get_input_embeddings()
    except NotImplementedError:  # CANINE has several embeddings, by hashes of characters
        table = None
    if not isinstance(table, nn.Embedding) or not _can_prune(network, table):
        yield
        return
    with in_place_of(network, table, _PrunedEmbedding(table, sorted({*subwords}))):
        yield


class SomeRows(nn.Module):
    """Some rows of an embedding matrix, addressed by their original numbers."""

    subwords: Tensor
    places: Tensor

    def __init__(self, table: nn.Embedding, subwords: list[int]) -> None:
        super().__init__()
        device = table.weight.device
        self.register_buffer("subwords", torch.tensor(subwords, dtype=torch.long, device=device), persistent=False)
        places = torch.full((len(table.weight),), -1, device=device)
        places[self.subwords] = torch.arange(len(subwords), device=device)
        self.register_buffer("places", places, persistent=False)
        self.weight = nn.Parameter(table.weight.detach()[self.subwords])


class _PrunedEmbedding(SomeRows):
    """An embedding matrix that only has these rows."""

    def __init__(self, table: nn.Embedding, subwords: list[int]) -> None:
        super().__init__(table, subwords)
        padding = table.padding_idx
        self.padding = subwords.index(padding) if padding is not None and padding in subwords else None

    def forward(self, ids: Tensor) -> Tensor:
        return functional.embedding(self.places[ids], self.weight, self.padding)


def _can_prune(network: nn.Module, table: nn.Embedding) -> bool:
    """Whether the matrix is trained, not shared, and used as a plain look-up."""
    sharing = sum(weight is table.weight for _, weight in network.named_parameters(remove_duplicate=False))
    return sharing == 1 and table.weight.requires_grad and table.max_norm is None and not table.sparse


@contextlib.contextmanager
def in_place_of(network: nn.Module, table: nn.Embedding, rows: SomeRows) -> Iterator[None]:
    """Replace a matrix in a network with some of its rows within the context, then copy the trained rows back to it."""
    replace_module(network, table, rows)
    try:
        yield
    finally:
        replace_module(network, rows, table)
        with torch.no_grad():
            table.weight[rows.subwords] = rows.weight


def replace_module(network: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """Replace a module with another one, wherever the network contains it."""
    for parent in network.modules():
        for name, child in parent.named_children():
            if child is old:
                setattr(parent, name, new)
