"""A pretrained network that is used as it is, without training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch

from nersery.core.typed_settings import Precision
from nersery.models.loading import ModelSource, pick_device

WINDOWS, WINDOWS_ON_GPU = 16, 128
"""Windows in one forward pass. A GPU takes as long for its kernels' starts as for their work on fewer."""


def windows_at_once(device: torch.device) -> int:
    """The number of windows in one forward pass; always the same on a device, so that results never depend on it."""
    return WINDOWS_ON_GPU if device.type == "cuda" else WINDOWS


class Inference(ABC):
    """Base of the classes that run a pretrained network.

    Args:
        source: A model by name or folder.
        device, precision: See `nersery.models.model_settings.ModelSettings`.

    Raises:
        MissingResourceError: If there is no such model.
    """

    def __init__(self, source: ModelSource, *, device: str = "auto", precision: Precision = "auto") -> None:
        self.source = source
        self.precision: Precision = precision
        self.device = pick_device(device)
        self.network: Any = self.opened(source).to(self.device).eval()
        self.prepare()

    @abstractmethod
    def opened(self, source: ModelSource) -> Any:
        """The network of a model."""

    @abstractmethod
    def prepare(self) -> None:
        """Open the tokenizer."""
