"""Keep sentences on which a tagger trained on gold predicts exactly the labels they carry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from nersery.core.errors import NerseryError
from nersery.core.ranges import Rate
from nersery.core.registry import ModelName, name_of
from nersery.core.sentence import Sentence
from nersery.core.training_context import NO_TRAINING, Training
from nersery.select.base import Selector
from nersery.taggers.base import Tagger, strict_f1
from nersery.taggers.components.gold_tagger import check_gold_tagger, gold_tagger, warn_of_unknown_labels


@dataclass
class Agreement(Selector):
    """Scores a sentence by how well a gold-trained tagger agrees with its labels.

    The score is the strict F1 of the prediction; 1.0 is exact agreement.

    Args:
        threshold: Minimum score, in [0, 1]; 1.0 keeps exact agreement only, as in both papers.
        tagger: Folder of a tagger trained on gold, or a Hugging Face name. None: in a run, the tagger of the system's
            base; elsewhere the default tagger, trained on gold first.

    Reference:
        The post-processing of MELM (Zhou et al. 2022, section 2.4) and of ACLM's code (Ghosh et al. 2023).

    Departures:
        - The papers keep or drop; a threshold below 1.0 also keeps sentences that agree in part.
    """

    threshold: Rate = 1.0
    tagger: ModelName | None = None
    _tagger: Tagger | None = field(default=None, init=False, repr=False, compare=False)
    _warned: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    def check(self) -> None:
        """Look for the tagger, if one is named; see `Selector.check`."""
        check_gold_tagger(self.tagger)

    def fit(
        self, gold: Sequence[Sentence], *, held_out: Iterable[Sentence] = (), training: Training = NO_TRAINING
    ) -> None:
        """Take the tagger that is there, or train one on gold."""
        self._tagger = gold_tagger(name_of(self), self.tagger, gold, training)

    def score(self, sentences: Sequence[Sentence]) -> list[float]:
        """Agreement of each sentence, in [0, 1]; a sentence without entities agrees when none is predicted.

        Raises:
            NerseryError: When there was no fit.
        """
        if self._tagger is None:
            raise NerseryError("agreement was asked for scores before fit")
        warn_of_unknown_labels(self._tagger.types, sentences, self._warned)
        predicted = self._tagger.predict(sentences)
        return [
            strict_f1([labelled], [guess]) if labelled.labels != guess.labels else 1.0
            for labelled, guess in zip(sentences, predicted, strict=True)
        ]
