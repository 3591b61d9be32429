"""The second stage of a tagger: training on gold alone, after machine-labelled or generated sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

from nersery.core.errors import SettingsError, did_you_mean, shown
from nersery.core.registry import check, name_of
from nersery.core.sentence import Sentence, types_in
from nersery.core.settings.typed_settings import build, settings_of
from nersery.core.training_context import Training
from nersery.taggers.base import Tagger

MAY_DIFFER = (
    "steps", "epochs", "evaluate_every", "patience", "batch_size", "learning_rate", "head_learning_rate", "warmup",
    "schedule", "optimizer", "weight_decay", "clip",
)  # fmt: skip
"""Settings that may differ in the second stage."""
EXCLUSIVE = {"steps": "epochs", "epochs": "steps"}
"""Settings that exclude each other: setting one clears the other."""


def fit_second_stage(
    tagger: Tagger, gold: Sequence[Sentence], settings: Mapping[str, Any], training: Training
) -> Tagger:
    """Train a tagger on gold alone, starting from its first training, and return it; it may share weights with the old.

    Machine-labelled sentences are many and partly wrong. They teach what mentions look like; gold then teaches which of
    them are labelled. The returned tagger has the settings of the first training. Its history is that of the first
    training, with the new one as ``second_stage``.

    Args:
        settings: The settings in `MAY_DIFFER` that differ from those of the tagger.

    Raises:
        SettingsError: If gold has types that the tagger does not have, or a setting is invalid.
    """
    require_known_types(gold, tagger.types)
    first_settings = settings_of(tagger)
    changes = changed(first_settings, settings)
    checked = build(type(tagger), name_of(tagger), {**first_settings, **changes})
    second_tagger = _with_settings(tagger, {key: getattr(checked, key) for key in changes})
    history = second_tagger.fit(gold, training, warm=True)
    result = _with_settings(second_tagger, {key: first_settings[key] for key in changes})
    result.history = {**tagger.history, "second_stage": history}
    return result


def _with_settings(tagger: Tagger, settings: Mapping[str, Any]) -> Tagger:
    """A copy of a tagger with other settings, and with everything that the tagger has learnt."""
    other = copy(tagger)
    for key, value in settings.items():
        setattr(other, key, value)
    return other


def require_known_types(gold: Iterable[Sentence], known: Iterable[str]) -> None:
    """Raise `SettingsError` if the gold of a second stage has types that the first training does not have."""
    if unknown := sorted(types_in(gold) - {*known}):
        raise SettingsError(
            f"the first training has no {', '.join(unknown)}, which the gold sentences of the second stage have. "
            "Set gold_copies = 1 to include gold in the first"
        )


def second_stage_issues(name: str, settings: Mapping[str, Any], changes: Any) -> list[str]:
    """The validation errors of the settings of a second stage.

    Args:
        name: Name of the tagger.
        settings: Settings of the first training.
        changes: Settings that differ, as given in the recipe.
    """
    if not isinstance(changes, Mapping):
        return [f"{shown(changes)} is not a table of settings, expected e.g. {{ steps = 100, learning_rate = 5e-5 }}"]
    issues = foreign_settings(changes, "differ in a second training")
    return issues or check("tagger", name, {**settings, **changed(settings, changes)})


def foreign_settings(changes: Iterable[str], purpose: str) -> list[str]:
    """The validation errors for settings that are not in `MAY_DIFFER`."""
    return [f'"{key}" cannot {purpose}; {did_you_mean(key, MAY_DIFFER)}' for key in changes if key not in MAY_DIFFER]


def changed(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that change, with the counterpart of ``steps`` or ``epochs`` cleared."""
    return {**{EXCLUSIVE[key]: None for key in changes if EXCLUSIVE.get(key) in settings}, **changes}
