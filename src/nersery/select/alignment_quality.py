"""Keep projected sentences with a high alignment quality: their words have good links to the translation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from nersery.core.errors import DataError, Issue
from nersery.core.random import uniform_draw
from nersery.core.registry import name_of, unfitted
from nersery.core.sentence import Sentence
from nersery.core.settings.ranges import Rate, RateAboveZero
from nersery.core.settings.typed_settings import hidden
from nersery.core.training_context import NO_TRAINING, Training
from nersery.crosslingual.label_projection.projection import ENTITY_QUALITY, QUALITY
from nersery.select.base import Selector

ROUNDING = 1e-9
"""The rounding error by which a product may exceed its exact value, a whole number."""
MEASURED = {"words": QUALITY, "entities": ENTITY_QUALITY, "both": f"{QUALITY} * {ENTITY_QUALITY}"}
"""The names of the measures in reasons."""


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
        """Store the seed. Nothing is learnt from gold."""
        self._seed = training.seed

    def fit_candidates(self, candidates: Iterable[Sentence]) -> None:
        """Find the lowest quality of the sentences to keep, in sixteen bytes of memory per sentence."""
        qualities = np.fromiter((self._measure_of(sentence) for sentence in candidates if sentence.entities), float)
        kept = max(1, math.ceil(self.keep * len(qualities) - ROUNDING))
        self._lowest = float(np.partition(qualities, -kept)[-kept]) if len(qualities) else 0.0

    def score(self, sentences: Sequence[Sentence]) -> list[float]:
        """The quality of each sentence over all words, whatever the measure."""
        return [quality_of(sentence) for sentence in sentences]

    def accepts(self, sentence: Sentence, score: float) -> bool:
        """Whether a sentence is among the best, or among the few kept without entities. Requires `fit_candidates`."""
        if self._lowest is None:
            raise unfitted(self, "accepts", "fit_candidates")
        if not sentence.entities:
            return uniform_draw(self._seed, name_of(self), sentence.id) < self.empty_rate
        return self._measure_of(sentence) >= max(self._lowest, self.threshold)

    def reason(self, sentence: Sentence, score: float) -> str:
        if not sentence.entities:
            return "no entities"
        below = self._measure_of(sentence) < self.threshold
        return f"{MEASURED[self.measure]} < {self.threshold:g}" if below else f"not among the best {100 * self.keep:g}%"

    def _measure_of(self, sentence: Sentence) -> float:
        """The value of the chosen measure for a sentence with entities, which decides whether to keep it."""
        if self.measure == "words":
            return quality_of(sentence)
        of_entities = quality_of(sentence, ENTITY_QUALITY)
        return of_entities if self.measure == "entities" else of_entities * quality_of(sentence)


def quality_of(sentence: Sentence, name: str = QUALITY) -> float:
    """The quality that projection gave to a sentence. Raises `DataError` if it has none."""
    if name not in sentence.scores:
        raise DataError(
            Issue(f"it has no score {name}", sentence=sentence.id),
            fix="give sentences that nersery crosslingual project has written as JSONL, which keeps scores",
        )
    return sentence.scores[name]
