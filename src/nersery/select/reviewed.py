"""Keep sentences that a person has accepted, and wait until all are decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nersery import io
from nersery.core.errors import DataError, MissingResourceError, NerseryError, SettingsError
from nersery.core.outcome import NOT_REVIEWED, REJECTED_BY_HAND
from nersery.core.ranges import RateAboveZero
from nersery.core.registry import FileName
from nersery.core.sentence import Sentence
from nersery.core.training_context import NO_TRAINING, Training
from nersery.evaluate.acceptance import acceptance
from nersery.pipeline.job import rejects_of
from nersery.select.base import Selector


@dataclass
class Reviewed(Selector):
    """Keeps the sentences that a person accepts on the page of `nersery label review`, under the labels given there.

    A run stops until all candidates are decided, and prints the command that shows them. Then repeat the run.

    Args:
        threshold: An accepted sentence scores 1, any other 0.
        file: What `nersery label review` wrote. None: a file beside the output, named ``….checked.jsonl``.
        wait: Stop while sentences are undecided; if false, these are rejected.
    """

    threshold: RateAboveZero = 1.0
    file: FileName | None = None
    wait: bool = True
    history: Mapping[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    _output: Path | None = field(default=None, init=False, repr=False, compare=False)
    _accepted: dict[str, Sentence] = field(default_factory=dict, init=False, repr=False, compare=False)
    _rejected: dict[str, tuple[str, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def check(self) -> None:
        """Look for the file, if one is named; see `Selector.check`."""
        if self.file is not None and not Path(self.file).is_file():
            raise MissingResourceError(f"{self.file} does not exist: expected the output of `nersery label review`")

    def fit(
        self, gold: Sequence[Sentence], *, held_out: Iterable[Sentence] = (), training: Training = NO_TRAINING
    ) -> None:
        """Find the files; nothing is learnt from gold."""
        if self.file is None and training.folder is None:
            raise SettingsError(
                "reviewed does not know where to write the sentences to review: name an output, or set file"
            )
        self.check()
        if training.folder is not None:
            name = training.folder.name.removesuffix(".training").removesuffix(".jsonl")
            self._output = training.folder.with_name(f"{name}.to-review.jsonl")

    def fit_candidates(self, candidates: Iterable[Sentence]) -> None:
        """Read the decisions; a `DataError` while candidates are undecided, unless ``wait`` is false."""
        own = self._output.with_name(self._output.name.replace(".to-review.", ".checked.")) if self._output else None
        checked = Path(self.file) if self.file else own
        assert checked is not None
        if checked.is_file():
            self._accepted = {sentence.id: sentence for sentence in io.open_corpus(checked)}
        rejects = [one for one in io.read_rejects(rejects_of(checked)) if one.reason == REJECTED_BY_HAND]
        self._rejected = {one.sentence.id: one.sentence.words for one in rejects if one.sentence is not None}
        sentences = list(candidates)
        decided = [sentence for sentence in sentences if self._of(sentence) != NOT_REVIEWED]
        undecided = len(sentences) - len(decided)
        if undecided and self.wait:
            raise self._waiting(sentences, undecided, checked)
        pairs = [(one, None if self._of(one) else self._accepted[one.id]) for one in decided]
        self.history = {**acceptance(pairs).as_dict(), "undecided": undecided}

    def _waiting(self, sentences: Sequence[Sentence], count: int, checked: Path) -> DataError:
        shown = self._output if self._output and not self.file else "INPUT"
        if isinstance(shown, Path):
            io.write(sentences, shown)
        return DataError(
            f"{count} of {len(sentences)} sentences wait for a decision by a person",
            fix=f"decide, then repeat this command: nersery label review {shown} {checked}",
        )

    def _of(self, sentence: Sentence) -> str:
        """Why a sentence is not kept; empty if it is. A decision about other words is none."""
        found = self._accepted.get(sentence.id)
        if found is not None and found.words == sentence.words:
            return ""
        return REJECTED_BY_HAND if self._rejected.get(sentence.id) == sentence.words else NOT_REVIEWED

    def transform(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The accepted sentences under the labels that the person gave them."""
        return [sentence if self._of(sentence) else self._checked(sentence) for sentence in sentences]

    def _checked(self, sentence: Sentence) -> Sentence:
        found = self._accepted[sentence.id]
        if found.labels == sentence.labels:
            return sentence
        return replace(sentence.with_entities(found.entities), comments=found.comments)

    def score(self, sentences: Sequence[Sentence]) -> list[float]:
        """1.0 for accepted sentences, 0.0 for others; an error before `fit_candidates`."""
        if not self.history:
            raise NerseryError("reviewed was asked for scores before fit_candidates")
        return [float(not self._of(sentence)) for sentence in sentences]

    def reason(self, sentence: Sentence, score: float) -> str:
        """Whether a person rejected it, or nobody has decided; see `Selector.reason`."""
        return self._of(sentence)
