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
    """What a method that trains a model is given beside the gold sentences; the others leave it alone.

    Args:
        dev: Sentences to choose the best weights by; empty keeps the last ones.
        seed: Of all chance in the training.
        progress: Where it shows its steps.
        folder: Where it keeps what it needs to go on after a kill; None keeps nothing. Whoever names the
            folder removes it, and names it for no other sentences or settings.
        tagger: Gives a trained `nersery.taggers.base.Tagger`, where there is one: in a run that of what the system goes
            on from.
        new_tagger: Gives a tagger of the run's settings that is not trained yet, where there are such.
    """

    dev: Sequence[Sentence] = ()
    seed: int = 0
    progress: Progress | None = None
    folder: Path | None = None
    tagger: Callable[[], Any] | None = None
    new_tagger: Callable[[], Any] | None = None


NO_TRAINING = Training()


def in_job(training: Training, folder: Path | None, progress: Progress | None) -> Training:
    """A training whose state and progress belong to a job, if that has its own."""
    return replace(training, folder=folder or training.folder, progress=progress or training.progress)


def copies_for_upsampling(gold: int, others: int, share: float) -> int:
    """How often gold sentences must be repeated to be at least that share of the training data; once at least.

    Args:
        gold: How many there are, 1 or more.
        others: How many sentences they stand beside.
        share: In [0, 1).

    >>> copies_for_upsampling(100, 900, 0.25), copies_for_upsampling(100, 0, 0.25), copies_for_upsampling(100, 900, 0)
    (3, 1, 1)
    """
    return max(1, math.ceil(share / (1 - share) * others / gold - 1e-9))
