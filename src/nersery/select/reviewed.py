"""Keep sentences that a person has accepted, and wait until all are decided."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from nersery import io
from nersery.core.errors import Issue, MissingResourceError, SettingsError, WaitingError
from nersery.core.outcome import NOT_REVIEWED, REJECTED_BY_HAND
from nersery.core.registry import unfitted
from nersery.core.sentence import Sentence
from nersery.core.settings.ranges import RateAboveZero
from nersery.core.settings.typed_settings import FileName, hidden
from nersery.core.system.files import review_folder, write_output
from nersery.core.training_context import NO_TRAINING, Training
from nersery.evaluate.acceptance import acceptance
from nersery.io.jsonl import rejects_of
from nersery.select.base import Selector

DecisionKey = tuple[str, tuple[str, ...]]
"""The id and the words that a person has decided about. The decision does not apply to the same id with other words."""


JSONL = ".jsonl"
CHECKED = f".checked{JSONL}"
"""The ending of the file that `nersery label review` writes for a run."""


@dataclass
class Reviewed(Selector):
    """Keeps the sentences that a person accepts on the page of `nersery label review`, with the labels given there.

    A run stops until all candidates are decided, and prints the command that shows them. Then repeat the run.

    Args:
        threshold: An accepted sentence scores 1, any other 0.
        file: What `nersery label review` wrote. None: a file beside the output, named ``….checked.jsonl``.
        wait: Stop while sentences are undecided; if false, these are rejected.
    """

    threshold: RateAboveZero = 1.0
    file: FileName | None = None
    wait: bool = True
    history: Mapping[str, Any] = hidden(default_factory=dict)
    _to_review: Path | None = hidden(default=None)
    _decisions: Path | None = hidden(default=None)
    _verdicts: dict[DecisionKey, Sentence | None] = hidden(default_factory=dict)

    def check(self) -> None:
        if self.file is not None and not Path(self.file).is_file():
            raise MissingResourceError(f"{self.file} does not exist: expected the output of `nersery label review`")
        if self.file is not None and JSONL not in Path(self.file).suffixes:
            raise SettingsError(f"file is {self.file}, expected {JSONL}: other formats lose the ids of the sentences")

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        """Determine the paths of the files. Nothing is learnt from gold."""
        self.check()
        if self.file is not None:
            self._decisions = Path(self.file)
        elif training.folder is not None:
            name = training.folder.name.removesuffix(".training").removesuffix(".jsonl")
            self._to_review = training.folder.with_name(f"{name}.to-review.jsonl")
            self._decisions = training.folder.with_name(f"{name}{CHECKED}")
        else:
            raise SettingsError(
                "reviewed does not know where to write the sentences to review: name an output, or set file"
            )

    def fit_candidates(self, candidates: Iterable[Sentence]) -> None:
        """Read the decisions. Raises `WaitingError` while candidates are undecided, unless ``wait`` is false."""
        assert self._decisions is not None
        rejects = [r for r in io.read_rejects(rejects_of(self._decisions)) if r.reason == REJECTED_BY_HAND]
        self._verdicts = {_key(r.sentence): None for r in rejects if r.sentence is not None}
        if self._decisions.is_file():
            self._verdicts |= {_key(sentence): sentence for sentence in io.open_corpus(self._decisions)}
        sentences = list(candidates)
        decided = [sentence for sentence in sentences if _key(sentence) in self._verdicts]
        undecided = len(sentences) - len(decided)
        if undecided and self.wait:
            raise self._waiting(sentences, undecided)
        pairs = [(sentence, self._verdicts[_key(sentence)]) for sentence in decided]
        self.history = {**asdict(acceptance(pairs)), "undecided": undecided}

    def _waiting(self, sentences: Sequence[Sentence], count: int) -> WaitingError:
        if self._to_review is not None:
            _write(sentences, self._to_review)
        files = shlex.join([str(self._to_review or "INPUT"), str(self._decisions)])
        message = f"{count} of {len(sentences)} sentences have no decision by a person yet"
        if self._decisions is not None and review_folder(self._decisions).exists():
            message += " (decisions of a review that is still open count when it ends)"
        file = str(self._to_review) if self._to_review else None
        return WaitingError(Issue(message, file), commands=[f"nersery label review {files}"])

    def transform(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The sentences; accepted ones have the labels that the person gave them."""
        return [self._with_decision(sentence) for sentence in sentences]

    def _with_decision(self, sentence: Sentence) -> Sentence:
        checked = self._verdicts.get(_key(sentence))
        if checked is None:
            return sentence
        return replace(sentence.with_entities(checked.entities), comments=checked.comments)

    def score(self, sentences: Sequence[Sentence]) -> list[float]:
        """1.0 for accepted sentences, 0.0 for others. Raises an error before `fit_candidates`."""
        if not self.history:
            raise unfitted(self, "score", "fit_candidates")
        return [float(self._verdicts.get(_key(sentence)) is not None) for sentence in sentences]

    def reason(self, sentence: Sentence, score: float) -> str:
        """The reason for the rejection: a person rejected it, or nobody has decided; see `Selector.reason`."""
        return REJECTED_BY_HAND if _key(sentence) in self._verdicts else NOT_REVIEWED


def _key(sentence: Sentence) -> DecisionKey:
    return sentence.id, sentence.words


def _write(sentences: Sequence[Sentence], path: Path) -> None:
    """Write the sentences to review. Raises `SettingsError` if the file exists with other content."""
    text = "".join(map(io.writer("jsonl").encode, sentences))
    if path.exists() and path.read_bytes() != text.encode():
        raise SettingsError(f"{path} exists and has other sentences. Move or delete it, or name another output")
    write_output(path, text)
