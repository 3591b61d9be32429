"""What the labels of a sentence would teach: the entity errors that taggers are expected to make on it.

Whole entities are counted. So a long sentence is worth nothing if a tagger is sure that it has no entities. Averaging
the uncertainty of words would hide one doubtful mention among twenty certain words.

Reference:
    Burr Settles and Mark Craven (2008). An Analysis of Active Learning Strategies for Sequence Labeling Tasks. EMNLP,
    sections 3.1 (uncertainty of a sequence) and 3.2 (query by committee).

Departures:
    - They sum or average the entropy of tags over words, or take that of whole sequences. Here it is the expected
      number of wrong and missed entities, because F1 counts entities.
    - Their committee votes on each word's tag. Here it votes on whole entities, and each vote is weighted by the
      tagger's probability.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from nersery.core.sentence import Sentence


def expected_errors(readings: Sequence[Sentence]) -> float:
    """The number of entities that a tagger is expected to get wrong or miss, on average over the taggers.

    All taggers together judge what is true: the probability of an entity is the mean of the probabilities that they
    give it. A wrong entity is predicted but not true. A missed one is predicted by another tagger, or begins, by the
    tagger's own probabilities, at a word outside the entities that it predicts.

    Args:
        readings: A sentence with the entities and soft labels that each tagger predicts, see `Tagger.predict_soft`.

    >>> from nersery import Entity
    >>> sure, doubtful = (Sentence(("Ada", "wrote"), (Entity(0, 1, "PER", score),)) for score in (1.0, 0.6))
    >>> expected_errors([sure]), expected_errors([doubtful]), expected_errors([sure, Sentence(("Ada", "wrote"))])
    (0.0, 0.4, 0.5)
    """
    probabilities: defaultdict[tuple[int, int, str], float] = defaultdict(float)
    for reading in readings:
        for entity, label in zip(reading.entities, reading.labels, strict=True):
            probabilities[label] += (1.0 if entity.score is None else entity.score) / len(readings)
    errors = 0.0
    for reading in readings:
        labels, inside = {*reading.labels}, reading.inside
        errors += sum(1 - share if label in labels else share for label, share in probabilities.items())
        errors += sum(label.begin for label in reading.soft_labels if label.word not in inside)
    return errors / len(readings)
