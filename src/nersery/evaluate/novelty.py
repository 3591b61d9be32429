"""How many new entities generated sentences contain, and how many of them an oracle tagger confirms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from nersery.core.progress import Progress
from nersery.core.sentence import Sentence
from nersery.pipeline.job import BATCH_SIZE
from nersery.taggers.base import Tagger

Mention = tuple[tuple[str, ...], str]
"""The words of an entity, and its type."""


@dataclass(frozen=True, slots=True)
class MentionCounts:
    """Numbers of distinct mentions.

    Args:
        distinct: Distinct by words and type.
        new: Mentions that do not occur in gold with this type.
        valid: New mentions that the oracle finds, with boundaries and type, in at least one sentence; None without it.
    """

    distinct: int = 0
    new: int = 0
    valid: int | None = None

    def __add__(self, other: MentionCounts) -> MentionCounts:
        """Both together."""
        valid = None if self.valid is None or other.valid is None else self.valid + other.valid
        return MentionCounts(self.distinct + other.distinct, self.new + other.new, valid)


@dataclass(frozen=True, slots=True)
class Novelty:
    """Counts of mentions by type, sorted by its name.

    Args:
        judged: Whether there was an oracle.
    """

    per_type: Mapping[str, MentionCounts]
    judged: bool

    @property
    def total(self) -> MentionCounts:
        """All types together."""
        return sum(self.per_type.values(), MentionCounts(valid=0 if self.judged else None))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        per_type = {type_: asdict(counts) for type_, counts in self.per_type.items()}
        return {"total": asdict(self.total), "per_type": per_type}


def novelty(
    generated: Iterable[Sentence],
    gold: Iterable[Sentence],
    oracle: Tagger | None = None,
    progress: Progress | None = None,
) -> Novelty:
    """Count the distinct mentions of generated sentences, how many are new, and how many of those are valid.

    Args:
        generated: Read once. Gold sentences among them contain nothing new.
        oracle: Labels the sentences that contain new mentions.

    Reference:
        Zhou et al. (2022). MELM: Data Augmentation with Masked Entity Language Modeling for Low-Resource NER. ACL,
        section 4.2, "number of unique valid entities".

    >>> from nersery.core.sentence import Entity
    >>> gold = [Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),))]
    >>> new = [Sentence(("Grace", "wrote"), (Entity(0, 1, "PER"),)), *gold]
    >>> novelty(new, gold).total
    MentionCounts(distinct=2, new=1, valid=None)
    """
    known = {mention for sentence in gold for mention in _mentions(sentence)}
    distinct: set[Mention] = set()
    settled = set(known)  # of these an oracle need not be unsettled
    for batch in _batches(generated):
        distinct.update(mention for sentence in batch for mention in _mentions(sentence))
        if oracle is not None:
            settled.update(_valid(batch, settled, oracle))
        if progress is not None:
            progress.advance(len(batch))
    counters = [Counter(type_ for _, type_ in mentions) for mentions in (distinct, distinct - known, settled - known)]
    counts = {
        type_: MentionCounts(counters[0][type_], counters[1][type_], None if oracle is None else counters[2][type_])
        for type_ in sorted(counters[0])
    }
    return Novelty(counts, oracle is not None)


def _valid(batch: list[Sentence], settled: set[Mention], oracle: Tagger) -> set[Mention]:
    """Mentions of a batch that the oracle finds; sentences without undecided mentions are skipped."""
    valid = set()
    unsettled = [sentence for sentence in batch if any(mention not in settled for mention in _mentions(sentence))]
    for sentence, guess in zip(unsettled, oracle.predict(unsettled) if unsettled else [], strict=True):
        found = set(guess.labels)
        for mention, label in zip(_mentions(sentence), sentence.labels, strict=True):
            if label in found:
                valid.add(mention)
    return valid


def _mentions(sentence: Sentence) -> list[Mention]:
    return [(sentence.mention(entity), entity.type) for entity in sentence.entities]


def _batches(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    rest = iter(sentences)
    while batch := list(islice(rest, BATCH_SIZE)):
        yield batch
