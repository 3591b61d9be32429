"""Training without the embeddings of subwords that the text does not contain."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

MOST_TRAINED = 100_000
"""Rows of a vocabulary for one language or a few."""


@contextlib.contextmanager
def pruned_vocabulary(network: nn.Module, subwords: Iterable[int]) -> Iterator[None]:
    """Within it, the embedding matrix has rows for these subwords only; afterwards all rows are back.

    A row without a gradient would only decay, but the optimizer reads and writes it and its two moments at every step.
    Such rows are half of all weights of the bundled encoder and more than two thirds of XLM-R. Pruning saves time and
    memory, and the rows stay exactly as pretrained. A matrix that is shared with the output layer is not pruned.

    Args:
        network: With `torch.nn.Embedding` as input embeddings, as in transformers; others are left alone.
        subwords: All that the network will read. Any other one is an ``IndexError``.
    """
    embeddings: Any = getattr(network, "get_input_embeddings", lambda: None)
    try:
        table = embeddings()
    except NotImplementedError:  # CANINE has several, by hashes of characters
        table = None
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


@contextlib.contextmanager
def partly_trained_vocabulary(network: Any, subwords: Iterable[int]) -> Iterator[None]:
    """Within it, a large embedding matrix that is also the output layer learns in these rows only.

    The gradient and the two moments of all rows of multilingual E5 or XLM-R base would need 1.2 to 2.3 GB, and be read
    and written at every step. Rows that the text does not contain would learn little more than not to be chosen.

    Args:
        network: A masked language model; those with other output layers, or up to `MOST_TRAINED` rows, are left alone.
        subwords: Rows to train. Others may be read and are scored as before.
    """
    table, output = network.get_input_embeddings(), network.get_output_embeddings()
    is_large = isinstance(table, nn.Embedding) and table.num_embeddings > MOST_TRAINED
    if not is_large or not isinstance(output, nn.Linear) or output.weight is not table.weight:
        yield
        return
    rows = _PartlyTrainedEmbedding(table, sorted({*subwords} - {table.padding_idx}))
    scores = _PartlyTrainedOutput(rows, output.bias)
    _replace(network, table, rows)
    _replace(network, output, scores)
    try:
        yield
    finally:
        _replace(network, rows, table)
        _replace(network, scores, output)
        with torch.no_grad():
            table.weight[rows.subwords] = rows.weight


class _SomeRows(nn.Module):
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


class _PartlyTrainedEmbedding(_SomeRows):
    """An embedding matrix of which some rows learn."""

    frozen: Tensor

    def __init__(self, table: nn.Embedding, subwords: list[int]) -> None:
        super().__init__(table, subwords)
        self.num_embeddings = table.num_embeddings
        self.register_buffer("frozen", table.weight.detach(), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        places = self.places[ids]
        learning = functional.embedding(places.clamp(min=0), self.weight)
        return torch.where((places >= 0).unsqueeze(-1), learning, functional.embedding(ids, self.frozen))


class _PartlyTrainedOutput(nn.Module):
    """The scores of all rows. Shape: (…, size) to (…, rows)."""

    def __init__(self, rows: _PartlyTrainedEmbedding, bias: nn.Parameter | None) -> None:
        super().__init__()
        self._rows = [rows]  # in a list, so that its weights keep one name
        self.bias = bias
        self._table = rows.frozen
        """All rows in the precision of the scores. Those that learn are renewed in place, because nothing
        else reads them, and each step would copy the whole matrix."""

    def forward(self, states: Tensor) -> Tensor:
        rows, kind = self._rows[0], states.device.type
        precision = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else states.dtype
        if self._table.dtype != precision:
            self._table = rows.frozen.to(precision)
        scores: Tensor = _Scores.apply(states, rows.weight, self.bias, self._table, rows.subwords)  # type: ignore[no-untyped-call]
        return scores


class _Scores(torch.autograd.Function):
    """A linear layer in which some rows learn."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, table: Tensor, subwords: Tensor
    ) -> Tensor:
        table[subwords] = weight.to(table.dtype)
        ctx.table, ctx.precision = table, states.dtype
        states = states.to(table.dtype)
        ctx.save_for_backward(states, subwords)
        return functional.linear(states, table, None if bias is None else bias.to(table.dtype))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        states, subwords = ctx.saved_tensors
        gradient = gradients[0].flatten(0, -2)
        of_states = (gradient @ ctx.table).view(states.shape).to(ctx.precision)
        of_weight = (gradient[:, subwords].T @ states.flatten(0, -2)).float()
        of_bias = gradient.sum(0, dtype=torch.float32) if ctx.needs_input_grad[2] else None
        return of_states, of_weight, of_bias, None, None


class _PrunedEmbedding(_SomeRows):
    """An embedding matrix that has these rows alone."""

    def __init__(self, table: nn.Embedding, subwords: list[int]) -> None:
        super().__init__(table, subwords)
        padding = table.padding_idx
        self.padding = subwords.index(padding) if padding is not None and padding in subwords else None

    def forward(self, ids: Tensor) -> Tensor:
        return functional.embedding(self.places[ids], self.weight, self.padding)


def _is_ours_alone(network: nn.Module, table: nn.Embedding) -> bool:
    """Whether the matrix is trained, not shared, and used as a plain look-up."""
    sharing = sum(weight is table.weight for _, weight in network.named_parameters(remove_duplicate=False))
    return sharing == 1 and table.weight.requires_grad and table.max_norm is None and not table.sparse


def _replace(network: nn.Module, old: nn.Module, new: nn.Module) -> None:
    for parent in network.modules():
        for name, child in parent.named_children():
            if child is old:
                setattr(parent, name, new)
