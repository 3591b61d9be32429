"""Training of some rows of a large embedding matrix that is also the output layer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from nersery.models.training.vocabulary_pruning import SomeRows, in_place_of, replace_module

MAX_TRAINED = 100_000
"""The most rows of a matrix that is trained completely, as in a vocabulary for one language or a few."""


@contextlib.contextmanager
def partly_trained_vocabulary(network: Any, subwords: Iterable[int]) -> Iterator[None]:
    """Train only these rows of a large embedding matrix that is also the output layer, within the context.

    The gradient and the two moments of all rows of multilingual E5 or XLM-R base would need 1.2 to 2.3 GB, and be read
    and written at every step. Rows that the text does not contain would learn little more than not to be chosen.

    Args:
        network: A masked language model. Models with other output layers, or up to `MAX_TRAINED` rows, are unchanged.
        subwords: Rows to train. Other rows may be read and are scored as before.
    """
    table, output = network.get_input_embeddings(), network.get_output_embeddings()
    is_large = isinstance(table, nn.Embedding) and table.num_embeddings > MAX_TRAINED
    if not is_large or not isinstance(output, nn.Linear) or output.weight is not table.weight:
        yield
        return
    rows = _PartlyTrainedEmbedding(table, sorted({*subwords} - {table.padding_idx}))
    scores = _PartlyTrainedOutput(rows, output.bias)
    with in_place_of(network, table, rows):
        replace_module(network, output, scores)
        try:
            yield
        finally:
            replace_module(network, scores, output)


class _PartlyTrainedEmbedding(SomeRows):
    """An embedding matrix that learns in some rows."""

    frozen: Tensor

    def __init__(self, table: nn.Embedding, subwords: list[int]) -> None:
        super().__init__(table, subwords)
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
        """All rows in the precision of the scores. Rows that learn are updated in place: nothing else reads
        them, and otherwise each step would copy the whole matrix."""

    def forward(self, states: Tensor) -> Tensor:
        rows, kind = self._rows[0], states.device.type
        precision = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else states.dtype
        if self._table.dtype != precision:
            self._table = rows.frozen.to(precision)
        return _Scores.apply(states, rows.weight, self.bias, self._table, rows.subwords)  # type: ignore[no-untyped-call]


class _Scores(torch.autograd.Function):
    """A linear layer that learns in some rows."""

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
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        states, subwords = ctx.saved_tensors
        gradient = gradient.flatten(0, -2)
        of_states = (gradient @ ctx.table).view(states.shape).to(ctx.precision)
        of_weight = (gradient[:, subwords].T @ states.flatten(0, -2)).float()
        of_bias = gradient.sum(0, dtype=torch.float32) if ctx.needs_input_grad[2] else None
        return of_states, of_weight, of_bias, None, None
