"""nersery grows training data for named entity recognition, and shows whether it helped."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nersery.core.errors import DataError, DiskError, JobFailedError, MissingResourceError, NerseryError, SettingsError
from nersery.core.sentence import Corpus, Entity, Origin, Sentence
from nersery.core.version import __version__

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
    "sample": "nersery.experiments.data.sampling",
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
