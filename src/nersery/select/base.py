"""The base class of selectors, and the stage that runs one over a corpus."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from nersery.core.errors import Issue, MethodError, NerseryError, SettingsError, shown
from nersery.core.outcome import BatchFunction, Outcome, Reject, Result, Tally
from nersery.core.progress import Progress
from nersery.core.registry import Method, name_of, refuse_swapped, unfitted
from nersery.core.sentence import Sentence
from nersery.core.settings.typed_settings import ModelName, hidden
from nersery.core.training_context import NO_TRAINING, Training, in_job, training_from
from nersery.io.input_files.same_file import refuse_overwriting
from nersery.io.reading import Sentences, opened, opened_if_given, opened_together
from nersery.pipeline.error_policy import one_for_each, outcome_of
from nersery.pipeline.stage import Stage
from nersery.pipeline.stage_job import run_stage
from nersery.pipeline.stage_options import split_options
from nersery.taggers.base import Tagger
from nersery.taggers.training.gold_tagger import (
    check_gold_tagger,
    gold_tagger,
    warn_of_no_entity,
    warn_of_unknown_labels,
)


class Selector(Method, ABC):
    """Scores generated sentences. Sentences below its threshold are rejected.

    A subclass is a dataclass in a file with its name. Its fields are its settings, including ``threshold`` with a
    default. The job handles batches and rejects. The score of a sentence must not depend on its batch.
    """

    threshold: float | None
    """None only for a selector whose own `accepts` and `reason` decide then."""
    checks_candidates: ClassVar[bool] = False
    """Whether `fit_candidates` reads all candidates before any costly work, so that no separate pass checks them."""
    avoids_held_out: ClassVar[bool] = False
    """Whether it rejects sentences that occur in dev or test. If not, users cannot pass held-out sentences."""
    history: Mapping[str, Any] = MappingProxyType({})
    """A record of `fit_candidates` as JSON values, which a run writes beside its output. Empty for most selectors."""

    def check_tagger(self, tagger: Tagger) -> None:
        """Raise `SettingsError` if the run's untrained tagger does not suit the selector."""

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        """Learn from gold sentences; called once, before scoring.

        Args:
            training: For selectors that need or train a tagger, or need the sentences of dev and test.
        """

    def fit_candidates(self, candidates: Iterable[Sentence]) -> None:
        """Read all candidates in order, if scores depend on other candidates. Called once, after `fit`."""

    def transform(self, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """The sentences to score and write, in order. Most selectors return them unchanged."""
        return sentences

    @abstractmethod
    def score(self, sentences: Sequence[Sentence]) -> Sequence[float]:
        """One score for each sentence, in order; higher is better."""

    def accepts(self, sentence: Sentence, score: float) -> bool:
        """Whether to keep a sentence with this score: by default, if the score reaches the threshold."""
        return self.threshold is None or score >= self.threshold

    def reason(self, sentence: Sentence, score: float) -> str:
        """The reason for rejecting a sentence with this score: short, and the same for all such sentences."""
        return f"{name_of(self)} < {self.threshold:g}"


def not_a_candidate(selector: Selector, id: str) -> NerseryError:
    """The error for scoring a sentence that `fit_candidates` has not read."""
    return NerseryError(
        f"{name_of(selector)} cannot score sentence {id!r}, which is not among its candidates: "
        "call fit, then fit_candidates with all candidates, then score"
    )


def refuse_held_out(selector: Selector) -> None:
    """Raise `SettingsError` if held-out sentences that a user has named would have no effect."""
    if not selector.avoids_held_out:
        raise SettingsError(
            f"{name_of(selector)} does not check for held-out sentences. Leave them out here, and remove copies of "
            "them with a second selection, by duplicates"
        )


@dataclass
class TaggerJudge:
    """The common part of selectors that judge sentences by a tagger trained on gold.

    Args:
        tagger: Folder or Hugging Face name of a tagger. None: in a run, that of the system's base; elsewhere the
            default tagger, trained on gold first.
    """

    _: KW_ONLY
    tagger: ModelName | None = None
    _tagger: Tagger | None = hidden(default=None)
    _seed: int = hidden(default=0)
    _warned: set[str] = hidden(default_factory=set)

    def check(self) -> None:
        """Check that the tagger exists, if one is named; see `Selector.check`."""
        check_gold_tagger(self.tagger)

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        """Use the given tagger, or train one on gold."""
        self._tagger = gold_tagger(name_of(self), self.tagger, gold, training)
        self._seed = training.seed
        self._warned = set()

    def fit_candidates(self, candidates: Iterable[Sentence]) -> None:
        """Warn if the candidates have no labels to judge; see `Selector.fit_candidates`."""
        warn_of_no_entity(name_of(self), candidates)

    def judge(self, sentences: Iterable[Sentence]) -> Tagger:
        """The tagger. Warns once of each type in the sentences that it does not know. Raises an error before `fit`."""
        if self._tagger is None:
            raise unfitted(self, "score")
        warn_of_unknown_labels(self._tagger.types, sentences, self._warned)
        return self._tagger


def batch_selection(selector: Selector) -> BatchFunction[Sentence]:
    """The function that applies a fitted selector to a batch of sentences.

    Raises:
        NerseryError: In the function, if a sentence has no id or a score is missing.
    """
    name = name_of(selector)

    def run_batch(batch: Sequence[Sentence]) -> list[Outcome]:
        if not all(sentence.id for sentence in batch):
            raise NerseryError("a sentence without an id cannot be judged: take those of a Corpus, which gives ids")
        batch = selector.transform(batch)
        scores = one_for_each(name, batch, selector.score([*batch]), "scores")
        return [_judged(selector, name, *pair) for pair in zip(batch, scores, strict=True)]

    return run_batch


def _judged(selector: Selector, name: str, sentence: Sentence, score: float) -> Outcome:
    try:
        score = float(score)
    except (TypeError, ValueError, OverflowError):
        message = f"{name} answered with the score {shown(score)}, expected a number"
        raise MethodError(Issue(message, sentence=sentence.id)) from None
    if not math.isfinite(score):  # JSON cannot represent it
        return Reject(f"{name} is {'not a number' if math.isnan(score) else 'infinite'}", sentence)
    scored = sentence if sentence.scores.get(name) == score else sentence.with_scores(**{name: score})
    is_accepted = selector.accepts(scored, score)
    return outcome_of(name, sentence, scored if is_accepted else Reject(selector.reason(sentence, score), scored))


@dataclass(frozen=True)
class SelectStage(Stage[Sentence, Sentence]):
    """A stage that scores sentences and selects among them.

    Args:
        gold: Sentences to learn from.
        training: Other values that the selector may need. The job sets its folder and progress.
        candidates: All sentences to be scored, for selectors that read them first.
        report_history: A function that receives the selector's history after `fit`, if there is one.
    """

    kind: ClassVar[str] = "select"
    batch_size: ClassVar[int] = 256
    """As fast as 1,024, and progress shows more often; see `nersery.taggers.base.PredictStage`."""

    method: str | type[Selector] | Selector
    settings: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    gold: Iterable[Sentence] = ()
    training: Training = NO_TRAINING
    candidates: Iterable[Sentence] = ()
    report_history: Callable[[Mapping[str, Any]], None] | None = None

    def counts_rows(self, method: Selector) -> bool:
        return not method.checks_candidates

    def fit(self, method: Selector, folder: Path | None, progress: Progress | None) -> BatchFunction[Sentence]:
        method.fit(list(self.gold), in_job(self.training, folder, progress))
        method.fit_candidates(self.candidates)
        if self.report_history is not None and method.history:
            self.report_history(method.history)
        return batch_selection(method)


def select(
    corpus: Sentences,
    method: str | type[Selector] | Selector,
    gold: Sentences | None = (),
    *,
    output: str | Path | None = None,
    held_out: Sentences | Sequence[str | Path] | None = (),
    dev: Sentences | None = (),
    seed: int = 0,
    training: Training = NO_TRAINING,
    **options: Any,
) -> Result | Tally:
    """Fit a selector on gold sentences, and select among other sentences.

    Args:
        corpus: The sentences to select from, or a file of them. They are read twice, so not a one-way iterator.
        method: A name from `nersery list select`, a selector class, or an object with its settings.
        output: A file to write. The same call resumes after a kill. None returns the result in memory.
        held_out: Test sentences, or the names of their files, for ``duplicates``, which rejects copies of them and of
            ``dev``.
        dev: Sentences to choose the best weights by, for selectors that train a tagger.
        seed: The seed of that training.
        training: Everything that a training may need, in place of ``dev`` and ``seed``.
        options: Fields of `nersery.pipeline.stage_options.JobOptions`, such as ``shards``, ``workers`` and ``force``.
            All others are settings of a named method. If a setting has the name of such a field, pass a method object.
            ``tagger`` may also be a trained tagger in memory.

    Returns:
        The corpus, the rejects and their counts. With ``output``, only the counts.

    Raises:
        SettingsError: If the corpus is a one-way iterator, or the selector does not use ``held_out``.

    >>> import nersery
    >>> from nersery import Corpus, Sentence
    >>> gold = Corpus([Sentence(("Ada", "wrote"), id="a")])
    >>> new = Corpus([Sentence(("Ada", "wrote"), id="a~1"), Sentence(("Grace", "spoke"), id="a~2")])
    >>> result = nersery.select(new, "duplicates", gold)
    >>> print(result.tally)
    read 2, wrote 1, rejected 1 (duplicate of gold: 1)
    >>> result.corpus[0].scores
    {'duplicates': 1.0}
    """
    refuse_swapped("select", corpus, method)
    refuse_overwriting(output, corpus, gold, held_out, dev)
    training, options = training_from(
        "select", method, options, list(opened_if_given(dev, "dev")), seed, training, output
    )
    rows, (job, settings) = opened(corpus), split_options(options)
    avoided = list(opened_together(held_out, "held_out"))
    training = replace(training, held_out=[*avoided, *training.dev])
    stage = SelectStage(method, settings, gold=opened_if_given(gold, "gold"), training=training, candidates=rows)
    if avoided:
        refuse_held_out(stage.create_method())
    return run_stage(stage, rows, output, job)
