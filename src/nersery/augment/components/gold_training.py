"""What methods that learn from gold do with it: look for entities, and plan a fine-tuning on it."""

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
"""Of the papers, for models of a hundred million weights."""
BUNDLED_LEARNING_RATE = 1e-4
"""What suits the bundled model, a tenth of that: on MultiCoNER's sample of 100, less loss on dev than 3e-4."""


def no_sentences(method: object) -> DataError:
    """The error of a method that is given no sentence to learn from."""
    return DataError(
        f"there are no training sentences, so {name_of(method)} has nothing to learn from",
        fix="give it labelled sentences",
    )


def sentences_with_entities(method: object, sentences: Iterable[Sentence]) -> list[Sentence]:
    """The sentences that have entities; a `DataError` if there is none."""
    if labelled := [sentence for sentence in sentences if sentence.entities]:
        return labelled
    raise DataError(
        f"no training sentence has an entity, so {name_of(method)} has nothing to learn from",
        fix="name a file with entities; nersery inspect stats shows what is read from one",
    )


def warn_of_unused(texts: Mapping[str, str], setting: str, sentences: Iterable[Sentence]) -> None:
    """Say which of the user's types the sentences do not have."""
    types = sorted(types_in(sentences))
    if unused := sorted(texts.keys() - set(types)):
        warn(f"{setting} has {', '.join(unused)}, which no sentence has; the types are {', '.join(types)}")


def fine_tuning(
    settings: FineTuned, gold: Sequence[Sentence], training: Training, **fingerprint: Any
) -> tuple[list[Sentence], TrainingPlan, dict[str, Any]]:
    """Gold in an order of its own, the plan of a fine-tuning on it, and what `fine_tune` of a model takes besides.

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
    if len({language for language, _ in languages}) > 1:  # then some methods show the model which
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
