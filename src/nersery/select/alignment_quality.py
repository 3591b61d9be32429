"""Keep projected sentences whose words are linked well to those of their translation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from nersery.core.errors import DataError, Issue
from nersery.core.random import item_chance
from nersery.core.ranges import Rate, RateAboveZero
from nersery.core.registry import name_of, unfitted
from nersery.core.sentence import Sentence
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.typed_settings import hidden
from nersery.crosslingual.label_projection.projection import ENTITY_QUALITY, QUALITY
from nersery.select.base import Selector

ROUNDING = 1e-9
"""By so much a product may exceed the whole number that it is on paper."""
MEASURED = {"words": QUALITY, "entities": ENTITY_QUALITY, "both": f"{QUALITY} * {ENTITY_QUALITY}"}
"""What reasons call the measures."""


@dataclass
class AlignmentQuality(Selector):
    """Scores a projected sentence by its alignment quality, and keeps the best share.

    Args:
        measure: Quality over all ``words``, as in the paper; over the words of ``entities``; or ``both``, the product.
            The latter two keep more correct labels.
        threshold: Minimum of the measure, in [0, 1].
        keep: Share in (0, 1] of the sentences with entities to keep: the best, with ties.
        empty_rate: Probability of keeping a sentence without entities.

    Reference:
        Mhaske et al. (2023), Naamapadam, ACL, section 3.4.

    Departures:
        - `entities` and `both` are ours.
        - The paper keeps "the top 30-40 %"; we keep 40 % of the sentences with entities.
        - The paper's quality favours sentences with few aligned words; see
          `nersery.crosslingual.label_projection.projection.Projection`.
    """

    checks_candidates: ClassVar[bool] = True

    measure: Literal["words", "entities", "both"] = "words"
    threshold: Rate = 0.0
    keep: RateAboveZero = 0.4
    empty_rate: Rate = 0.01
    _lowest: float | None = hidden(default=None)
    _seed: int = hidden(default=0)

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        """Take note of the seed; there is nothing to learn."""
        self._seed = training.seed

    def fit_candidates(self, candidates: Iterable[Sentence]) -> None:
        """Find the quality from which on sentences are kept, in sixteen bytes for each of them."""
        qualities = np.fromiter((self._merit(sentence) for sentence in candidates if sentence.entities), float)
        kept = max(1, math.ceil(self.keep * len(qualities) - ROUNDING))
        self._lowest = float(np.partition(qualities, -kept)[-kept]) if len(qualities) else 0.0

    def score(self, sentences: Sequence[Sentence]) -> list[float]:
        """The quality over all words that each sentence has, whatever the measure."""
        return [quality_of(sentence) for sentence in sentences]

    def accepts(self, sentence: Sentence, score: float) -> bool:
        """Whether a sentence is among the best, or one of the few without entities; needs `fit_candidates`."""
        if self._lowest is None:
            raise unfitted(self, "accepts", "fit_candidates")
        if not sentence.entities:
            return item_chance(self._seed, name_of(self), sentence.id) < self.empty_rate
        return self._merit(sentence) >= max(self._lowest, self.threshold)

    def reason(self, sentence: Sentence, score: float) -> str:
        """Which of the filters a sentence did not pass."""
        if not sentence.entities:
            return "no entities"
        below = self._merit(sentence) < self.threshold
        return f"{MEASURED[self.measure]} < {self.threshold:g}" if below else f"not among the best {self.keep:.0%}"

    def _merit(self, sentence: Sentence) -> float:
        """The quality of a sentence with entities that decides on it."""
        if self.measure == "words":
            return quality_of(sentence)
        of_entities = quality_of(sentence, ENTITY_QUALITY)
        return of_entities if self.measure == "entities" else of_entities * quality_of(sentence)


def quality_of(sentence: Sentence, name: str = QUALITY) -> float:
    """A quality that projection gave a sentence; raises `DataError` without one."""
    if name not in sentence.scores:
        raise DataError(
            Issue(f"it has no score {name}", sentence=sentence.id),
            fix="give sentences that nersery crosslingual project has written, in JSONL, which keeps scores",
        )
    return sentence.scores[name]
