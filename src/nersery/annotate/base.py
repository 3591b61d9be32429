"""The base class of annotators, and the stage that runs one over raw text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from nersery.core.errors import Issue, MethodError, SettingsError, did_you_mean
from nersery.core.outcome import BatchFunction, Outcome, Reject, Result, Tally
from nersery.core.progress import Progress
from nersery.core.registry import Method, name_of, refuse_swapped
from nersery.core.sentence import Entity, Origin, Sentence, types_in
from nersery.core.text.definitions import check_texts, check_types
from nersery.core.training_context import NO_TRAINING, Training, in_job, training_from
from nersery.core.warnings import warn
from nersery.io.input_files.same_file import refuse_overwriting
from nersery.io.reading import Sentences, opened, opened_if_given
from nersery.pipeline.error_policy import one_for_each, outcome_of
from nersery.pipeline.stage import Stage
from nersery.pipeline.stage_job import run_stage
from nersery.pipeline.stage_options import split_options
from nersery.taggers.tagger_folder.description import attached_share_for


class Annotator(Method, ABC):
    """Labels sentences that have no labels or unreliable ones.

    A subclass is a dataclass in a file of the same name. Its fields are its settings. The job handles ids, origin,
    batches and rejects. The labels of a sentence must not depend on its batch.
    """

    @property
    def learns(self) -> bool:
        """Whether the labels depend on gold sentences or the seed. Labels that do not are made once for all seeds."""
        return True

    @property
    def reads_first(self) -> bool:
        """Whether all sentences must be read before the first is labelled."""
        return type(self).fit_candidates is not Annotator.fit_candidates

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        """Learn from gold sentences (possibly none). Called once, before anything is labelled."""

    def check_types(self, types: Collection[str]) -> None:
        """Raise `SettingsError` for types that the labelled sentences lack; called after `check`, before other work."""

    def check_raw(self, raw: Sequence[Sentence]) -> None:
        """Raise `NerseryError` for raw sentences that cannot be labelled; called after `check`, before other work."""

    def fit_candidates(self, corpus: Iterable[Sentence]) -> None:
        """Read all sentences to be labelled, in order. Called once, after `fit`."""

    @abstractmethod
    def annotate(self, sentences: Sequence[Sentence]) -> Sequence[Sentence | Reject]:
        """Each sentence with the annotator's labels, or a reject, in order.

        Entities have scores in [0, 1]; existing labels are ignored.
        """


@dataclass
class TypeSettings(Method):
    """Settings of annotators that can find any type.

    Args:
        types: Types to find. None: those of gold, or else those in `definitions`.
        definitions: Definitions of types. Other types use those of `nersery list types`, or their name.
    """

    _: KW_ONLY
    types: list[str] | None = None
    definitions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse names that cannot be types, and empty definitions."""
        super().__post_init__()
        check_texts(self.definitions, "definitions")
        check_types(self.definitions, "definitions")
        check_types(self.types or (), "types")

    @property
    def learns(self) -> bool:
        """Whether the types come from gold; see `Annotator.learns`."""
        return not self.types

    def check_types(self, types: Collection[str]) -> None:
        """Refuse types that the labelled sentences lack; see `Annotator.check_types`."""
        if unknown := sorted({*(self.types or ())} - {*types}):
            names = ", ".join(unknown)
            raise SettingsError(
                f"types has {names}, which the labelled sentences do not have, so each mention of it would count as an "
                f"error of the tagger; {did_you_mean(unknown[0], sorted(types))}. Leave {names} out, or label it in "
                "sentences of train; `nersery annotate` finds any type"
            )

    def types_to_find(self, gold: Iterable[Sentence]) -> list[str]:
        """The types in the settings, or else the types of gold, or else the types with a definition.

        Raises:
            SettingsError: If there is no type.
        """
        of_gold = sorted(types_in(gold))
        if types := list(dict.fromkeys(self.types or of_gold or self.definitions)):
            if unused := [type_ for type_ in self.definitions if type_ not in types]:
                warn(f'definitions has "{unused[0]}", which is not one of the types; {did_you_mean(unused[0], types)}')
            return types
        raise SettingsError(
            f'{name_of(self)} does not know which types to find. Name them (types = ["PER", "LOC"]), define them '
            "(definitions), or give labelled sentences with them as gold"
        )


def best_non_overlapping(entities: Iterable[Entity]) -> list[Entity]:
    """The entities that overlap no better one. Better means a higher score, then an earlier start, then more words."""
    kept: list[Entity] = []
    for entity in sorted(entities, key=lambda entity: (-(entity.score or 0), entity.start, -entity.end)):
        if not any(map(entity.overlaps, kept)):
            kept.append(entity)
    return sorted(kept, key=lambda entity: entity.start)


def batch_annotation(annotator: Annotator) -> BatchFunction[Sentence]:
    """The function of a job: label a batch of sentences with a fitted annotator. The sentences keep their ids."""
    name = name_of(annotator)

    def run_batch(batch: Sequence[Sentence]) -> list[Outcome]:
        labelled = one_for_each(name, batch, annotator.annotate([*batch]))
        return [_labelled(name, *pair) for pair in zip(batch, labelled, strict=True)]

    return run_batch


def _labelled(name: str, sentence: Sentence, outcome: Outcome) -> Outcome:
    outcome = outcome_of(name, sentence, outcome)
    if isinstance(outcome, Reject):
        return outcome if outcome.sentence is not None else replace(outcome, sentence=sentence)
    if outcome.words != sentence.words:
        raise MethodError(Issue(f"{name} changed the words: an annotator only labels them", sentence=sentence.id))
    origin = outcome.origin if outcome.origin != sentence.origin else None  # the raw text's is not that of its labels
    parents = origin.parents if origin else ()
    return replace(
        sentence,
        entities=outcome.entities,
        soft_labels=outcome.soft_labels,
        scores=outcome.scores,
        comments=(*sentence.comments, *(new for new in outcome.comments if new not in sentence.comments)),
        origin=Origin(name, parents),
    )


@dataclass(frozen=True)
class AnnotateStage(Stage[Sentence, Sentence]):
    """A stage that labels raw text.

    Args:
        gold: Sentences to learn from, if any; each worker reads them.
        training: Other inputs of the method's training. The job sets the folder and the progress.
        raw: All sentences to label, for methods that read them first.
    """

    kind: ClassVar[str] = "annotate"
    batch_size: ClassVar[int] = 256
    """Smaller than in other jobs: each sentence takes several questions, and a killed job loses a batch."""

    method: str | type[Annotator] | Annotator
    settings: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    gold: Iterable[Sentence] = ()
    training: Training = NO_TRAINING
    raw: Iterable[Sentence] = ()

    def fit(self, method: Annotator, folder: Path | None, progress: Progress | None) -> BatchFunction[Sentence]:
        method.fit(list(self.gold), in_job(self.training, folder, progress))
        method.fit_candidates(self.raw)
        return batch_annotation(method)


def annotate(
    corpus: Sentences,
    method: str | type[Annotator] | Annotator,
    gold: Sentences | None = (),
    *,
    output: str | Path | None = None,
    dev: Sentences | None = (),
    seed: int = 0,
    training: Training = NO_TRAINING,
    **options: Any,
) -> Result | Tally:
    """Fit an annotator and label sentences.

    Args:
        corpus: The sentences to label, or a file of them; read twice, so not a one-way iterator.
        method: A name from `nersery list annotate`, an annotator class, or an object with its settings.
        gold: Sentences that the annotator learns from. Some annotators need no gold.
        output: A file to write, or with ``shards`` a folder; the same call resumes after a kill. None returns the
            result in memory.
        dev: For annotators that train a model: sentences to choose the best weights by.
        seed: Seed of that training.
        training: All inputs of a training, in place of ``dev`` and ``seed``.
        options: Fields of `nersery.pipeline.stage_options.JobOptions`, such as ``shards``, ``workers`` and ``force``.
            All others are settings of a named method. For a setting with the name of such a field, pass a method
            object. ``tagger`` may also be a trained tagger in memory.

    Returns:
        The corpus, the rejects and their counts. With ``output``, only the counts.
    """
    refuse_swapped("annotate", corpus, method)
    refuse_overwriting(output, corpus, gold, dev)
    tagger = options.get("tagger", getattr(method, "tagger", None))
    training, options = training_from(
        "annotate", method, options, list(opened_if_given(dev, "dev")), seed, training, output
    )
    job, settings = split_options(options)
    stage = AnnotateStage(method, settings, gold=opened_if_given(gold, "gold"), training=training)
    rows = opened(corpus, raw=True, attached_share=attached_share_for(stage.gold, tagger))
    return run_stage(replace(stage, raw=rows) if stage.create_method().reads_first else stage, rows, output, job)
