"""Adaptation of a masked language model to the user's raw text, before any other training."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from nersery import io
from nersery.core.errors import DataError, MissingResourceError
from nersery.core.registry import BUNDLED
from nersery.core.system.files import content_hash
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.masked.masked_inputs import MaskedInput

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import MaskedLM

MASK_RATE = 0.15
BATCH_SIZE = 32
LEARNING_RATE, BUNDLED_LEARNING_RATE = 5e-5, 1e-4
WARMUP = 0.06


def check_text(path: str) -> None:
    """Raise `MissingResourceError` if the file is not there; an empty path means no file."""
    if path and not os.path.isfile(path):
        raise MissingResourceError(f'there is no file "{path}" to adapt to. Expected raw text, one sentence per line')


def adapt(model: MaskedLM, path: str, *, epochs: int, training: Training = NO_TRAINING) -> None:
    """Train a model further on raw text. It learns to predict 15 % of the subwords, drawn again in every epoch.

    Args:
        path: Text, one sentence a line, or any corpus that nersery reads. Labels are ignored.
        training: Only its seed, progress and folder are used; see `nersery.models.training.trainer.train`.

    Raises:
        MissingResourceError: When the file is not there.
        DataError: When it cannot be read, or holds no sentence.
        SettingsError: When the folder holds the state of another training.

    Reference:
        Gururangan et al. (2020). Don't Stop Pretraining: Adapt Language Models to Domains and Tasks. ACL.

    Departures:
        Every chosen subword is masked. BERT's own training leaves some unchanged and replaces some with others.
    """
    from nersery.models.training.trainer import TrainingPlan

    check_text(path)
    texts = _read(path)
    rate = BUNDLED_LEARNING_RATE if model.source.name in BUNDLED else LEARNING_RATE
    plan = TrainingPlan(
        epochs=epochs,
        batch_size=BATCH_SIZE,
        learning_rate=rate,
        precision=model.precision,
        schedule="linear",
        warmup=WARMUP,
    )
    model.fine_tune(
        texts,
        lambda words, _: MaskedInput(words, tuple(range(len(words)))),
        plan,
        rate=MASK_RATE,
        seed=training.seed,
        progress=training.progress,
        folder=training.folder,
        fingerprint={"model": asdict(model.source), "files": model.source.files, "text": content_hash(path)},
    )


def _read(path: str) -> list[tuple[str, ...]]:
    fix = "name a file of raw text in UTF-8, one sentence per line, that ends in .txt"
    try:
        texts = [sentence.words for sentence in io.open_text(path)]
    except DataError as error:  # its own advice is about options of the command line, which do not apply here
        raise DataError(error.issues, fix=fix) from error
    if not texts:
        raise DataError(f"{path} contains no sentence to adapt to", fix=fix)
    return texts
