"""The training settings of taggers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from nersery.core.errors import SettingsError
from nersery.core.registry import Method
from nersery.core.settings.ranges import Count, NotNegative, Rate
from nersery.models.training.trainer import Optimizer, Schedule
from nersery.taggers.output_layer.tag_set import OutputScheme


@dataclass
class TrainingSettings(Method):
    """Settings of the training of a tagger; the documentation of the taggers includes them.

    Args:
        scheme: Tag scheme inside the model: `IOB2` or `BIOES`.
        steps: Training steps.
        epochs: Passes over the training data, instead of steps.
        evaluate_every: Steps between evaluations on dev. None: once per epoch, but at most ten times if `steps` is
            given.
        patience: Stop after this many evaluations without a better dev F1.
        batch_size: Sentences per step.
        warmup: Share of the steps in which the learning rate rises, in [0, 1].
        schedule: ``linear`` lowers the learning rate to zero, ``constant`` keeps it.
        optimizer: ``adamw``, ``adam`` or ``sgd``.
        weight_decay: AdamW's weight decay, except of biases and norms.
    """

    _: KW_ONLY
    scheme: OutputScheme = "IOB2"
    steps: Count | None = None
    epochs: Count | None = None
    evaluate_every: Count | None = None
    patience: Count | None = None
    batch_size: Count = 16
    warmup: Rate = 0.1
    schedule: Schedule = "linear"
    optimizer: Optimizer = "adamw"
    weight_decay: NotNegative = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps is not None and self.epochs is not None:
            raise SettingsError("steps and epochs are both given, expected one of them")
