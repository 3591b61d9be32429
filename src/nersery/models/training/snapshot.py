"""The tensors of a training that a checkpoint keeps: weights, optimizer moments and random states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

Tensors = dict[str, Tensor]


def weights_of(model: nn.Module) -> Tensors:
    """The tensors of a model's state without frozen parameters. One with several names appears under the first."""
    tensors: dict[Any, tuple[str, Tensor]] = {}
    frozen = {name for name, parameter in model.named_parameters(remove_duplicate=False) if not parameter.requires_grad}
    for name, tensor in model.state_dict().items():
        if isinstance(tensor, Tensor) and name not in frozen:
            place = (tensor.device, tensor.data_ptr(), tensor.shape, tensor.stride())
            tensors.setdefault(place, (name, tensor))
    return dict(tensors.values())


@torch.no_grad()
def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights from `weights_of` into a model."""
    for name, tensor in weights_of(model).items():
        tensor.copy_(weights[name])


def snapshot(model: nn.Module, optimizer: torch.optim.Optimizer | None, device: torch.device) -> Tensors:
    """Weights, optimizer moments and random states."""
    tensors = {f"weights.{name}": tensor for name, tensor in weights_of(model).items()}
    for name, parameter in model.named_parameters():
        moments = {} if optimizer is None else optimizer.state.get(parameter, {})
        tensors |= {f"moments.{name}.{key}": value for key, value in moments.items() if isinstance(value, Tensor)}
    tensors["chance.cpu"] = torch.get_rng_state()
    if device.type == "cuda":
        tensors["chance.cuda"] = torch.cuda.get_rng_state(device)
    return tensors


def restore(tensors: Tensors, model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device) -> None:
    """Restore a `snapshot`."""
    start = len("weights.")
    load_weights(model, {name[start:]: tensor for name, tensor in tensors.items() if name.startswith("weights.")})
    parameters = dict(model.named_parameters())
    for place, tensor in tensors.items():
        if place.startswith("moments."):
            name, _, key = place.removeprefix("moments.").rpartition(".")
            optimizer.state[parameters[name]][key] = tensor.to(parameters[name].device, copy=True)
    torch.set_rng_state(tensors["chance.cpu"])
    if device.type == "cuda" and "chance.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["chance.cuda"], device)
