"""nersery grows training data for named entity recognition, and shows whether it helped."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nersery.core.errors import DataError, DiskError, JobFailedError, MissingResourceError, NerseryError, SettingsError
from nersery.core.sentence import Corpus, Entity, Origin, Sentence
from nersery.core.version import __version__

if TYPE_CHECKING:
    from nersery.annotate.base import annotate
    from nersery.augment.base import augment
    from nersery.core.warnings import without_notes
    from nersery.crosslingual.aligners.base import align
    from nersery.crosslingual.label_projection.project_stage import project
    from nersery.evaluate.scores import evaluate
    from nersery.experiments.active_learning.next_sentences import next_sentences
    from nersery.experiments.grow.session import grow
    from nersery.experiments.run import run
    from nersery.experiments.sampling import sample
    from nersery.io import read, write
    from nersery.io.input_files.shipped import example
    from nersery.select.base import select
    from nersery.taggers.base import load_tagger, predict, train

__all__ = [
    "Corpus", "DataError", "DiskError", "Entity", "JobFailedError", "MissingResourceError", "NerseryError", "Origin",
    "Sentence", "SettingsError", "__version__", "align", "annotate", "augment", "evaluate", "example", "grow",
    "load_tagger", "next_sentences", "predict", "project", "read", "run", "sample", "select", "train",
    "without_notes", "write",
]  # fmt: skip
_FUNCTIONS = {
    "align": "nersery.crosslingual.aligners.base",
    "example": "nersery.io.input_files.shipped",
    "grow": "nersery.experiments.grow.session",
    "load_tagger": "nersery.taggers.base",
    "next_sentences": "nersery.experiments.active_learning.next_sentences",
    "predict": "nersery.taggers.base",
    "project": "nersery.crosslingual.label_projection.project_stage",
    "read": "nersery.io",
    "run": "nersery.experiments.run",
    "sample": "nersery.experiments.sampling",
    "train": "nersery.taggers.base",
    "without_notes": "nersery.core.warnings",
    "write": "nersery.io",
}
"""Imported at the first use, so that `import nersery` stays fast."""
_CALLABLE_PACKAGES = ("annotate", "augment", "evaluate", "select")


def __getattr__(name: str) -> Any:
    if name in _CALLABLE_PACKAGES:
        return import_module(f"nersery.{name}")
    if name in _FUNCTIONS:
        return getattr(import_module(_FUNCTIONS[name]), name)
    raise AttributeError(f"module 'nersery' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
