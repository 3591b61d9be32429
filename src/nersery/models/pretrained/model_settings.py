"""Settings of every method with a pretrained model. Imports no torch, so that listing methods stays fast."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from nersery.core.settings.typed_settings import ModelName, Precision

if TYPE_CHECKING:
    from nersery.models.pretrained.loading import ModelSource


@dataclass
class ModelSettings:
    """Base of the methods that run a pretrained model; their documentation includes these settings.

    Args:
        model: ``bundled``, or a model by Hugging Face name or folder.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:0``.
        precision: `auto`: `bf16` if the processor supports it, else `fp32`.
        revision: Branch, tag or commit of a model on the hub.
        trust_remote_code: Run code from the model's repository.
    """

    model: ModelName = "bundled"
    _: KW_ONLY
    device: str = "auto"
    precision: Precision = "auto"
    revision: str | None = None
    trust_remote_code: bool = False

    @property
    def source(self) -> ModelSource:
        """Where the model is loaded from."""
        from nersery.models.pretrained.loading import ModelSource

        return ModelSource(self.model, self.revision, self.trust_remote_code)
