"""The share of a method's sentences that people accept, and the agreement of their labels with the method's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nersery.core.sentence import Sentence
from nersery.evaluate.annotator_agreement import agreement


@dataclass(frozen=True)
class Acceptance:
    """Decisions of people about the sentences of a method.

    Args:
        accepted: The number of accepted sentences, with the labels of the method or corrected ones.
        corrected: The number of accepted sentences that were corrected.
        rejected: The number of rejected sentences.
        kappa: Cohen's kappa between the labels of the method and of the people, over the words of accepted sentences;
            None without words, or if all words are outside entities. Rejected sentences have no labels.
    """

    accepted: int
    corrected: int
    rejected: int
    kappa: float | None

    def __str__(self) -> str:
        total = self.accepted + self.rejected
        known = "" if self.kappa is None else f", kappa {self.kappa:.2f}"
        share = f"{self.accepted / total:.0%}" if total else "none"
        return f"{share} of {total} accepted, {self.corrected} corrected{known}"


def acceptance(decided: Iterable[tuple[Sentence, Sentence | None]]) -> Acceptance:
    """Count the decisions of people.

    Args:
        decided: Sentences of a method, each with the accepted version, or None if it was rejected.

    >>> from nersery.core.sentence import Entity
    >>> made = Sentence(("Ada", "wrote"), (Entity(0, 1, "LOC"),), id="a")
    >>> print(acceptance([(made, made.with_entities([Entity(0, 1, "PER")])), (made, None)]))
    50% of 2 accepted, 1 corrected, kappa 0.33
    """
    pairs = list(decided)
    kept = [(sentence, accepted) for sentence, accepted in pairs if accepted is not None]
    corrected = sum(sentence.labels != accepted.labels for sentence, accepted in kept)
    value = agreement((sentence for sentence, _ in kept), (accepted for _, accepted in kept)).all_words.value
    return Acceptance(len(kept), corrected, len(pairs) - len(kept), value)
