"""The number of parameters of models."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import torch
from torch import nn

from nersery.core import registry
from nersery.core.errors import MissingResourceError
from nersery.core.settings.file_settings import file_and_model_types
from nersery.core.settings.typed_settings import ModelName
from nersery.models.pretrained.loading import ModelSource, quiet_transformers


def parameters_of(network: nn.Module) -> int:
    """The number of a network's parameters. Those that two layers share count once."""
    return sum(parameter.numel() for parameter in network.parameters())


def parameters_of_method(kind: str, method: str, settings: Mapping[str, Any]) -> int | None:
    """The parameters of the pretrained models that a method's settings name, without heads.

    Returns:
        None if they name no model, or one that cannot be found.
    """
    keys = [key for key, type_ in file_and_model_types(registry.get(kind, method)).items() if type_ == ModelName]
    names = {name for key in keys if isinstance(name := settings.get(key), str) and name}
    sizes = [_parameters(name, settings.get("revision"), bool(settings.get("trust_remote_code"))) for name in names]
    return sum(size or 0 for size in sizes) if sizes and None not in sizes else None


@cache
def _parameters(name: str, revision: str | None, trust_remote_code: bool) -> int | None:
    """The parameters of an encoder or an encoder-decoder, from its configuration. No weights are read."""
    from transformers import AutoModel

    try:
        config = ModelSource(name, revision, trust_remote_code).config()
        with quiet_transformers(), torch.device("meta"):
            return parameters_of(AutoModel.from_config(config, trust_remote_code=trust_remote_code))
    except (MissingResourceError, ValueError):
        return None
