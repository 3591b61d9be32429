"""What a method that trains a model is given by whoever runs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nersery.core.progress import Progress
from nersery.core.sentence import Sentence


@dataclass(frozen=True)
class Training:
    """What methods that train a model get besides gold sentences.

    Args:
        dev: Sentences to choose the best weights by; empty keeps the last weights.
        seed: Of the training.
        progress: Shows its steps.
        folder: For its checkpoint, so that it resumes after a kill; None keeps none. It belongs to one training; the
            caller removes it.
        tagger: Returns a trained `nersery.taggers.base.Tagger`; in a run, that of the system's base.
        new_tagger: Returns an untrained tagger with the run's settings.
        teacher: Trains a method's own tagger on sentences, or returns that of another system with the same tagger and
            sentences. None: the method trains it in ``folder``.
    """

    dev: Sequence[Sentence] = ()
    seed: int = 0
    progress: Progress | None = None
    folder: Path | None = None
    tagger: Callable[[], Any] | None = None
    new_tagger: Callable[[], Any] | None = None
    teacher: Callable[[Any, Sequence[Sentence], Progress | None], Any] | None = None


NO_TRAINING = Training()


def in_job(training: Training, folder: Path | None, progress: Progress | None) -> Training:
    """A training whose state and progress belong to a job, if that has its own."""
    return replace(training, folder=folder or training.folder, progress=progress or training.progress)


def copies_for_upsampling(gold: int, others: int, share: float) -> int:
    """How often to repeat gold sentences so that they are at least this share of the training data, in [0, 1).

    >>> copies_for_upsampling(100, 900, 0.25), copies_for_upsampling(100, 0, 0.25), copies_for_upsampling(100, 900, 0)
    (3, 1, 1)
    """
    return max(1, math.ceil(share / (1 - share) * others / gold - 1e-9))
