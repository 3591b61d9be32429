"""The base class of augmenters, and the stage that runs one over a corpus."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from nersery.core.errors import DataError, Issue, MethodError, NerseryError, SettingsError, shown
from nersery.core.outcome import BatchFunction, Outcome, Reject, Result, Tally
from nersery.core.progress import Progress
from nersery.core.random import is_whole, item_rng, item_seed
from nersery.core.registry import Method, name_of, refuse_swapped
from nersery.core.sentence import Origin, Sentence
from nersery.core.text.text_forms import unspaced
from nersery.core.training_context import NO_TRAINING, Training, in_job, training_from
from nersery.core.warnings import warn
from nersery.io.input_files.same_file import refuse_overwriting
from nersery.io.reading import Sentences, opened, opened_if_given
from nersery.io.word_splitting.scripts_without_spaces import in_characters, is_character
from nersery.pipeline.error_policy import failure, one_for_each, outcome_of
from nersery.pipeline.stage import Stage
from nersery.pipeline.stage_job import run_stage
from nersery.pipeline.stage_options import split_options

if TYPE_CHECKING:
    from nersery.models.masked.masked_lm import Guess
    from nersery.taggers.base import Tagger

UNCHANGED = "unchanged"
NO_ENTITIES = "no entities"
NO_WORD = "no word to replace"
CHECKED_SENTENCES = 100
"""How many sentences decide whether the words of a text are single characters."""
ONE_BY_ONE_BATCH = 128
"""The batch size of methods that make sentences one by one, and may be slow. Smaller batches slow down fast methods."""
Task = tuple[Sentence, int]
"""A sentence and the number of the copy to make of it, from 1."""


class Augmenter(Method):
    """Makes new labelled sentences from labelled ones.

    A subclass is a dataclass in a file of its name; its fields are its settings. It changes *one* sentence, or a batch.
    The job handles ids, origin, copies, seeds, batches and rejects.

    Attributes:
        needs_whole_words: Whether it breaks words up in texts whose "words" are single characters.
    """

    needs_whole_words: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Refuse a method that defines neither `generate` nor `generate_batch`."""
        if cls.generate is Augmenter.generate and cls.generate_batch is Augmenter.generate_batch:
            raise TypeError(f"{cls.__name__} has neither generate nor generate_batch: write one of them")

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Learn from the gold sentences; called once, before anything is generated."""

    def check_tagger(self, tagger: Tagger) -> None:
        """Raise `SettingsError` if the run's untrained tagger does not suit the method."""

    def generate(self, sentence: Sentence, rng: random.Random) -> Sentence | Reject:
        """One new sentence, or a reject.

        The job sets id and origin. A draft from several sentences names them all in its own origin.

        Args:
            rng: Generator of this item, the only source of randomness.
        """
        return self.generate_batch([sentence], [rng])[0]

    def generate_batch(
        self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]
    ) -> Sequence[Sentence | Reject]:
        """One outcome for each sentence, in order; methods that run a model define this instead of `generate`."""
        return [_generated(self, sentence, rng) for sentence, rng in zip(sentences, rngs, strict=True)]


@runtime_checkable
class Suggester(Protocol):
    """An augmenter that also predicts probable words for a position, as methods with masked language models do."""

    def suggest(
        self, sentences: Sequence[Sentence], positions: Sequence[Sequence[int]], top_k: int
    ) -> list[list[list[Guess]]]:
        """The most probable words for each position of each sentence, best first.

        Args:
            positions: Positions to predict in each sentence, in order; all are masked at once.
            top_k: Maximum number of words per position.
        """


def _generated(method: Augmenter, sentence: Sentence, rng: random.Random) -> Sentence | Reject:
    """Generate one sentence. Errors are caught here, so that earlier sentences of the batch are not generated again."""
    try:
        return method.generate(sentence, rng)
    except DataError as error:
        return failure(
            MethodError(Issue(f"method {name_of(method)} made an invalid sentence: {error}", sentence=sentence.id)),
            sentence,
        )
    except Exception as error:
        return failure(error, sentence)


def tasks(sentences: Iterable[Sentence | Reject], copies: int) -> Iterator[Task | Reject]:
    """Each sentence ``copies`` times, with the number of the copy; rejects of the reader once."""
    for sentence in sentences:
        if isinstance(sentence, Reject):
            yield sentence
        else:
            for copy in range(1, copies + 1):  # no list, because the user may request any number of copies
                yield sentence, copy


def batch_augmentation(method: Augmenter, seed: int) -> BatchFunction[Task]:
    """The function of a fitted method over a batch of tasks.

    Raises:
        NerseryError: In the function, if a sentence has no id, or an outcome is missing or invalid.
    """
    name = name_of(method)

    def one_by_one(batch: Sequence[Task]) -> Iterator[Outcome]:
        rng = random.Random()  # seeded again for each item, because a new one takes twice as long
        for task in batch:
            sentence, copy = task
            rng.seed(item_seed(seed, name, sentence.id, copy))
            yield _finished(task, _generated(method, sentence, rng), name)

    def run_batch(batch: Sequence[Task]) -> list[Outcome]:
        if not all(sentence.id for sentence, _ in batch):
            raise NerseryError("a sentence without an id cannot be a parent: take those of a Corpus, which gives ids")
        if type(method).generate_batch is Augmenter.generate_batch:
            return [*one_by_one(batch)]
        rngs = [item_rng(seed, name, sentence.id, copy) for sentence, copy in batch]
        try:
            drafts = one_for_each(name, batch, method.generate_batch([sentence for sentence, _ in batch], rngs))
        except DataError as error:
            raise NerseryError(f"method {name} made an invalid sentence out of a batch: {error}") from error
        return [_finished(task, draft, name) for task, draft in zip(batch, drafts, strict=True)]

    return run_batch


def child_id(parent: str, method: str, copy: int) -> str:
    """The id of a sentence that a method makes from another one."""
    return f"{parent}~{method}-{copy}"


def made_from(id: str) -> tuple[str, str]:
    """The parent and the method in an id of `child_id`; empty strings for other ids.

    >>> made_from(child_id("train:7", "melm", 2)), made_from("train:7")
    (('train:7', 'melm'), ('', ''))
    """
    match = re.fullmatch(r"(.+)~([^~]+)-\d+", id, re.DOTALL)
    return (match[1], match[2]) if match else ("", "")


def ancestors(sentence: Sentence) -> Iterator[str]:
    """The ids of the parents of a sentence, of their parents, and so on, from its origin and from the ids."""
    for id_ in (made_from(sentence.id)[0], *(sentence.origin.parents if sentence.origin else ())):
        while id_:
            yield id_
            id_, _ = made_from(id_)


def _finished(task: Task, draft: Sentence | Reject, name: str) -> Outcome:
    """The draft with id and origin, without scores; a draft equal to its parent is a reject."""
    parent, copy = task
    draft = outcome_of(name, parent, draft)
    if isinstance(draft, Sentence) and _is_unchanged(draft, parent):
        draft = Reject(UNCHANGED, draft)
    content = draft if isinstance(draft, Sentence) else draft.sentence or parent
    finished = content.generated(child_id(parent.id, name, copy), Origin(name, _parents(content, parent), copy), parent)
    return finished if isinstance(draft, Sentence) else replace(draft, sentence=finished)


def _parents(draft: Sentence, parent: Sentence) -> tuple[str, ...]:
    """The ids of the sentences that a draft comes from. An origin that it shares with its parent is the parent's."""
    if draft.origin is None or draft.origin is parent.origin:
        return (parent.id,)
    return tuple(dict.fromkeys((parent.id, *draft.origin.parents)))


def _is_unchanged(a: Sentence, b: Sentence) -> bool:
    """Whether two sentences have the same text and labels, however the text is split and encoded."""
    if a.words == b.words:
        return a.entities is b.entities or a.labels == b.labels
    return unspaced(a.words) == unspaced(b.words) and _labelled_texts(a) == _labelled_texts(b)


def _labelled_texts(sentence: Sentence) -> list[tuple[str, str, str]]:
    """The text before each entity, its own, and its type."""
    words = sentence.words
    return [(unspaced(words[:start]), unspaced(words[start:end]), type_) for start, end, type_ in sentence.labels]


def _warn_of_characters(name: str, gold: Iterable[Sentence]) -> None:
    words = [word for sentence in islice(gold, CHECKED_SENTENCES) for word in sentence.words]
    if in_characters(words) and sum(map(is_character, words)) > len(words) / 2:
        warn(
            f"{name} moves or replaces single words, but each word of this text is one character or syllable. Split it "
            "into whole words, or use a method that keeps them, e.g. mention_replacement"
        )


@dataclass(frozen=True)
class AugmentStage(Stage[Sentence, Task]):
    """A stage that generates new labelled sentences.

    Args:
        gold: Sentences to learn from; each worker reads them.
        training: What else the method needs for learning; the job sets folder and progress.
        copies: New sentences to try per row.
    """

    kind: ClassVar[str] = "augment"

    method: str | type[Augmenter] | Augmenter
    settings: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    gold: Iterable[Sentence] = ()
    training: Training = NO_TRAINING
    copies: int = 1

    def __post_init__(self) -> None:
        """Refuse an invalid number of copies before the method learns."""
        super().__post_init__()
        if not is_whole(self.copies):
            raise SettingsError(f"copies is {shown(self.copies)}, expected a whole number")
        if self.copies < 1:
            raise SettingsError(f"copies is {self.copies}, expected 1 or more")
        object.__setattr__(self, "copies", int(self.copies))  # the job's journal cannot store numbers of NumPy

    def fit(self, method: Augmenter, folder: Path | None, progress: Progress | None) -> BatchFunction[Task]:
        if method.needs_whole_words:
            _warn_of_characters(name_of(method), self.gold)
        method.fit(self.gold, in_job(self.training, folder, progress))
        return batch_augmentation(method, self.training.seed)

    def items_at_once(self, method: Augmenter, wanted: int | None) -> int:
        """Few for a method that makes sentences one by one, because a killed job loses a batch."""
        one_by_one = type(method).generate_batch is Augmenter.generate_batch
        return super().items_at_once(method, wanted or (ONE_BY_ONE_BATCH if one_by_one else None))

    @property
    def items_per_row(self) -> int:
        return self.copies

    def items(self, rows: Iterable[Sentence | Reject]) -> Iterator[Task | Reject]:
        return tasks(rows, self.copies)

    def sentence_of(self, row: Sentence | Task) -> Sentence:
        return row if isinstance(row, Sentence) else row[0]


def augment(
    corpus: Sentences,
    method: str | type[Augmenter] | Augmenter,
    gold: Sentences | None = None,
    *,
    output: str | Path | None = None,
    copies: int = 1,
    seed: int = 0,
    dev: Sentences | None = (),
    **options: Any,
) -> Result | Tally:
    """Fit a method and make new sentences out of a corpus.

    Args:
        corpus: Labelled sentences, or a file of them; read twice, so not a one-way iterator.
        method: A name from `nersery list augment`, an augmenter class, or an object with its settings.
        gold: Labelled sentences that the method learns from; None takes the corpus.
        output: A file to write, or with ``shards`` a folder; the same call resumes after a kill. None returns the
            result in memory.
        copies: How many new sentences to try for each sentence.
        dev: For methods that train a model: sentences to choose the best weights by.
        options: Fields of `nersery.pipeline.stage_options.JobOptions`, such as ``shards``, ``workers`` and ``force``;
            all others are settings of a named method. Give a method object for settings of such a name. ``tagger`` may
            also be a trained tagger in memory.

    Returns:
        The corpus, the rejects and their counts; with ``output`` the counts alone.

    Raises:
        SettingsError: If the corpus is a one-way iterator.

    >>> import nersery
    >>> from nersery import Corpus, Entity, Sentence
    >>> corpus = Corpus([
    ...     Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),), id="a"),
    ...     Sentence(("Grace", "Hopper", "spoke"), (Entity(0, 2, "PER"),), id="b"),
    ... ])
    >>> result = nersery.augment(corpus, "mention_replacement", rate=1.0, seed=1)
    >>> [sentence.text for sentence in result.corpus]
    ['Grace Hopper wrote', 'Ada spoke']
    """
    refuse_swapped("augment", corpus, method)
    refuse_overwriting(output, corpus, gold, dev)
    training, options = training_from(
        "augment", method, options, list(opened_if_given(dev, "dev")), seed, NO_TRAINING, output
    )
    rows, (job, settings) = opened(corpus), split_options(options)
    stage = AugmentStage(
        method, settings, gold=rows if gold is None else opened(gold, "gold"), training=training, copies=copies
    )
    return run_stage(stage, rows, output, job)
