"""The tagger trained on gold that a method asks for its opinion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nersery.data import Sentence
from nersery.registry import create
from nersery.training import Training

if TYPE_CHECKING:
    from nersery.tagger.base import Tagger


def check_gold_tagger(folder: str | None) -> None:
    """Look for the tagger in a folder, where one is named.

    Raises:
        MissingResourceError: When there is none.
    """
    from nersery.tagger.base import load_tagger

    if folder is not None:
        load_tagger(folder)


def gold_tagger(folder: str | None, gold: Sequence[Sentence], training: Training) -> Tagger:
    """The tagger in a folder; or else the one that the caller has; or else a new one of the default kind.

    Args:
        folder: Or a Hugging Face name.
    """
    from nersery.tagger.base import load_tagger

    if folder is not None:
        return load_tagger(folder)
    if training.tagger is not None:
        return training.tagger()
    trained: Tagger = create("tagger", "transformer")
    state = training.folder / "tagger" if training.folder else None
    trained.fit(gold, training.dev, seed=training.seed, progress=training.progress, folder=state)
    return trained
