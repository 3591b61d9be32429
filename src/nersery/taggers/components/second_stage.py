"""A second training on gold alone, for a tagger that was trained on what machines labelled or wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nersery.core.errors import SettingsError, did_you_mean
from nersery.core.registry import check
from nersery.core.sentence import Sentence
from nersery.core.training_context import Training
from nersery.taggers.base import Tagger

OWN = (
    "steps", "epochs", "evaluate_every", "patience", "batch_size", "learning_rate", "head_learning_rate", "warmup",
    "schedule", "optimizer", "weight_decay", "clip",
)  # fmt: skip
"""Settings of the course of a training, of those that a tagger has; a second training may have its own."""
RIVALS = {"steps": "epochs", "epochs": "steps"}
"""Who names one of them does without the other."""


def fit_second_stage(tagger: Tagger, gold: Sequence[Sentence], settings: Mapping[str, Any], training: Training) -> None:
    """Train a tagger on gold alone, from where its training on other sentences has ended.

    Labels that a machine made are many and partly wrong. First they teach what names look like at all, then gold
    teaches what is called a name here. The tagger's history tells of the second training under ``second_stage``.

    Args:
        settings: Those of `OWN` that differ from the tagger's.

    Raises:
        SettingsError: When gold has types that the tagger has not met.
    """
    require_known_types(gold, tagger.types)
    settings = changed(vars(tagger), settings)
    before, first = {key: getattr(tagger, key) for key in settings}, tagger.history
    try:
        vars(tagger).update(settings)
        second = tagger.fit(
            gold, training.dev, seed=training.seed, progress=training.progress, folder=training.folder, warm=True
        )
    finally:
        vars(tagger).update(before)
    tagger.history = {**first, "second_stage": second}


def require_known_types(gold: Iterable[Sentence], met: Iterable[str]) -> None:
    """Refuse a second training on types that the first one does not have.

    Raises:
        SettingsError: Naming them.
    """
    if unknown := sorted({entity.type for sentence in gold for entity in sentence.entities} - {*met}):
        raise SettingsError(
            f"the second stage trains on gold sentences, and the first stage does not have their types "
            f"{', '.join(unknown)}: expected all of them there; with gold_copies = 1 gold is a part of it"
        )


def second_stage_issues(name: str, settings: Mapping[str, Any], own: Any) -> list[str]:
    """What is wrong with the settings of a second training.

    Args:
        name: Of the tagger.
        settings: Of its first training.
        own: Those that differ, as a recipe says it.
    """
    if not isinstance(own, Mapping):
        return [f"{own!r:.60} is no table of settings, expected e.g. {{ steps = 100, learning_rate = 5e-5 }}"]
    problems = foreign_settings(own, "differ in a second training")
    return problems or check("tagger", name, {**settings, **changed(settings, own)})


def foreign_settings(own: Iterable[str], wish: str) -> list[str]:
    """Complaints of settings that are not of the course of a training."""
    return [f'"{key}" cannot {wish}; {did_you_mean(key, OWN)}' for key in own if key not in OWN]


def changed(settings: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """All of a tagger's settings that others of its course change."""
    return {**{RIVALS[key]: None for key in own if RIVALS.get(key) in settings}, **own}
