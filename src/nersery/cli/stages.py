"""The stages that commands run, in one process or over shards: what a worker needs to make the step of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from nersery.annotate.base import Annotator
from nersery.annotate.base import step as annotate_step
from nersery.augment.base import Augmenter, Task, tasks
from nersery.augment.base import step as augment_step
from nersery.core import registry
from nersery.core.outcome import Reject, Step
from nersery.core.progress import Progress
from nersery.core.sentence import Sentence
from nersery.core.training_context import Training
from nersery.crosslingual.aligners.base import Aligner, Alignment, Pairs
from nersery.crosslingual.aligners.base import step as align_step
from nersery.crosslingual.bitext import Row
from nersery.crosslingual.projection import Projection, Voting
from nersery.crosslingual.projection import Task as ProjectTask
from nersery.crosslingual.projection import step as project_step
from nersery.io.pharaoh import format_alignment
from nersery.pipeline.stage import Stage
from nersery.taggers.base import load_tagger


@dataclass(frozen=True)
class Augment(Stage[Sentence, Task]):
    """New labelled sentences.

    Args:
        method: A name of `nersery list augment`.
        examples: What it learns from; read by every worker, so not a one-way iterator, as a rule an `io.Source`.
        dev: Sentences to choose the best weights by.
        copies: How many new sentences to try for each row.
    """

    method: str
    settings: Mapping[str, Any]
    examples: Iterable[Sentence]
    dev: Iterable[Sentence] = ()
    copies: int = 1
    seed: int = 0

    def load(self) -> Augmenter:
        """See `Stage`."""
        method: Augmenter = registry.create("augment", self.method, self.settings)
        method.check()
        return method

    def fit(self, method: Augmenter, folder: Path | None, progress: Progress | None) -> Step[Task]:
        """See `Stage`."""
        method.fit(self.examples, Training(list(self.dev), self.seed, progress, folder))
        return augment_step(method, self.seed)

    def items(self, rows: Iterable[Sentence | Reject]) -> Iterator[Task | Reject]:
        """Each row as often as there are copies to make."""
        return tasks(rows, self.copies)

    def sentence_of(self, row: Sentence | Task) -> Sentence:
        """The sentence that a new one was to be made of."""
        return row if isinstance(row, Sentence) else row[0]


@dataclass(frozen=True)
class Annotate(Stage[Sentence, Sentence]):
    """Labels for raw text.

    Args:
        method: A name of `nersery list annotate`.
        gold: What it learns from, if anything; read by every worker.
        dev: Sentences to choose the best weights by.
        raw: All that is going to be labelled, for methods that read it first.
    """

    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    gold: Iterable[Sentence] = ()
    dev: Iterable[Sentence] = ()
    seed: int = 0
    raw: Iterable[Sentence] = ()

    def load(self) -> Annotator:
        """See `Stage`."""
        method: Annotator = registry.create("annotate", self.method, self.settings)
        method.check()
        return method

    def fit(self, method: Annotator, folder: Path | None, progress: Progress | None) -> Step[Sentence]:
        """See `Stage`."""
        method.fit(list(self.gold), Training(list(self.dev), self.seed, progress, folder))
        method.survey(self.raw)
        return annotate_step(method)


@dataclass(frozen=True)
class Predict(Stage[Sentence, Sentence]):
    """Labels by a tagger.

    Args:
        tagger: A trained folder, or a Hugging Face token-classification model.
    """

    tagger: str

    def load(self) -> str:
        """A tagger takes seconds to open, so `fit` does; see `Stage`."""
        return self.tagger

    def fit(self, method: str, folder: Path | None, progress: Progress | None) -> Step[Sentence]:
        """There is nothing to learn; see `Stage`."""
        return load_tagger(method).predict


@dataclass(frozen=True)
class Align(Stage[Row, Row]):
    """Links between the words of sentences and of their translations, a pair a line.

    Args:
        method: A name of `nersery list align`.
        pairs: What it learns from, if it learns; read by every worker, unless it finds what the first one has learnt.
        first: The number of the first word, 0 or 1.
        probabilities: Whether to write the probabilities of the links.
    """

    extension: ClassVar[str] = "align"
    blank: ClassVar[str] = "\n"

    method: str
    settings: Mapping[str, Any]
    pairs: Pairs
    seed: int = 0
    first: int = 0
    probabilities: bool = True

    def load(self) -> Aligner:
        """See `Stage`."""
        method: Aligner = registry.create("align", self.method, self.settings)
        method.check()
        return method

    def fit(self, method: Aligner, folder: Path | None, progress: Progress | None) -> Step[Row]:
        """See `Stage`."""
        method.fit(self.pairs, Training((), self.seed, progress, folder))
        return align_step(method)  # type: ignore[return-value]  # the loop asks only that it can be encoded

    def sentence_of(self, row: Row) -> Sentence | None:
        """The target of a pair that failed."""
        return row.target if isinstance(row.target, Sentence) else row.target.sentence

    def encode(self, made: Alignment) -> str:
        """One line of the alignment file."""
        return format_alignment(made, first=self.first, probabilities=self.probabilities) + "\n"


@dataclass(frozen=True)
class Project(Stage[ProjectTask, ProjectTask]):
    """Labels of sentences on their translations.

    Args:
        voting: What several sources do.
    """

    projection: Projection
    voting: Voting = "majority"

    def load(self) -> Projection:
        """See `Stage`."""
        return self.projection

    def fit(self, method: Projection, folder: Path | None, progress: Progress | None) -> Step[ProjectTask]:
        """There is nothing to learn; see `Stage`."""
        return project_step(method, self.voting)

    def sentence_of(self, row: ProjectTask) -> Sentence:
        """The sentence that was to be labelled."""
        return row.target
