"""What taggers share in training: its settings, their checks, and one call to the trainer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Any

from torch import Tensor, nn

from nersery.core.errors import SettingsError
from nersery.core.method import Method
from nersery.core.ranges import Count, NotNegative, Rate
from nersery.core.sentence import Sentence
from nersery.core.training_context import Training
from nersery.core.warnings import warn
from nersery.io.tokenization import attached_signs
from nersery.models.training.trainer import Optimizer, Schedule, TrainingPlan, train
from nersery.taggers.base import NOTHING_TO_COMPARE, Tagger, can_compare, strict_f1, training_record
from nersery.taggers.components.tag_set import OutputScheme


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
        weight_decay: AdamW's, for weights but not biases and norms.
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


def plan_of(tagger: Any, examples: int, **fixed: Any) -> TrainingPlan:
    """The training plan of a tagger's settings.

    Args:
        fixed: Values of the plan that the tagger has no setting for.
    """
    names = {field.name for field in dataclasses.fields(TrainingPlan)} - fixed.keys()
    plan = TrainingPlan(**{name: getattr(tagger, name) for name in names}, **fixed)
    if plan.steps is None and plan.epochs is None:
        plan = dataclasses.replace(
            plan, steps=max(tagger.LEAST_STEPS, tagger.LEAST_EPOCHS * plan.epoch_steps(examples))
        )
    return plan


def train_tagger(
    tagger: Tagger,
    model: nn.Module,
    examples: Sequence[Any],
    loss_of: Callable[[Sequence[Any]], Tensor],
    plan: TrainingPlan,
    gold: Sequence[Sentence],
    training: Training,
    *,
    warm: bool,
    is_new: Callable[[str], bool] = lambda name: False,
) -> dict[str, Any]:
    """Train a tagger's model and return the history as JSON values; see `nersery.models.training.trainer.train`.

    Args:
        is_new: Whether a parameter of that name was not pretrained.
    """
    dev = training.dev
    comparable = can_compare(dev, tagger.types)
    if dev and not comparable:
        warn(f"{NOTHING_TO_COMPARE}, so the last weights are kept")
    elif plan.patience is not None and not dev:
        warn("patience needs dev sentences: without them, training takes all its steps")
    history = train(
        model,
        examples,
        loss_of,
        plan,
        seed=training.seed,
        evaluate=(lambda: strict_f1(dev, tagger.predict(dev))) if comparable else None,
        fingerprint={**training_record(tagger, gold, dev), "warm": warm},
        is_new=is_new,
        progress=training.progress,
        folder=training.folder,
    )
    several_languages = len({sentence.language for sentence in gold}) > 1  # one may attach what another does not
    return {
        "seed": training.seed,
        "sentences": len(gold),
        "steps": history.steps,
        "best_step": history.best.step if history.best else history.steps,
        "attached_signs": None if several_languages else attached_signs(sentence.words for sentence in gold)[0],
        "evaluations": [asdict(evaluation) for evaluation in history.evaluations],
    }
