"""EDA for NER: replace words with synonyms, insert synonyms, shuffle words, and optionally swap and delete words."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from nersery.augment.base import Augmenter
from nersery.augment.words.segments import segments, shuffled
from nersery.augment.words.thesaurus import WORDNET, SynonymSettings, Thesaurus, check_wordnet
from nersery.core.errors import MissingResourceError, SettingsError
from nersery.core.outcome import Reject
from nersery.core.registry import unfitted
from nersery.core.sentence import Edit, Sentence
from nersery.core.settings.ranges import Rate
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import warn

Operation = Literal["synonyms", "insertion", "shuffle", "swap", "deletion"]
WITH_SYNONYMS = ("synonyms", "insertion")
MAX_DRAWS = 100


@dataclass
class EDA(SynonymSettings, Augmenter):
    """Changes a sentence by one of several simple operations, drawn at random.

    `synonyms` replaces words, `insertion` adds synonyms of words outside entities, `shuffle` shuffles words within or
    between mentions, `swap` and `deletion` swap and delete words outside entities. Without WordNet or a table,
    operations that need synonyms are skipped.

    Args:
        operations: Operations to draw from, all equally likely.
        rate: Share in [0, 1] of words (for `shuffle`, segments) to change; at least one.

    Reference:
        Wei and Zou (2019). EDA: Easy Data Augmentation Techniques for Boosting Performance on Text Classification
        Tasks. EMNLP-IJCNLP, section 2. For word labels: Dai and Adel (2020), COLING; Ding et al. (2020), DAGA, EMNLP,
        cited by Liu et al. (2022), PromptDA.

    Departures:
        - Like Liu et al., we replace, insert and shuffle. Swap and deletion remove evidence for labels: they are off by
          default and never touch mentions.
        - The papers do not say how labels stay right. We shuffle within segments, as Dai and Adel do, and insert no
          synonyms in or of mentions.
        - EDA makes a fixed number of sentences per operation; we draw one operation per copy.
        - EDA lower-cases and removes punctuation; we do not. Stop words are those of `synonym_replacement`.
    """

    needs_whole_words: ClassVar[bool] = True

    operations: list[Operation] = field(default_factory=lambda: ["synonyms", "insertion", "shuffle"])
    rate: Rate = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.operations or len(set(self.operations)) < len(self.operations):
            raise SettingsError(f"operations is {self.operations}, expected one or more, each named once")
        if self._needs_synonyms and not self.table and not self._can_skip_synonyms:
            check_wordnet(self.wordnet)

    @property
    def _needs_synonyms(self) -> bool:
        return any(operation in WITH_SYNONYMS for operation in self.operations)

    @property
    def _can_skip_synonyms(self) -> bool:
        """Whether no folder of WordNet was named, and an operation remains that needs no synonyms."""
        return self.wordnet == WORDNET and not set(self.operations) <= set(WITH_SYNONYMS)

    def check(self) -> None:
        super().check()
        if self._needs_synonyms and not self.table and self._can_skip_synonyms:
            try:
                check_wordnet(self.wordnet)
            except MissingResourceError as error:
                self._warn_without_synonyms(error)

    def _warn_without_synonyms(self, error: MissingResourceError) -> None:
        left = ", ".join(operation for operation in self.operations if operation not in WITH_SYNONYMS)
        warn(f"eda has no synonyms, so it only uses these operations: {left}. {error}")

    def fit(self, gold: Iterable[Sentence], training: Training = NO_TRAINING) -> None:
        """Read the synonyms. The sentences are only used for warnings.

        Raises:
            DataError: If a file is broken.
            MissingResourceError: If a named file is missing, or WordNet is, and every operation needs synonyms.
        """
        self._thesaurus = Thesaurus({})
        if not self._needs_synonyms:
            return
        try:
            super().fit(gold, training)
        except MissingResourceError as error:
            if self.table or not self._can_skip_synonyms:
                raise
            self._warn_without_synonyms(error)

    def generate(self, sentence: Sentence, rng: random.Random) -> Sentence | Reject:
        """The sentence changed by the first of the operations, in random order, that can change it."""
        if self._thesaurus is None:
            raise unfitted(self, "generate")
        for operation in rng.sample(self.operations, len(self.operations)):
            changed = _changed(sentence, operation, self.rate, self._thesaurus, rng)
            if changed is not None and changed.words != sentence.words:
                return changed
        return Reject("no operation applies")


def _changed(
    sentence: Sentence, operation: Operation, rate: float, thesaurus: Thesaurus, rng: random.Random
) -> Sentence | None:
    """The sentence after one operation; None if the operation cannot change it."""
    count = _count_to_change(rate, len(sentence))
    if operation == "synonyms":
        return _with_synonyms(sentence, count, thesaurus, rng)
    if operation == "insertion":
        return _with_insertions(sentence, count, thesaurus, rng)
    if operation == "shuffle":
        return _with_shuffles(sentence, rate, rng)
    return _with_swaps(sentence, count, rng) if operation == "swap" else _with_deletions(sentence, count, rng)


def _count_to_change(rate: float, number: int) -> int:
    return max(1, int(rate * number))


def _with_synonyms(sentence: Sentence, count: int, thesaurus: Thesaurus, rng: random.Random) -> Sentence | None:
    known = [position for position, word in enumerate(sentence.words) if thesaurus.of(word, sentence.language)]
    chosen = rng.sample(known, min(count, len(known)))
    words = sentence.words
    edits: list[Edit] = [
        (position, position + 1, thesaurus.draw_like(words[position], rng, sentence)) for position in chosen
    ]
    return sentence.replace_spans(edits) if edits else None


def _with_insertions(sentence: Sentence, count: int, thesaurus: Thesaurus, rng: random.Random) -> Sentence | None:
    outside = (sentence.words[position] for position in sentence.outside)
    known = [word for word in outside if thesaurus.of(word, sentence.language)]
    if not known:
        return None
    within = {position for entity in sentence.entities for position in range(entity.start + 1, entity.end)}
    gaps = [position for position in range(len(sentence) + 1) if position not in within]
    positions = rng.choices(gaps, k=count)
    drawn = [thesaurus.draw_like(rng.choice(known), rng, sentence, is_inserted=True) for _ in positions]
    return sentence.replace_spans((position, position, words) for position, words in zip(positions, drawn, strict=True))


def _with_shuffles(sentence: Sentence, rate: float, rng: random.Random) -> Sentence | None:
    every = segments(sentence)
    shufflable = [(start, end) for start, end in every if len({*sentence.words[start:end]}) > 1]
    chosen = rng.sample(shufflable, min(_count_to_change(rate, len(every)), len(shufflable)))
    return _until_changed(sentence, lambda: shuffled(sentence, chosen, rng)) if chosen else None


def _with_swaps(sentence: Sentence, count: int, rng: random.Random) -> Sentence | None:
    free = sentence.outside
    if len({sentence.words[position] for position in free}) < 2:
        return None

    def swapped() -> Sentence:
        order = list(range(len(sentence)))
        for _ in range(count):
            first, second = rng.sample(free, 2)
            order[first], order[second] = order[second], order[first]
        return sentence.reordered(order)

    return _until_changed(sentence, swapped)


def _until_changed(sentence: Sentence, draw: Callable[[], Sentence]) -> Sentence | None:
    """The first draw with another word order; None if many draws have the old one, as when two words swap twice."""
    draws = (draw() for _ in range(MAX_DRAWS))
    return next((changed for changed in draws if changed.words != sentence.words), None)


def _with_deletions(sentence: Sentence, count: int, rng: random.Random) -> Sentence | None:
    free = sentence.outside
    chosen = rng.sample(free, min(count, len(free), len(sentence) - 1))
    return sentence.replace_spans([(position, position + 1, ()) for position in chosen]) if chosen else None
