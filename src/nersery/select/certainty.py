"""Keep sentences whose labels a tagger predicts consistently with dropout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from nersery.core.sentence import Sentence
from nersery.core.settings.ranges import Count, Rate
from nersery.select.base import Selector, TaggerJudge
from nersery.select.components.word_certainty import certainty
from nersery.taggers.base import Tagger, load_tagger


@dataclass
class Certainty(TaggerJudge, Selector):
    """Scores a sentence by how often a gold-trained tagger with dropout predicts its labels.

    The score is the share of forward passes that predict a word's label, averaged over words.

    Args:
        threshold: Minimum score, in [0, 1].
        passes: Forward passes over each sentence.

    Reference:
        Liu et al. 2022, PromptDA, section 3.3 (the certainty of uncertainty-guided self-training).

    Departures:
        - The paper samples candidates by certainty; here a threshold decides. `self_training` is the paper's loop.
        - One dropout mask serves all sentences of a pass (`nersery.models.training.monte_carlo_dropout`).
    """

    items_at_once: ClassVar[int] = 1024  # passes have a fixed shape, so small batches take twice as long
    threshold: Rate = 0.9
    passes: Count = 10

    def check(self) -> None:
        """Check that the named tagger exists and has dropout; see `Selector.check`."""
        if self.tagger is not None:
            load_tagger(self.tagger).check_certainty()

    def check_tagger(self, tagger: Tagger) -> None:
        if self.tagger is None:
            tagger.check_certainty()

    def score(self, sentences: Sequence[Sentence]) -> list[float]:
        shares = self.judge(sentences).certainty(sentences, passes=self.passes, seed=self._seed)
        return [certainty(words) for words in shares]
