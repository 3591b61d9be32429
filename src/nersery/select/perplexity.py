"""Keep sentences that a language model finds fluent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nersery.core.batched import batched
from nersery.core.errors import SettingsError
from nersery.core.progress import Progress
from nersery.core.registry import name_of, unfitted
from nersery.core.sentence import Sentence
from nersery.core.settings.ranges import Negative, RateAboveZero
from nersery.core.settings.typed_settings import hidden
from nersery.core.training_context import NO_TRAINING, Training
from nersery.models.pretrained.model_settings import ModelSettings
from nersery.select.base import Selector

MIN_GOLD, MAX_GOLD = 20, 200
"""The least number of gold sentences that show what is usual, and about the most that are scored."""
GOLD_AT_ONCE = 16
"""Gold sentences that are scored between two updates of the progress."""
SHARE, WITHOUT_GOLD = 0.9, -500.0
"""By default, the share of gold whose score is the minimum, and the minimum score with less gold."""


@dataclass
class Perplexity(Selector, ModelSettings):
    """Scores a sentence by its negative perplexity under a language model: -20 is better than -200.

    A masked model gives the pseudo-perplexity, with a pass for each subword. Values depend on the model, which favours
    its own text: compare with gold (`nersery inspect quality`).

    Args:
        threshold: Minimum score, below 0. None: the score that ``gold_share`` of gold reaches, or -500 with fewer than
            20 gold sentences.
        gold_share: Share in (0, 1], in place of ``threshold``. None: 0.9. Of more than 200 sentences, every
            second, third, … is scored.
        model: ``bundled``, or a causal or masked language model by Hugging Face name or folder.

    Reference:
        Perplexity of generated sentences: Ghosh et al. (2023), ACLM, ACL, section 5.1. Pseudo-perplexity: Salazar et
        al. (2020). Masked Language Model Scoring. ACL.

    Departures:
        - The paper only reports perplexity.
    """

    items_at_once: ClassVar[int] = 64  # a masked model takes up to a second for each, and a killed job loses a batch
    threshold: Negative | None = None
    gold_share: RateAboveZero | None = None
    _lowest_of_gold: float | None = hidden(default=None)
    _scorer: Any = hidden(default=None)
    _is_model_checked: bool = hidden(default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold is not None and self.gold_share is not None:
            raise SettingsError("threshold and gold_share both set the minimum score. Use one of them")

    def check(self) -> None:
        from nersery.models.likelihoods.fluency import is_causal
        from nersery.models.pretrained.loading import pick_device

        is_causal(self.source)
        pick_device(self.device)

    def fit(self, gold: Sequence[Sentence], training: Training = NO_TRAINING) -> None:
        """Load the model. Warn if it does not suit the gold sentences or, without gold, the first scored sentences."""
        from nersery.models.likelihoods.fluency import open_scorer

        # Its own progress, because the training's progress is labelled as learning.
        progress = Progress(name_of(self), quiet=training.progress.quiet) if training.progress else None
        self._scorer = open_scorer(self.source, device=self.device, precision=self.precision, progress=progress)
        self._is_model_checked = False
        self._warn_if_unsuited(gold)
        self._lowest_of_gold = self._reached_by_gold(gold, progress or Progress("", quiet=True))

    def _reached_by_gold(self, gold: Sequence[Sentence], progress: Progress) -> float | None:
        if self.threshold is not None or len(gold) < MIN_GOLD:
            return None
        chosen, scores = gold[:: math.ceil(len(gold) / MAX_GOLD)], list[float]()
        with progress.within("gold", len(chosen)) as counted:
            for batch in batched(chosen, GOLD_AT_ONCE):
                scores += self.score(batch)
                counted.advance(len(batch))
        ordered = sorted((score for score in scores if not math.isnan(score)), reverse=True)
        return ordered[math.ceil(self._share * len(ordered)) - 1] if ordered else None

    def score(self, sentences: Sequence[Sentence]) -> list[float]:
        """The negative perplexity of each sentence. NaN (a reject) if a sentence has no subwords. Requires `fit`."""
        if self._scorer is None:
            raise unfitted(self, "score")
        self._warn_if_unsuited(sentences)
        likelihoods = self._scorer.likelihoods([sentence.words for sentence in sentences])
        return [-likelihood.perplexity for likelihood in likelihoods]

    def accepts(self, sentence: Sentence, score: float) -> bool:
        """Whether a sentence reaches the threshold or, by default, the score of most gold."""
        return score >= (self._fixed if self._lowest_of_gold is None else self._lowest_of_gold)

    def reason(self, sentence: Sentence, score: float) -> str:
        """What a sentence does not reach."""
        of_gold = f"that of {100 * self._share:g}% of gold"
        return f"{name_of(self)} < {f'{self._fixed:g}' if self._lowest_of_gold is None else of_gold}"

    @property
    def _share(self) -> float:
        return SHARE if self.gold_share is None else self.gold_share

    @property
    def _fixed(self) -> float:
        return WITHOUT_GOLD if self.threshold is None else self.threshold

    def _warn_if_unsuited(self, sentences: Sequence[Sentence]) -> None:
        from nersery.models.likelihoods.fluency import warn_if_unsuited

        if sentences and self._scorer is not None and not self._is_model_checked:
            warn_if_unsuited(self._scorer, self.source, sentences)
            self._is_model_checked = True
