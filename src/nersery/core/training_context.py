"""What a method that trains a model is given by whoever runs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nersery.core.errors import SettingsError
from nersery.core.progress import Progress
from nersery.core.random import checked_seed
from nersery.core.registry import get
from nersery.core.sentence import Sentence

BY_SETTING = "Name a model of its language by the tagger's setting model, e.g. {}"


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
        held_out: Sentences of dev and test, which no generated sentence may repeat.
        other_model: How a user gets a tagger on another model, as notes say it; ``{}`` stands for examples of models.
    """

    dev: Sequence[Sentence] = ()
    seed: int = 0
    progress: Progress | None = None
    folder: Path | None = None
    tagger: Callable[[], Any] | None = None
    new_tagger: Callable[[], Any] | None = None
    teacher: Callable[[Any, Sequence[Sentence], Training], Any] | None = None
    held_out: Iterable[Sentence] = ()
    other_model: str = BY_SETTING

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", checked_seed(self.seed))

    def within(self, name: str) -> Training:
        """The same with a subfolder of that name in place of the folder, if there is one."""
        return replace(self, folder=self.folder / name if self.folder else None)


NO_TRAINING = Training()


def training_from(
    kind: str,
    method: object,
    options: Mapping[str, Any],
    dev: Sequence[Sentence],
    seed: int,
    training: Training,
    output: object,
) -> tuple[Training, dict[str, Any]]:
    """What a call of the library says about training, and its other options.

    Args:
        method: A name, a class or an object. If it has no setting ``tagger``, that option stays, to be refused.
        options: With a ``tagger`` that is an object, and so no setting; or without.
        training: Anything but `NO_TRAINING` takes the place of ``dev`` and ``seed``.

    Raises:
        SettingsError: For an output with a tagger that is in memory only.
    """
    if not isinstance(training, Training):
        raise SettingsError(f"training is {training!r:.60}, expected a Training. Leave it out to give dev and seed")
    training = Training(dev, seed) if training is NO_TRAINING else training
    cls = get(kind, method) if isinstance(method, str) else method
    if not hasattr(options.get("tagger"), "predict") or "tagger" not in getattr(cls, "__dataclass_fields__", ()):
        return training, dict(options)
    refuse_unsaved(output)
    others = {name: value for name, value in options.items() if name != "tagger"}
    return replace(training, tagger=lambda: options["tagger"]), others


def refuse_unsaved(output: object) -> None:
    """Raise `SettingsError` for an output of a tagger in memory: after a kill nothing could tell it from another."""
    if output is not None:
        raise SettingsError(
            "a job that writes a file may have to resume, but the tagger is only in memory. Save it with "
            "tagger.save(folder) and name the folder, or leave out output"
        )


def in_job(training: Training, folder: Path | None, progress: Progress | None) -> Training:
    """A training whose state and progress belong to a job, if that has its own."""
    return replace(training, folder=folder or training.folder, progress=progress or training.progress)


def copies_for_upsampling(gold: int, others: int, share: float) -> int:
    """How often to repeat gold sentences so that they are at least this share of the training data, in [0, 1).

    >>> copies_for_upsampling(100, 900, 0.25), copies_for_upsampling(100, 0, 0.25), copies_for_upsampling(100, 900, 0)
    (3, 1, 1)
    """
    return max(1, math.ceil(share / (1 - share) * others / gold - 1e-9))
