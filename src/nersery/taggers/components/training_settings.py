"""What taggers share in training: the settings of it, their checks, and the course of it as JSON values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from nersery.core.errors import MissingResourceError, SettingsError
from nersery.models.training.trainer import History, TrainingPlan


def check_settings(tagger: Any, name: str, own: Mapping[str, bool]) -> None:
    """Refuse settings that cannot work.

    Args:
        name: Of the tagger, for the message.
        own: What else it expects of its settings, and whether that holds.

    Raises:
        SettingsError: With all that is wrong.
    """
    checks = {
        "steps is 1 or more": tagger.steps is None or tagger.steps >= 1,
        "epochs is 1 or more": tagger.epochs is None or tagger.epochs >= 1,
        "only one of steps and epochs is given": tagger.steps is None or tagger.epochs is None,
        "evaluate_every is 1 or more": tagger.evaluate_every is None or tagger.evaluate_every >= 1,
        "patience is 1 or more": tagger.patience is None or tagger.patience >= 1,
        "batch_size is 1 or more": tagger.batch_size >= 1,
        "learning_rate is above 0": tagger.learning_rate > 0,
        "warmup lies in [0, 1]": 0 <= tagger.warmup <= 1,
        "clip is above 0": tagger.clip > 0,
        "weight_decay is 0 or more": tagger.weight_decay >= 0,
        **own,
    }
    wrong = [expectation for expectation, holds in checks.items() if not holds]
    if wrong:
        raise SettingsError(f"the {name} tagger expects that {'; that '.join(wrong)}")


def plan_of(tagger: Any, examples: int, least_steps: int, least_epochs: int, **fixed: Any) -> TrainingPlan:
    """The plan by a tagger's settings.

    Args:
        least_steps: Without ``steps`` and ``epochs``, training takes as long as this and ``least_epochs`` ask for.
        fixed: What a plan needs and the tagger has no setting for.
    """
    names = {field.name for field in dataclasses.fields(TrainingPlan)} - fixed.keys()
    plan = TrainingPlan(**{name: getattr(tagger, name) for name in names}, **fixed)
    if plan.steps is None and plan.epochs is None:
        plan = dataclasses.replace(plan, steps=max(least_steps, least_epochs * plan.epoch_steps(examples)))
    return plan


def training_history(history: History, seed: int, sentences: int) -> dict[str, Any]:
    """The course of a training on that many sentences, as JSON values."""
    return {
        "seed": seed,
        "sentences": sentences,
        "steps": history.steps,
        "best_step": history.best.step if history.best else history.steps,
        "evaluations": [dataclasses.asdict(evaluation) for evaluation in history.evaluations],
    }


def from_settings(cls: type[Any], settings: Mapping[str, Any], device: str, place: object) -> Any:
    """A tagger of saved settings; the device is for whoever loads it to say.

    Raises:
        MissingResourceError: When they are of another version.
    """
    try:
        return cls(**{**settings, "device": device})
    except (TypeError, SettingsError) as error:
        raise MissingResourceError(f"{place} holds settings of another version: {error}") from error
