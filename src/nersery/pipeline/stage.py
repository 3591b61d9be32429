"""The base class of stages: what turns rows into sentences or other output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from nersery import io
from nersery.core.errors import printable
from nersery.core.outcome import BatchFunction, Reject
from nersery.core.progress import Progress
from nersery.core.registry import get, instance, name_of, names
from nersery.core.sentence import Sentence
from nersery.core.settings.file_settings import content_hashes
from nersery.core.settings.typed_settings import settings_of
from nersery.pipeline.job import BATCH_SIZE

Row = TypeVar("Row")
Item = TypeVar("Item")


_JSONL = io.writer("jsonl")


class Stage(ABC, Generic[Row, Item]):
    """Turns rows into sentences or other output, in one process or several.

    A subclass is a dataclass in a module that a worker can import, with fields that can be pickled. The stage of a
    plug-in has the fields ``method`` (a name or the method itself) and ``settings`` (for a named method).
    """

    kind: ClassVar[str] = ""
    """The kind of its plug-in."""
    batch_size: ClassVar[int] = BATCH_SIZE
    """Items per call of the function, unless the user or the method sets another number."""
    extension: ClassVar[str] = "jsonl"
    """Extension of the files that it writes."""
    blank: ClassVar[str] = ""
    """Text written in place of a reject, for output whose lines match those of other files."""
    method: Any
    settings: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Replace a registered class by its name, so that fingerprints and workers treat both alike."""
        method = getattr(self, "method", None)
        if isinstance(method, type) and self.kind:
            name = name_of(method)
            is_registered = name in names(self.kind) and get(self.kind, name) is method
            object.__setattr__(self, "method", name if is_registered else instance(self.kind, method, self.settings))
            object.__setattr__(self, "settings", self.settings if is_registered else {})

    def __getstate__(self) -> dict[str, Any]:
        """Its fields. A method is sent to workers without its learnt state, because each worker fits it itself."""
        method = vars(self).get("method")
        if not is_dataclass(method) or isinstance(method, type):
            return vars(self)
        return {**vars(self), "method": replace(method)}

    @property
    def label(self) -> str:
        """Its progress label: the plug-in's name, or else the stage's own name."""
        return name_of(self.create_method()) if self.kind else type(self).__name__.removesuffix("Stage").lower()

    def create_method(self) -> Any:
        """Create the plug-in. Raises `SettingsError` with all its wrong settings."""
        return instance(self.kind, self.method, self.settings)

    def load(self) -> Any:
        """Create and check the plug-in. Raises `MissingResourceError` if one of its models or files is missing."""
        method = self.create_method()
        if isinstance(self.method, str):  # a method object belongs to the caller, who may have checked it
            method.check()
        return method

    def files(self) -> Mapping[str, str]:
        """Hashes of the files that the plug-in reads."""
        method = self.create_method()
        return content_hashes(type(method), settings_of(method))

    @abstractmethod
    def fit(self, method: Any, folder: Path | None, progress: Progress | None) -> BatchFunction[Item]:
        """Fit the method, and return its function over batches.

        Args:
            method: The result of `load`.
            folder: The folder for the state of a training. If it holds a finished training, the method loads it instead
                of training. Files in it are replaced, never modified, because workers share them.
        """

    def uses_model(self, method: Any) -> bool:
        """Whether the method runs a neural network, so that results depend on threads and precision."""
        return any(hasattr(method, name) for name in ("device", "tagger"))

    def counts_rows(self, method: Any) -> bool:
        """Whether to read and count all rows before the first one is processed."""
        return True

    def items_at_once(self, method: Any, wanted: int | None) -> int:
        """The batch size: the user's, or else the method's attribute ``items_at_once``, or else the stage's."""
        default: int = getattr(method, "items_at_once", self.batch_size)
        return default if wanted is None else wanted

    @property
    def items_per_row(self) -> int:
        """The number of items that `items` makes from a row."""
        return 1

    def items(self, rows: Iterable[Row | Reject]) -> Iterable[Item | Reject]:
        """The items of the function, by default the rows."""
        return rows  # type: ignore[return-value]

    def sentence_of(self, row: Row | Item) -> Sentence | None:
        """The sentence to show in the reject of a failed row or item."""
        return row if isinstance(row, Sentence) else None

    def row_name(self, row: Row | Item) -> str:
        """The name of a row in messages."""
        return sentence_name(self.sentence_of(row))

    def encode(self, made: Any) -> str:
        """A result of the function as text, with line breaks. Raises `DataError` if the format cannot represent it."""
        return _JSONL.encode(made)


def sentence_name(sentence: Sentence | None) -> str:
    """The name of a sentence in messages."""
    return printable(sentence.id) if sentence is not None and sentence.id else "a row without an id"
