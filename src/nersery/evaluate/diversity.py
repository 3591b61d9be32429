"""How much generated sentences differ from their parents: Diversity-E, -N and -L."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from nersery.core.sentence import Sentence
from nersery.core.text.text_forms import folded
from nersery.io.temporary_tables.sentence_table import SentenceTable

CACHED = 1024
"""The number of parents kept in memory. Copies of the same parent are usually adjacent, so few are enough."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean as sum and count, so that two can be added without rounding."""

    total: Fraction = Fraction(0)
    count: int = 0

    @property
    def value(self) -> float | None:
        """The mean; None if nothing was counted."""
        return float(self.total / self.count) if self.count else None

    def __add__(self, other: Mean) -> Mean:
        return Mean(self.total + other.total, self.count + other.count)


@dataclass(frozen=True, slots=True)
class Diversity:
    """Differences of generated sentences from their parents.

    Args:
        entity: Diversity-E: the share of a sentence's entity words that are not entity words of any parent, in [0, 1].
            The mean over sentences with entities.
        non_entity: Diversity-N: the same share for the words outside entities.
        length: Diversity-L: the mean difference in length between a sentence and its parents, in words.
        orphans: The number of sentences that lack a parent in gold. They do not count in the other values.
    """

    entity: Mean = Mean()
    non_entity: Mean = Mean()
    length: Mean = Mean()
    orphans: int = 0

    @property
    def sentences(self) -> int:
        """The number of sentences that were compared with their parents."""
        return self.length.count

    def __add__(self, other: Diversity) -> Diversity:
        return Diversity(
            self.entity + other.entity,
            self.non_entity + other.non_entity,
            self.length + other.length,
            self.orphans + other.orphans,
        )

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        means = {"entity": self.entity.value, "non_entity": self.non_entity.value, "length": self.length.value}
        return {**means, "sentences": self.sentences, "orphans": self.orphans}


def diversity(generated: Iterable[Sentence], gold: Iterable[Sentence]) -> Diversity:
    """Compare generated sentences with their parents in gold.

    A word is new if no parent has it. The difference in length is the mean over the parents. Case and Unicode normal
    forms are ignored.

    Args:
        generated: Generated sentences. They are read once, as a stream.

    Reference:
        Ghosh et al. (2023). ACLM: A Selective-Denoising based Generative Data Augmentation Approach for Low-Resource
        Complex NER. ACL, section 5.1 and Table 3.

    Departures:
        - The paper reports "the average percentage of new NE and non-NE words", without code. We take the mean
          percentage per sentence. A word is new if no parent has it in the same role, inside or outside entities.
        - The paper does not say how it compares sentences that are mixed from two parents.

    >>> from nersery.core.sentence import Entity, Origin
    >>> gold = [Sentence(("Ada", "Lovelace", "wrote"), (Entity(0, 2, "PER"),), id="1")]
    >>> origin = Origin("melm", ("1",), 1)
    >>> new = Sentence(("Ada", "Hopper", "wrote", "it", "once"), (Entity(0, 2, "PER"),), id="1~1", origin=origin)
    >>> diversity([new], gold).as_dict()
    {'entity': 0.5, 'non_entity': 0.6666666666666666, 'length': 2.0, 'sentences': 1, 'orphans': 0}
    """
    find = gold.find if isinstance(gold, SentenceTable) else {sentence.id: sentence for sentence in gold}.get

    @lru_cache(maxsize=CACHED)
    def parent(id: str) -> _WordsByRole | None:
        return None if (sentence := find(id)) is None else _WordsByRole.of(sentence)

    return sum((_sentence_diversity(sentence, parent) for sentence in generated), Diversity())


@dataclass(frozen=True, slots=True)
class _WordsByRole:
    """The words of a sentence inside and outside its entities."""

    entity: tuple[str, ...]
    non_entity: tuple[str, ...]

    @classmethod
    def of(cls, sentence: Sentence) -> _WordsByRole:
        words = [folded(word) for word in sentence.words]
        inside = sentence.inside
        return cls(
            tuple(word for position, word in enumerate(words) if position in inside),
            tuple(word for position, word in enumerate(words) if position not in inside),
        )

    def __len__(self) -> int:
        return len(self.entity) + len(self.non_entity)


def _sentence_diversity(sentence: Sentence, parent: Callable[[str], _WordsByRole | None]) -> Diversity:
    names = sentence.origin.parents if sentence.origin is not None else ()
    parents = [roles for roles in map(parent, names) if roles is not None]
    if not names or len(parents) < len(names):
        return Diversity(orphans=1)
    own_roles = _WordsByRole.of(sentence)
    return Diversity(
        _share_of_new(own_roles.entity, {word for parent in parents for word in parent.entity}),
        _share_of_new(own_roles.non_entity, {word for parent in parents for word in parent.non_entity}),
        Mean(Fraction(sum(abs(len(own_roles) - len(parent)) for parent in parents), len(parents)), 1),
    )


def _share_of_new(words: Sequence[str], known: set[str]) -> Mean:
    """The share of new words in one sentence; an empty mean if there are no words."""
    return Mean(Fraction(sum(word not in known for word in words), len(words)), 1) if words else Mean()
