"""The head of a pretrained token-classification model. It is kept for known tags and new for other tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from nersery.core.errors import SettingsError
from nersery.core.tags import OUTSIDE
from nersery.models.pretrained.loading import ModelSource, output_settings, quiet_transformers


def shared_rows(names: Sequence[str], known: Sequence[str]) -> dict[int, int]:
    """The index of each shared tag in the model, by its index among the new tags; empty if only `O` is shared.

    >>> shared_rows(["O", "B-LOC", "B-PER"], ["B-PER", "I-PER", "O"])
    {0: 2, 2: 0}
    """
    rows = {new: known.index(name) for new, name in enumerate(names) if name in known}
    return rows if any(names[new] != OUTSIDE for new in rows) else {}


def network_with_head(source: ModelSource, names: Sequence[str]) -> Any:
    """A pretrained network with an output for each tag. Known tags keep their weights; other tags get random ones."""
    known = known_tags(source)
    if shared_rows(names, known):
        network = source.token_classification()
        if _resize(network, names, known):
            return network
    network = source.model("AutoModelForTokenClassification", **output_settings(names))
    if known:
        for part in _outside_base(network).values():
            _reinitialize(part, network.config)
    return network


def outline(source: ModelSource) -> Any:
    """A network with a new head, built from its configuration without reading any weights.

    Raises:
        MissingResourceError: If there is no configuration.
    """
    from transformers import AutoModelForTokenClassification

    config = source.config()
    with quiet_transformers(), torch.device("meta"):
        return AutoModelForTokenClassification.from_config(config, trust_remote_code=source.trust_remote_code)


def known_tags(source: ModelSource) -> list[str]:
    """The tags of a token-classification model, with "" for tags without a name; empty for other models."""
    config = source.config()
    is_tagger = any("TokenClassification" in name for name in config.architectures or ())
    return [config.id2label.get(index, "") for index in range(config.num_labels)] if is_tagger else []


def set_dropout(network: Any, rate: float, model: str) -> None:
    """Set the dropout rate before the head, or raise `SettingsError` if the network has no dropout there."""
    layers = [
        layer for part in _outside_base(network).values() for layer in part.modules() if isinstance(layer, nn.Dropout)
    ]
    if not layers:
        raise SettingsError(f'dropout cannot be set for "{model}": it has none before its head. Leave dropout out')
    for layer in layers:
        layer.p = rate


def _resize(network: Any, names: Sequence[str], known: Sequence[str]) -> bool:
    """Replace the output layer if it is a linear layer in the usual place; return whether it is."""
    outputs = [(name, layer) for name, layer in _outside_base(network).items() if isinstance(layer, nn.Linear)]
    if [layer.out_features for _, layer in outputs] != [len(known)]:
        return False
    [(name, old)] = outputs
    new = nn.Linear(old.in_features, len(names), bias=old.bias is not None)
    _reinitialize(new, network.config)
    rows = shared_rows(names, known)
    for new_row, old_row in rows.items():
        new.weight.data[new_row] = old.weight.data[old_row]
        if old.bias is not None:
            new.bias.data[new_row] = old.bias.data[old_row]
    setattr(network, name, new)
    network.num_labels = len(names)
    network.config.update(output_settings(names))
    return True


def _outside_base(network: Any) -> dict[str, nn.Module]:
    return {name: part for name, part in network.named_children() if name != network.base_model_prefix}


def _reinitialize(part: nn.Module, config: Any) -> None:
    """Initialize the linear layers with random weights."""
    for layer in part.modules():
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=getattr(config, "initializer_range", 0.02))
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
