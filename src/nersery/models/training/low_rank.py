"""Low-rank adapters: frozen matrices plus a product of two narrow ones, which alone learn.

Reference:
    Hu et al. 2022, LoRA.

Departures:
    No scaling factor and no dropout; word embeddings, which also serve as the output matrix, get one as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class LowRankLinear(nn.Module):
    """A linear layer with frozen weights and a low-rank adapter.

    Shape: ``up`` (outputs, rank), ``down`` (rank, inputs).
    """

    weight: Tensor

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.register_buffer("weight", layer.weight.detach(), persistent=False)
        self.bias = layer.bias
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) / layer.in_features**0.5)

    def forward(self, inputs: Tensor) -> Tensor:
        """Shape: (…, inputs) to (…, outputs)."""
        # Beside the frozen product, not added to its matrix: then no gradient of the whole matrix is computed.
        added = functional.linear(functional.linear(inputs, self.down), self.up)
        return functional.linear(inputs, self.weight, self.bias) + added


class LowRankEmbedding(nn.Module):
    """Some rows of frozen word embeddings with a low-rank adapter, addressed by their original numbers.

    Shape: ``up`` (rows, rank), ``down`` (rank, size).
    """

    weight: Tensor
    places: Tensor

    def __init__(self, table: nn.Embedding, rows: Sequence[int], rank: int) -> None:
        super().__init__()
        self.rows = torch.tensor(sorted(set(rows)))
        self.register_buffer("weight", table.weight.detach()[self.rows], persistent=False)
        places = torch.full((table.num_embeddings,), -1)
        places[self.rows] = torch.arange(len(self.rows))
        self.register_buffer("places", places, persistent=False)
        self.up = nn.Parameter(torch.zeros(len(self.rows), rank))
        self.down = nn.Parameter(torch.randn(rank, table.embedding_dim) / table.embedding_dim**0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """Shape: (…) to (…, size)."""
        places = self.places[ids]
        return self.weight[places] + functional.embedding(places, self.up) @ self.down


class TiedDecoder(nn.Module):
    """The scores of the rows of a `LowRankEmbedding`, as an output layer.

    Attributes:
        chosen: Rows to score; None is all.
    """

    def __init__(self, embedding: LowRankEmbedding, bias: Tensor) -> None:
        super().__init__()
        self._tied = [embedding]  # in a list, so that its parameters keep one name
        self.bias = nn.Parameter(bias)
        self.chosen: Tensor | None = None

    def forward(self, states: Tensor) -> Tensor:
        """Shape: (…, size) to (…, rows)."""
        parts = (self._tied[0].weight, self._tied[0].up, self.bias)
        weight, up, bias = parts if self.chosen is None else (part[self.chosen] for part in parts)
        added = functional.linear(functional.linear(states, self._tied[0].down), up)
        return functional.linear(states, weight, bias) + added


def add_adapters(model: nn.Module, prefix: str, rank: int) -> None:
    """Replace every linear layer whose name begins with a prefix."""
    for name, layer in list(model.named_modules()):
        if isinstance(layer, nn.Linear) and name.startswith(prefix):
            replace_module(model, name, LowRankLinear(layer, rank))


def replace_module(model: nn.Module, name: str, new: nn.Module) -> None:
    """Put a module in the place of that of a dotted name."""
    parent, _, own = name.rpartition(".")
    setattr(model.get_submodule(parent), own, new)


def adapters(model: nn.Module) -> Iterator[tuple[str, Any]]:
    """The names of the adapted weights, and their modules."""
    for name, module in model.named_modules():
        if isinstance(module, LowRankLinear | LowRankEmbedding):
            yield f"{name}.weight", module
