"""Agreement between two annotators, or two files, on the labels of the same sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nersery.core.sentence import Sentence
from nersery.evaluate.scores import Scores, paired, score

NO_TYPE = ""
"""The label of a word outside entities; no type has this name."""
Labels = tuple[str, str]
"""The two labels of a word."""


@dataclass(frozen=True, slots=True)
class Kappa:
    """Cohen's kappa of two labellings of the same words, stored as integers to avoid rounding.

    Args:
        words: The number of compared words.
        alike: The number of words with equal labels.
        by_chance: The number of pairs of a word in the first and a word in the second labelling with equal labels.
    """

    words: int
    alike: int
    by_chance: int

    @property
    def observed(self) -> float:
        """The share of words with equal labels, in [0, 1]; 0.0 without words."""
        return self.alike / self.words if self.words else 0.0

    @property
    def expected(self) -> float:
        """The expected share if both annotators assigned their labels at random, in [0, 1]; 0.0 without words."""
        return self.by_chance / self.words**2 if self.words else 0.0

    @property
    def value(self) -> float | None:
        """Kappa, at most 1; None without words, or if both give all words the same label."""
        possible = self.words**2 - self.by_chance
        return (self.words * self.alike - self.by_chance) / possible if possible else None

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        return {"kappa": self.value, "words": self.words, "observed": self.observed, "expected": self.expected}


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """Three measures of agreement, because a single one is not sufficient.

    Args:
        all_words: Kappa over all words. Because most words are in no entity, it is high even with few common entities.
        marked_words: Kappa over words that are in an entity of at least one labelling. It is low, because agreement on
            words outside entities does not count. It may be below 0.
        entities: Scores of whole entities, with the first labelling as gold. F1 is symmetric. Kappa approaches F1 if
            the number of true negatives is unknown.
    """

    all_words: Kappa
    marked_words: Kappa
    entities: Scores

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        return {
            "all_words": self.all_words.as_dict(),
            "marked_words": self.marked_words.as_dict(),
            "entities": self.entities.as_dict(),
        }


def agreement(first: Iterable[Sentence], second: Iterable[Sentence]) -> AnnotatorAgreement:
    """Compare two labellings of the same sentences.

    A word's label is the type of its entity. Borders between adjacent entities of one type affect only ``entities``.

    Args:
        first: Sentences with unique ids.
        second: Sentences with the same ids and words, in any order.

    Reference:
        Jacob Cohen (1960). A Coefficient of Agreement for Nominal Scales. Educational and Psychological Measurement
        20(1). George Hripcsak and Adam S. Rothschild (2005). Agreement, the F-Measure, and Reliability in Information
        Retrieval. Journal of the American Medical Informatics Association 12(3).

    Raises:
        DataError: Naming every sentence that is missing, duplicated, or has other words.

    >>> from nersery.core.sentence import Entity
    >>> first = Sentence(("Ada", "Lovelace", "saw", "Oslo"), (Entity(0, 2, "PER"), Entity(3, 4, "LOC")), id="1")
    >>> found = agreement([first], [first.with_entities([Entity(0, 2, "PER")])])
    >>> found.all_words.value, found.marked_words.value, round(found.entities.micro.f1, 3)
    (0.6, 0.4, 0.667)
    """
    pairs = list(paired(first, second, ("first", "second")))
    labels = Counter(both for one, other in pairs for both in zip(_labels(one), _labels(other), strict=True))
    marked = Counter({both: count for both, count in labels.items() if both != (NO_TYPE, NO_TYPE)})
    entities = score((one for one, _ in pairs), (other for _, other in pairs))
    return AnnotatorAgreement(kappa(labels), kappa(marked), entities)


def kappa(labels: Counter[Labels]) -> Kappa:
    """Cohen's kappa from the counts of pairs of labels.

    >>> kappa(Counter({("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15})).value
    0.4
    """
    first, second = Counter[str](), Counter[str]()
    for (left, right), count in labels.items():
        first[left] += count
        second[right] += count
    alike = sum(count for (left, right), count in labels.items() if left == right)
    return Kappa(labels.total(), alike, sum(count * second[label] for label, count in first.items()))


def _labels(sentence: Sentence) -> list[str]:
    """The label of each word: the type of its entity, or `NO_TYPE`."""
    labels = [NO_TYPE] * len(sentence)
    for entity in sentence.entities:
        labels[entity.start : entity.end] = [entity.type] * (entity.end - entity.start)
    return labels
