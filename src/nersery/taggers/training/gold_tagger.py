"""The tagger trained on gold that several methods use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from nersery.core.errors import SettingsError
from nersery.core.registry import create
from nersery.core.sentence import Sentence, types_in
from nersery.core.training_context import Training
from nersery.core.warnings import warn
from nersery.taggers.base import Tagger, load_tagger

BY_FOLDER = (
    "Train a tagger on a model of its language, e.g. {} (`nersery train --set model=NAME`), and name its folder as "
    "tagger"
)


def check_gold_tagger(folder: str | None) -> None:
    """Raise `MissingResourceError` if a tagger is named that does not exist."""
    if folder is not None:
        load_tagger(folder)


def gold_tagger(
    name: str, folder: str | None, gold: Sequence[Sentence], training: Training, other_model: str = BY_FOLDER
) -> Tagger:
    """Return the tagger in a folder, or else that of the caller, or else train a new one of the default kind.

    Args:
        name: Name of the method that needs the tagger, for messages.
        folder: A folder, or the name of a Hugging Face model.
        other_model: See `Training`.

    Raises:
        SettingsError: If there is no tagger, and no gold to train one on.
    """
    if folder is not None:
        return load_tagger(folder)
    if training.tagger is not None:
        return training.tagger()
    if not gold:
        raise SettingsError(
            f"{name} has no tagger. Name one as tagger (a folder that `nersery train` wrote, or a Hugging "
            "Face token-classification model), or give labelled sentences as gold, to train one on"
        )
    tagger = create("tagger", "transformer")
    if other_model == BY_FOLDER and training.teacher is None:
        warn(
            f"{name} first trains a tagger on the labelled sentences, for {tagger.MIN_STEPS} steps or more. To save "
            "this time, name a trained one as tagger (a folder that `nersery train` wrote)"
        )
    return trained_on_gold(tagger, gold, replace(training, other_model=other_model))


def trained_on_gold(tagger: Tagger, gold: Sequence[Sentence], training: Training) -> Tagger:
    """Train a method's own tagger. Within a run, systems with the same tagger and gold share the trained one.

    Raises:
        DataError: If there is nothing to learn from.
    """
    if training.teacher is not None:
        return training.teacher(tagger, gold, training)
    tagger.fit(gold, training.within("tagger"))
    return tagger


def warn_of_unknown_labels(known: Collection[str], candidates: Iterable[Sentence], warned: set[str]) -> None:
    """Warn about labels that the tagger can never confirm, once per type.

    Args:
        known: The types of the tagger.
        warned: The types that were already checked; those of the candidates are added.
    """
    types = types_in(candidates) - warned
    warned |= types
    if unknown := sorted(types - {*known}):
        warn(
            f"the tagger does not know {', '.join(unknown)}, so it never confirms entities of them: it knows "
            f"{', '.join(sorted(known))}"
        )


def warn_of_no_entity(name: str, candidates: Iterable[Sentence]) -> None:
    """Warn if there are candidates and none has an entity, for example because raw text was given by mistake.

    Args:
        name: Name of the method that judges labels.
        candidates: Sentences, which are read up to the first with an entity.
    """
    labelled = (bool(sentence.entities) for sentence in candidates)
    if not next(labelled, True) and not any(labelled):
        warn(
            f"no candidate has an entity, but {name} judges labels: it prefers sentences in which the tagger finds no "
            "entity. If they are raw text, label them first with `nersery annotate`"
        )
