"""ACLM's templates: the entities and some keywords of a sentence stay; all other words are removed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from nersery.augment.masked_lm.mention_masking import random_share
from nersery.augment.words.stop_words import bare
from nersery.core.entity import Span
from nersery.core.errors import DataError, Issue
from nersery.core.random import item_rng
from nersery.core.sentence import UNKNOWN_COLUMN, Sentence
from nersery.core.settings.typed_settings import hidden

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Attention: TypeAlias = "NDArray[np.floating[Any]]"
"""How much words attend to words. Shape: (from words, to words)."""
MEAN_RATE = 0.5
"""The mean share of the keywords that dynamic masking removes."""
ROUNDING = 1e-9
"""Tolerance for a product that exceeds a whole number only by rounding errors."""


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence, and which of its words are given when it is rewritten.

    Args:
        sentence: A sentence; the words and types of its entities are given.
        keywords: The positions of other given words, outside entities and in order.

    Raises:
        DataError: If a position is not outside entities, or the positions are out of order.

    >>> from nersery import Entity
    >>> sentence = Sentence(tuple("the poet Jo Li was born in May".split()), (Entity(2, 4, "PER"),))
    >>> template = Template(sentence, (1, 5))
    >>> template.kept, template.gaps()
    ((1, 2, 3, 5), ((0, 1), (4, 5), (6, 8)))
    """

    sentence: Sentence
    keywords: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        known = set(self.keywords)
        if list(self.keywords) != [position for position in self.sentence.outside if position in known]:
            issue = f"keywords are positions of words outside entities, in order, not {self.keywords}"
            raise DataError(Issue(issue, sentence=self.sentence.id or None))

    @property
    def kept(self) -> tuple[int, ...]:
        """The positions of all words that are given."""
        return tuple(sorted((*self.keywords, *self.sentence.inside)))

    def gaps(self) -> tuple[Span, ...]:
        """The longest possible runs of removed words."""
        borders = pairwise((-1, *self.kept, len(self.sentence)))
        return tuple((before + 1, after) for before, after in borders if before + 1 < after)

    def dynamically_masked(self, rng: random.Random) -> Template:
        """Dynamic masking: the template without some of its K keywords.

        The share to remove is drawn each time, from a normal distribution around 0.5 with deviation 1/K, until it is in
        [0, 1]. The paper calls 1/K the variance, but its code uses it as the deviation, too.
        """
        count = len(self.keywords)
        if not count:
            return self
        dropped = set(rng.sample(self.keywords, round(random_share(count, MEAN_RATE, rng) * count)))
        return replace(self, keywords=tuple(position for position in self.keywords if position not in dropped))

    def with_most_gaps(self) -> Template:
        """A possible result of `dynamically_masked`, with the most gaps: only keywords right after a gap stay."""
        kept: list[int] = []
        inside, known, follows_gap = self.sentence.inside, {*self.keywords}, False
        for position in range(len(self.sentence)):
            stays = follows_gap and position in known
            follows_gap = not stays and position not in inside
            kept += [position] if stays else []
        return replace(self, keywords=tuple(kept))

    def mixed_with(self, other: Template) -> Template:
        """mixner: this template, joined with another one after it, with this one's id, language and extra columns."""
        length = len(self.sentence)
        columns, theirs = self.sentence.columns, other.sentence.columns
        if len(theirs) != len(columns):
            theirs = ((UNKNOWN_COLUMN,) * len(other.sentence),) * len(columns)
        entities = [
            replace(entity, start=entity.start + length, end=entity.end + length) for entity in other.sentence.entities
        ]
        sentence = Sentence(
            self.sentence.words + other.sentence.words,
            (*self.sentence.entities, *entities),
            id=self.sentence.id,
            language=self.sentence.language,
            columns=tuple(mine + its for mine, its in zip(columns, theirs, strict=True)),
        )
        return Template(sentence, (*self.keywords, *(position + length for position in other.keywords)))


@dataclass
class TemplateMaker:
    """Chooses the keywords of sentences.

    Args:
        keywords: ``attention``, ``random`` or ``none``.
        rate: See `attention_keywords`.
        stop_words: Words by language; see `nersery.augment.words.stop_words.stop_words`.
        attentions: Returns the attention between the words of each of some sentences.
    """

    keywords: str
    rate: float
    stop_words: Mapping[str, Set[str]]
    attentions: Callable[[Sequence[Sentence]], Sequence[Attention]]
    _training_keywords: dict[Sentence, tuple[int, ...]] = hidden(default_factory=dict)

    def training_templates(self, sentences: Sequence[Sentence], seed: int) -> dict[Sentence, Template]:
        """The templates that a language model learns from; their attention is computed only here."""
        rngs = [item_rng(seed, "aclm templates", sentence.id) for sentence in sentences]
        templates = dict(zip(sentences, self.templates(sentences, rngs), strict=True))
        self._training_keywords = {sentence: template.keywords for sentence, template in templates.items()}
        return templates

    def templates(self, sentences: Sequence[Sentence], rngs: Sequence[random.Random]) -> list[Template]:
        """The template of each sentence. A sentence without entities has no keywords."""
        if self.keywords == "random":
            return [
                Template(sentence, random_keywords(sentence, self.rate, self.stop_words[sentence.language], rng))
                for sentence, rng in zip(sentences, rngs, strict=True)
            ]
        chosen = self._attention_keywords(sentences) if self.keywords == "attention" else {}
        return [Template(sentence, chosen.get(sentence, ())) for sentence in sentences]

    def _attention_keywords(self, sentences: Sequence[Sentence]) -> dict[Sentence, tuple[int, ...]]:
        """The keywords by attention of each sentence with entities."""
        distinct = [sentence for sentence in dict.fromkeys(sentences) if sentence.entities]
        keywords = {
            sentence: self._training_keywords[sentence] for sentence in distinct if sentence in self._training_keywords
        }
        due = [sentence for sentence in distinct if sentence not in keywords]
        for sentence, attention in zip(due, self.attentions(due), strict=True):
            keywords[sentence] = attention_keywords(sentence, attention, self.rate, self.stop_words[sentence.language])
        return keywords


def attention_keywords(
    sentence: Sentence, attention: Attention, rate: float = 0.3, stop_words: Set[str] = frozenset()
) -> tuple[int, ...]:
    """The words that the sentence's entities attend to most, by position.

    The number of keywords per entity is a share of *all* words outside entities, as in the paper's Figures 11 to 15.
    Keywords are neither punctuation nor stop words. Ties go to earlier words.

    Args:
        attention: See `nersery.taggers.networks.word_attention.word_attention`.
        rate: The share, in [0, 1] (the paper's p), rounded up to whole words.
        stop_words: Normalized by `nersery.augment.words.stop_words.bare`.

    Raises:
        ValueError: If the attention has another shape.
    """
    units, merged = merge_entities(sentence, attention)
    count = _share_of_outside(sentence, rate)
    numbers = {start: number for number, (start, _) in enumerate(units)}
    eligible = _eligible(sentence, stop_words)
    chosen: set[int] = set()
    for entity in sentence.entities:
        row = merged[numbers[entity.start]]
        chosen.update(sorted(eligible, key=lambda position: -row[numbers[position]])[:count])
    return tuple(sorted(chosen))


def random_keywords(sentence: Sentence, rate: float, stop_words: Set[str], rng: random.Random) -> tuple[int, ...]:
    """ACLM random: the same number of keywords per entity as by attention, drawn at random.

    Args:
        rate: See `attention_keywords`.
        stop_words: Normalized by `nersery.augment.words.stop_words.bare`.
    """
    eligible = _eligible(sentence, stop_words)
    count = min(len(eligible), _share_of_outside(sentence, rate))
    chosen: set[int] = set()
    for _ in sentence.entities:
        chosen.update(rng.sample(eligible, count))
    return tuple(sorted(chosen))


def merge_entities(sentence: Sentence, attention: Attention) -> tuple[tuple[Span, ...], Attention]:
    """The attention with each entity as one row and one column, and the words of each row.

    Attention to an entity is the sum over its words, attention from it the mean (Clark et al. 2019).

    Raises:
        ValueError: If the attention is not between the sentence's words.

    >>> import numpy as np
    >>> from nersery import Entity
    >>> sentence = Sentence(("Jo", "Li", "won"), (Entity(0, 2, "PER"),))
    >>> units, merged = merge_entities(sentence, np.array([[1.0, 3, 2], [5, 3, 4], [1, 6, 9]]))
    >>> units, merged.tolist()
    (((0, 2), (2, 3)), [[6.0, 3.0], [7.0, 9.0]])
    """
    import numpy as np

    # `reduceat` sums from each start to the next: words outside entities are units of one word.
    length = len(sentence)
    if attention.shape != (length, length):
        raise ValueError(f"the attention between {length} words has the shape {attention.shape}")
    entities = [(entity.start, entity.end) for entity in sentence.entities]
    units = sorted([*entities, *((position, position + 1) for position in sentence.outside)])
    starts = [start for start, _ in units]
    to_units = np.add.reduceat(attention, starts, axis=1)
    sizes = np.array([end - start for start, end in units], attention.dtype)
    return tuple(units), np.add.reduceat(to_units, starts, axis=0) / sizes[:, None]


def _eligible(sentence: Sentence, stop_words: Set[str]) -> Sequence[int]:
    """The positions of words that may be keywords."""
    words = ((position, bare(sentence.words[position])) for position in sentence.outside)
    return [position for position, word in words if word and word not in stop_words]


def _share_of_outside(sentence: Sentence, rate: float) -> int:
    return math.ceil(rate * len(sentence.outside) - ROUNDING)
