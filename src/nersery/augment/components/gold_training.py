"""Functions for methods that learn from gold: find sentences with entities, and plan a fine-tuning on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nersery.augment.components.shared_settings import FineTuned
from nersery.core.errors import DataError
from nersery.core.random import item_seed
from nersery.core.registry import BUNDLED, name_of
from nersery.core.sentence import Sentence, types_in
from nersery.core.training_context import Training
from nersery.core.warnings import warn

if TYPE_CHECKING:
    from nersery.models.training.trainer import TrainingPlan

LEARNING_RATE = 1e-5
"""The rate in the papers, for models with a hundred million weights."""
BUNDLED_LEARNING_RATE = 1e-4
"""For the bundled model, a tenth as large: on MultiCoNER's sample of 100, the dev loss is lower than with 3e-4."""


def no_sentences(method: object) -> DataError:
    """The error of a method that is given no sentence to learn from."""
    return DataError(
        f"there are no training sentences, so {name_of(method)} has nothing to learn from",
        fix="give it labelled sentences",
    )


def sentences_with_entities(method: object, sentences: Iterable[Sentence]) -> list[Sentence]:
    """The sentences that have entities. Raises `DataError` if there are none."""
    if labelled := [sentence for sentence in sentences if sentence.entities]:
        return labelled
    raise DataError(
        f"no training sentence has an entity, so {name_of(method)} has nothing to learn from",
        fix="name a file with entities; nersery inspect stats shows what is read from one",
    )


def warn_of_unused(texts: Mapping[str, str], setting: str, sentences: Iterable[Sentence]) -> None:
    """Warn of types in a setting that the sentences do not have."""
    types = sorted(types_in(sentences))
    if unused := sorted(texts.keys() - set(types)):
        warn(f"{setting} has {', '.join(unused)}, which no sentence has; the types are {', '.join(types)}")


def fine_tuning(
    settings: FineTuned, gold: Sequence[Sentence], training: Training, **fingerprint: Any
) -> tuple[list[Sentence], TrainingPlan, dict[str, Any]]:
    """Sorted gold, the plan of a fine-tuning on it, and the other arguments of a model's `fine_tune`.

    Args:
        fingerprint: What the training depends on, apart from gold, dev and settings, as JSON values.
    """
    from nersery.models.training.trainer import TrainingPlan
    from nersery.taggers.base import training_record

    default = BUNDLED_LEARNING_RATE if settings.model in BUNDLED else LEARNING_RATE
    learning_rate = default if settings.learning_rate is None else settings.learning_rate
    gold, dev = (sorted(sentences, key=lambda sentence: sentence.id) for sentences in (gold, training.dev))
    record = training_record(settings, gold, dev)
    languages = [(sentence.language, sentence.origin is None) for sentence in (*gold, *dev)]
    if len({language for language, _ in languages}) > 1:  # some methods then show the model the language
        record["languages"] = f"{item_seed(*languages):x}"
    return (
        gold,
        TrainingPlan(
            epochs=settings.epochs,
            patience=settings.patience,
            batch_size=settings.batch_size,
            learning_rate=learning_rate,
            precision=settings.precision,
        ),
        {
            "dev": dev,
            "seed": training.seed,
            "progress": training.progress,
            "folder": training.within("fine-tune").folder,
            "fingerprint": record | fingerprint,
        },
    )
