"""Low-rank adapters (the trainable product of two narrow matrices, added to a frozen one), and their storage format.

Reference:
    Hu et al. 2022, LoRA.

Departures:
    There is no scaling factor and no dropout. Word embeddings, which are also the output matrix, have an adapter, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from nersery.models.bundled_models import bundled
from nersery.models.bundled_models.bundled_heads import BASE, DOWN, EMBEDDINGS, LAYERS, ROWS, SCALE, UP

STEPS_OF_DIFFERENCES = 31
"""Quantization steps: as accurate as 127 (35.2 % of held-out subwords), and a quarter smaller in a compressed wheel."""


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
        # The adapter is not added to the frozen matrix, so that no gradient of the whole matrix is computed.
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
    """An output layer that scores the rows of a `LowRankEmbedding`.

    Attributes:
        chosen: The rows to score; None scores all.
    """

    def __init__(self, embedding: LowRankEmbedding, bias: Tensor) -> None:
        super().__init__()
        self._tied = [embedding]  # in a list, so that its parameters have only one name
        self.bias = nn.Parameter(bias)
        self.chosen: Tensor | None = None

    def forward(self, states: Tensor) -> Tensor:
        """Shape: (…, size) to (…, rows)."""
        parts = (self._tied[0].weight, self._tied[0].up, self.bias)
        weight, up, bias = parts if self.chosen is None else (part[self.chosen] for part in parts)
        added = functional.linear(functional.linear(states, self._tied[0].down), up)
        return functional.linear(states, weight, bias) + added


def add_adapters(model: nn.Module, prefix: str, rank: int) -> None:
    """Add an adapter to every linear layer with a name that begins with ``prefix``."""
    for name, layer in list(model.named_modules()):
        if isinstance(layer, nn.Linear) and name.startswith(prefix):
            replace_module(model, name, LowRankLinear(layer, rank))


def replace_module(model: nn.Module, name: str, new: nn.Module) -> None:
    """Replace the module with a dotted name by another module."""
    parent, _, own = name.rpartition(".")
    setattr(model.get_submodule(parent), own, new)


def adapters(model: nn.Module) -> Iterator[tuple[str, Any]]:
    """The names of the adapted weights with their modules."""
    for name, module in model.named_modules():
        if isinstance(module, LowRankLinear | LowRankEmbedding):
            yield f"{name}.weight", module


def is_learnt(name: str) -> bool:
    """Whether a weight of ``bundled``'s masked language model differs from the installed encoder's."""
    return not name.startswith(BASE) or name.startswith((LAYERS, EMBEDDINGS))


def save_differences(model: Any, path: Path) -> None:
    """Write the weights that a trained `BertForMaskedLM` has learnt on top of ``bundled``, without unchanged rows."""
    with safe_open(bundled.folder() / "model.safetensors", framework="pt") as file:
        installed = {BASE + name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    tensors: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        weight = parameter.detach().cpu().float()
        if name.startswith((LAYERS, EMBEDDINGS)) and weight.ndim == 2:
            difference = weight - installed[name]
            rows = difference.any(dim=1).nonzero()[:, 0]
            tensors |= quantized(name, difference[rows], STEPS_OF_DIFFERENCES)
            tensors[name + ROWS] = rows.int()
        elif is_learnt(name):
            tensors[name] = weight.half()
    save_file(tensors, path)


def save_adapters(model: Any, path: Path, skipped: Iterable[str] = ()) -> None:
    """Write the adapters of a model, and its other trainable weights.

    Args:
        skipped: Names of weights to leave out.
    """
    tensors: dict[str, Tensor] = {}
    adapted = dict(adapters(model))
    for name, module in adapted.items():
        tensors |= quantized(name + UP, module.up) | quantized(name + DOWN, module.down)
        if isinstance(module, LowRankEmbedding):
            tensors[name + ROWS] = module.rows.int()
    factors = {name.removesuffix("weight") + part for name in adapted for part in ("up", "down")}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and name not in {*factors, *skipped}:
            tensors[name] = parameter.detach().half()
    save_file({name: tensor.cpu().contiguous() for name, tensor in tensors.items()}, path)


@torch.no_grad()
def load_adapters(model: Any, path: Path, skipped: Iterable[str] = ()) -> None:
    """Load weights that `save_adapters` wrote. Rows that the file lacks stay unchanged.

    Args:
        skipped: Names of weights that are not loaded.
    """
    with safe_open(path, framework="pt") as file:
        stored: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118

    def read(name: str) -> Tensor:
        return stored.pop(name).float() * stored.pop(name + SCALE).float()

    for name, module in adapters(model):
        up, rows = read(name + UP), stored.pop(name + ROWS, None)
        module.down.copy_(read(name + DOWN))
        if rows is None:
            module.up.copy_(up)
        else:
            places = module.places.cpu()[rows.long()]
            module.up[places[places >= 0]] = up[places >= 0].to(module.up.device)
    parameters = dict(model.named_parameters())
    for name in (stored.keys() & parameters.keys()) - {*skipped}:
        parameters[name].copy_(stored[name])


def quantized(name: str, weight: Tensor, steps: int = 127) -> dict[str, Tensor]:
    """A matrix as integers with a scale for each row. The largest absolute value of a row becomes ``steps``."""
    weight = weight.detach().cpu().float()
    scale = (weight.abs().amax(dim=1, keepdim=True) / steps).clamp(min=1e-7)
    return {name: (weight / scale).round().to(torch.int8), name + SCALE: scale.half()}
