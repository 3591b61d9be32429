"""Keep sentences whose labels a tagger predicts again and again while parts of it are left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from nersery.core.errors import NerseryError
from nersery.core.ranges import Count, Rate
from nersery.core.registry import ModelName, name_of
from nersery.core.sentence import Sentence
from nersery.core.training_context import NO_TRAINING, Training
from nersery.select.base import Selector
from nersery.taggers.base import Tagger
from nersery.taggers.components.gold_tagger import check_gold_tagger, gold_tagger, warn_of_unknown_labels


@dataclass
class Certainty(Selector):
    """Scores a sentence by how often a gold-trained tagger with dropout predicts its labels.

    The score is the share of forward passes that predict a word's label, averaged over words.

    Args:
        threshold: Minimum score, in [0, 1].
        passes: Forward passes over each sentence, all in one batch.
        tagger: Folder of a tagger trained on gold, or a Hugging Face name. None: in a run, the tagger of the system's
            base; elsewhere the default tagger, trained on gold first.

    Reference:
        Liu et al. 2022, PromptDA, section 3.3 (the certainty of uncertainty-guided self-training).

    Departures:
        - The paper samples candidates by certainty; here a threshold decides. `self_training` is the paper's loop.
        - A forward pass uses one thinned network for all sentences (`nersery.models.training.dropout`).
    """

    threshold: Rate = 0.9
    passes: Count = 10
    tagger: ModelName | None = None
    _tagger: Tagger | None = field(default=None, init=False, repr=False, compare=False)
    _warned: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    _seed: int = field(default=0, init=False, repr=False, compare=False)

    def check(self) -> None:
        """Look for the tagger, if one is named; see `Selector.check`."""
        check_gold_tagger(self.tagger)

    def fit(
        self, gold: Sequence[Sentence], *, held_out: Iterable[Sentence] = (), training: Training = NO_TRAINING
    ) -> None:
        """Take the tagger that is there, or train one on gold."""
        self._tagger, self._seed = gold_tagger(name_of(self), self.tagger, gold, training), training.seed

    def score(self, sentences: Sequence[Sentence]) -> list[float]:
        """The certainty of each sentence, in [0, 1].

        Raises:
            NerseryError: When there was no fit.
        """
        if self._tagger is None:
            raise NerseryError("certainty was asked for scores before fit")
        warn_of_unknown_labels(self._tagger.types, sentences, self._warned)
        shares = self._tagger.certainty(sentences, passes=self.passes, seed=self._seed)
        return [sum(words) / len(words) for words in shares]
