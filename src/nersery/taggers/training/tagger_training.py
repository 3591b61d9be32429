"""Call the trainer in the same way for all taggers: the plan, dev, the fingerprint and the history."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from nersery.core.sentence import Sentence
from nersery.core.training_context import Training
from nersery.core.warnings import warn
from nersery.io.word_splitting.scripts_without_spaces import split_in_characters
from nersery.io.word_splitting.tokenization import attached_punctuation
from nersery.models.training.trainer import TrainingPlan, train
from nersery.taggers.base import NOTHING_TO_COMPARE, Tagger, can_compare, strict_f1, training_record


def plan_of(tagger: Any, examples: int, **fixed: Any) -> TrainingPlan:
    """The training plan from a tagger's settings.

    Args:
        fixed: Values of the plan that are not settings of the tagger.
    """
    names = {field.name for field in dataclasses.fields(TrainingPlan)} - fixed.keys()
    plan = TrainingPlan(**{name: getattr(tagger, name) for name in names}, **fixed)
    if plan.steps is None and plan.epochs is None:
        plan = dataclasses.replace(plan, steps=max(tagger.MIN_STEPS, tagger.MIN_EPOCHS * plan.epoch_steps(examples)))
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
        is_new: Returns whether the parameter of a name was not pretrained.
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
    several_languages = len({sentence.language for sentence in gold}) > 1  # languages may be split differently
    words = [word for sentence in gold for word in sentence.words]
    return {
        "seed": training.seed,
        "sentences": len(gold),
        "steps": history.steps,
        "best_step": history.best.step if history.best else history.steps,
        "attached_signs": None if several_languages else attached_punctuation(sentence.words for sentence in gold)[0],
        "in_characters": None if several_languages else split_in_characters(words),
        "evaluations": [dataclasses.asdict(evaluation) for evaluation in history.evaluations],
    }
