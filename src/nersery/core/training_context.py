"""The training context that the caller gives to a method that trains a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from nersery.core.errors import SettingsError, shown
from nersery.core.progress import Progress
from nersery.core.random import checked_seed
from nersery.core.registry import get
from nersery.core.sentence import Sentence

BY_SETTING = "Name a model of its language with the tagger's setting model, e.g. {}"


@dataclass(frozen=True, repr=False)
class Training:
    """The inputs of methods that train a model, besides gold sentences.

    Args:
        dev: Sentences for choosing the best weights; if empty, the last weights are kept.
        seed: Random seed of the training.
        progress: Shows the steps of the training.
        folder: Folder of the checkpoint, so that the training resumes after a kill; None saves no checkpoint. Each
            training needs its own folder. The caller removes it.
        tagger: Returns a trained `nersery.taggers.base.Tagger`; in a run, that of the system's base.
        new_tagger: Returns an untrained tagger with the run's settings.
        teacher: Trains a method's own tagger on sentences, or returns that of another system with the same tagger and
            sentences. If None, the method trains it in ``folder``.
        held_out: Sentences of dev and test, which no generated sentence may repeat.
        other_model: The advice of notes on using another model; ``{}`` is replaced by examples of models.
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

    def __repr__(self) -> str:
        """The inputs that are given: the signatures of functions show the default, `Training()`."""
        values = [(field.name, getattr(self, field.name), field.default) for field in fields(self)]
        given = [f"{name}={value!r}" for name, value, default in values if value != default]
        return f"Training({', '.join(given)})"

    def within(self, name: str) -> Training:
        """The same context with a subfolder of that name in place of the folder, if there is a folder."""
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
    """The training context of a library call, and the other options of the call.

    Args:
        method: A name, a class or an object. If it has no setting ``tagger``, that option is kept, to be refused later.
        options: The options of the call. A ``tagger`` that is an object moves to the training context.
        training: Overrides ``dev`` and ``seed``, unless it is `NO_TRAINING`.

    Raises:
        SettingsError: If an output is given with a tagger that is only in memory.
    """
    if not isinstance(training, Training):
        raise SettingsError(f"training is {shown(training)}, expected a Training. Leave it out to give dev and seed")
    training = Training(dev, seed) if training is NO_TRAINING else training
    cls = get(kind, method) if isinstance(method, str) else method
    if not hasattr(options.get("tagger"), "predict") or "tagger" not in getattr(cls, "__dataclass_fields__", ()):
        return training, dict(options)
    refuse_unsaved(output)
    others = {name: value for name, value in options.items() if name != "tagger"}
    return replace(training, tagger=lambda: options["tagger"]), others


def refuse_unsaved(output: object) -> None:
    """Raise `SettingsError` for an output of a tagger in memory, which a resumed job could not tell from another."""
    if output is not None:
        raise SettingsError(
            "a job that writes a file may have to resume, but the tagger is only in memory. Save it with "
            "tagger.save(folder) and name the folder, or leave out output"
        )


def in_job(training: Training, folder: Path | None, progress: Progress | None) -> Training:
    """The training context with the folder and progress of a job, if the job has them."""
    return replace(training, folder=folder or training.folder, progress=progress or training.progress)


def copies_for_upsampling(gold: int, others: int, share: float) -> int:
    """How often to repeat gold sentences so that they are at least a ``share``, in [0, 1), of the training data.

    >>> copies_for_upsampling(100, 900, 0.25), copies_for_upsampling(100, 0, 0.25), copies_for_upsampling(100, 900, 0)
    (3, 1, 1)
    """
    return max(1, math.ceil(share / (1 - share) * others / gold - 1e-9))
