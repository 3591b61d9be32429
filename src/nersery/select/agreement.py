"""Keep sentences for which a tagger trained on gold predicts exactly their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nersery.core.sentence import Sentence
from nersery.core.settings.ranges import Rate
from nersery.select.base import Selector, TaggerJudge
from nersery.taggers.base import strict_f1


@dataclass
class Agreement(TaggerJudge, Selector):
    """Scores a sentence by how well a gold-trained tagger agrees with its labels.

    The score is the strict F1 of the prediction.

    Args:
        threshold: Minimum score, in [0, 1].

    Reference:
        The post-processing of MELM (Zhou et al. 2022, section 2.4) and of ACLM's code (Ghosh et al. 2023).

    Departures:
        - None by default; a lower threshold also keeps partial agreement.
    """

    threshold: Rate = 1.0

    def score(self, sentences: Sequence[Sentence]) -> list[float]:
        """The agreement for each sentence, in [0, 1]; 1 if both labellings are empty. Raises an error before `fit`."""
        predicted = self.judge(sentences).predict(sentences)
        return [
            strict_f1([labelled], [guess]) if labelled.labels != guess.labels else 1.0
            for labelled, guess in zip(sentences, predicted, strict=True)
        ]
