"""Settings that methods on a pretrained language model share."""

from __future__ import annotations

from dataclasses import KW_ONLY, Field, dataclass, field
from typing import Any, ClassVar, Protocol

from nersery.core.registry import Method
from nersery.core.settings.ranges import Count, Positive
from nersery.core.settings.typed_settings import FileName, ModelName, Precision
from nersery.core.text.definitions import check_texts


@dataclass
class AdaptationSettings:
    """Settings of methods whose model may first learn from raw text.

    Args:
        adapt: File of raw text, one sentence per line, to train the model on first.
        adapt_epochs: Passes over that text.
    """

    _: KW_ONLY
    adapt: FileName = ""
    adapt_epochs: Count = 3


@dataclass
class FineTuningSettings:
    """Settings of methods that train a model on gold sentences.

    Args:
        epochs: Passes over gold. The epoch with the lowest dev loss is used.
        patience: Stop after this many epochs without a lower dev loss.
        batch_size: Sentences per step.
        learning_rate: For Adam. None: 1e-5, or 1e-4 for the bundled model.
    """

    _: KW_ONLY
    epochs: Count = 20
    patience: Count | None = None
    batch_size: Count = 32
    learning_rate: Positive | None = None


@dataclass
class TypeDescriptions(Method):
    """Setting of methods that show tags to a model.

    Args:
        descriptions: Descriptions of types, which initialize their tag tokens. Other types use those of `nersery list
            types`, or their name.
    """

    _: KW_ONLY
    descriptions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_texts(self.descriptions, "descriptions")


class FineTuned(Protocol):
    """Settings of a model that is fine-tuned on gold sentences."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    model: ModelName
    precision: Precision
    epochs: int
    batch_size: int
    learning_rate: float | None
    patience: int | None
