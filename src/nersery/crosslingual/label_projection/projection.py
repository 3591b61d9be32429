"""Projection: copy the labels of a sentence to its translation along the links between their words."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, repeat
from operator import index
from typing import Literal, NamedTuple

from nersery.core.alignments import Alignment
from nersery.core.entity import Span
from nersery.core.errors import SettingsError, printable
from nersery.core.majority import majority_entities
from nersery.core.outcome import Outcome, Reject
from nersery.core.registry import check_values
from nersery.core.sentence import Entity, Origin, Sentence
from nersery.core.settings.ranges import CountOrZero, Rate, RateAboveZero
from nersery.core.settings.typed_settings import hidden
from nersery.core.text.definitions import check_types
from nersery.core.text.inflection import APOSTROPHES
from nersery.core.text.text_forms import folded, is_invisible, is_punctuation
from nersery.crosslingual.label_projection.unlinked_capitals import with_unlinked_capitals
from nersery.io.base import storable
from nersery.io.word_splitting.scripts_without_spaces import with_whole_loanwords

METHOD = "project"
QUALITY = "alignment_quality"
"""The score for how well the words of the two sentences are linked."""
ENTITY_QUALITY = "entity_quality"
"""The same for only the words of entities, in sentences that have entities."""
PROJECTED = "projected"
"""The score for the share of projected entities, if incomplete sentences are kept."""

OUT_OF_RANGE = "an alignment link points outside the sentence"
IMPROBABLE = "an alignment link has no probability above 0 and at most 1"
NO_WORD = "an entity without an aligned word"
FAR_APART = "an entity aligned to words far apart"
STRIPPED = "an entity aligned only to stripped words"
OVERLAP = "overlapping entities"
DISAGREE = "the sources disagree on an entity"

Probabilities = dict[int, float]
"""Probabilities by the position of a word."""
Voting = Literal["majority", "weighted"]


class Translation(NamedTuple):
    """A labelled sentence, and its links to the target sentence."""

    source: Sentence
    alignment: Alignment


class Task(NamedTuple):
    """A sentence to label, and its translations: one labelled sentence, or one in each of several languages."""

    target: Sentence
    translations: Sequence[Translation | Reject]


@dataclass
class Projection:
    """Projects each entity onto the smallest span of the target that covers all words linked to its words.

    Entities stay whole, and neighbouring entities of one type stay separate. A sentence is *incomplete* if an entity
    has no linked word, is linked to words far apart, or overlaps another. It is then rejected, with the lost entities
    in its comments. Punctuation is recognised in every script, by Unicode's categories. Words of invisible characters,
    such as zero width spaces, neither begin nor end a span, nor do words that are linked only to an *'s*, unless they
    begin with an apostrophe, too. Nor does a span end within katakana, in which Japanese writes foreign names, where
    words are characters. A span also takes the words beside it that have capitals but no links, and characters of
    foreign names in Chinese.

    The score ``alignment_quality`` is the geometric mean, over the words of both sentences, of the probability of a
    word's best link, or ``unaligned`` without one. ``entity_quality`` is the same over the words of entities. Entities
    keep their scores.

    Args:
        threshold: Ignore links with a lower probability, in [0, 1].
        max_gap: Maximum number of consecutive words within a span that are not linked to the entity, such as articles
            and prepositions. With more, the entity counts as linked to two places.
        strip_punctuation: Remove punctuation and symbols from the ends of a span, unless the entity has them there too.
        take_capitals: Add words with capitals and without links to the entity beside them, but not the first word of a
            sentence, and none in headlines: aligners often miss a part of a name. In Chinese split into characters,
            those that write foreign names count as capitals.
        strip: Words to remove from the ends of a span, in any case, e.g. articles, unless the entity has one there too.
        keep: Types to project; None projects all. Entities of other types are ignored.
        drop: Types not to project.
        rename: New names of types in the target.
        keep_incomplete: Keep incomplete sentences, with the lost entities in their comments and the share of projected
            entities, in [0, 1], as the score ``projected``.
        unaligned: Probability that a word without a link counts with, in (0, 1].

    Reference:
        Mhaske et al. (2023). Naamapadam: A Large-Scale Named Entity Annotated Data for Indic Languages. ACL,
        sections 3.3 and 3.4. Several sources: Agerri et al. (2018). Building Named Entity Recognition Taggers via
        Parallel Corpora. LREC.

    Departures:
        - The paper drops MISC; we keep all types unless ``drop`` names some.
        - The paper's "product of the probability of each aligned word pair, normalized by the number of words" grows
          when fewer words are linked. We also count words without a link (``unaligned = 1`` ignores them), and only the
          best link of each word. As in the paper, a link less probable than ``unaligned`` is worse than none.
        - The paper does not say what happens to lost entities, and has no rules for gaps, punctuation and capitals.
          Ours are on by default; a ``max_gap`` longer than any sentence, ``strip_punctuation = False`` and
          ``take_capitals = False`` turn them off.
    """

    threshold: Rate = 0.0
    max_gap: CountOrZero = 3
    strip_punctuation: bool = True
    take_capitals: bool = True
    strip: tuple[str, ...] = ()
    keep: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    rename: dict[str, str] = field(default_factory=dict)
    keep_incomplete: bool = False
    unaligned: RateAboveZero = 0.1
    _strip: frozenset[str] = hidden(default=frozenset())

    def __post_init__(self) -> None:
        check_values(self)
        if both := sorted({*(self.keep or ())} & {*self.drop}):
            raise SettingsError(f"keep and drop both name {', '.join(both)}, expected each type in one of them")
        if nameless := [old for old, new in self.rename.items() if not new]:
            raise SettingsError(
                f"rename has no new name for {', '.join(nameless)}; to leave out a type, name it in drop"
            )
        check_types(self.rename.values(), "rename")
        if unstorable := [new for new in self.rename.values() if storable(new) != new]:
            raise SettingsError(f"rename has the type {unstorable[0]!r}, which has a control character or is not UTF-8")
        self._strip = frozenset(map(folded, self.strip))

    def project(self, source: Sentence, target: Sentence, alignment: Alignment) -> Sentence | Reject:
        """The target sentence with the source's labels, or a reject.

        Labels of the target are ignored. Everything else about it is kept.
        """
        lengths = len(source.words), len(target.words)
        if issue := alignment_issue(alignment, *lengths):
            return Reject(OUT_OF_RANGE, replace(target, entities=(), comments=(*target.comments, f"# {issue}")))
        if [probability for _, _, probability in alignment if not 0 < probability <= 1]:
            return Reject(IMPROBABLE, target.with_entities(()))
        if self.threshold:
            alignment = tuple([link for link in alignment if link[2] >= self.threshold])
        wanted: Sequence[Entity] = source.entities
        if wanted and (self.keep is not None or self.drop or self.rename):
            wanted = self._renamed(wanted)
        spans = zip(wanted, self._spans(wanted, source, target, alignment), strict=True) if wanted else ()
        placed: list[Entity] = []
        lost: list[tuple[Entity, str]] = []
        for entity, span in spans:
            if isinstance(span, str):
                lost.append((entity, span))
            else:
                placed.append(Entity(index(span[0]), index(span[1]), entity.type, entity.score))
        best = best_probabilities(alignment)
        scores = {QUALITY: alignment_quality(best, range(lengths[0]), range(lengths[1]), self.unaligned)}
        if wanted:
            scores[ENTITY_QUALITY] = alignment_quality(best, _positions(wanted), _positions(placed), self.unaligned)
        if self.keep_incomplete:
            scores[PROJECTED] = len(placed) / len(wanted) if wanted else 1.0
        sentence = Sentence.unchecked(  # its parts come from checked sentences, and the spans do not overlap
            target.words,
            tuple(sorted(placed)),
            target.id,
            language=target.language,
            origin=Origin(METHOD, (source.id,)),
            scores={**target.scores, **scores},
            columns=target.columns,
            comments=target.comments,
            document=target.document,
            offsets=target.offsets,
        )
        if not lost:
            return sentence
        sentence = replace(sentence, comments=(*target.comments, *(_lost_comment(source, *pair) for pair in lost)))
        return sentence if self.keep_incomplete else Reject(lost[0][1], sentence)

    def _renamed(self, entities: Iterable[Entity]) -> list[Entity]:
        return [
            replace(entity, type=self.rename.get(entity.type, entity.type))
            for entity in entities
            if entity.type not in self.drop and (self.keep is None or entity.type in self.keep)
        ]

    def _spans(
        self, entities: Sequence[Entity], source: Sentence, target: Sentence, alignment: Alignment
    ) -> list[Span | str]:
        """The span of each entity in the target, or why it has none."""
        owner = {position: number for number, e in enumerate(entities) for position in e.positions}
        positions: list[set[int]] = [set() for _ in entities]
        genitives: list[set[int]] = [set() for _ in entities]
        for start, end, _ in alignment:
            if start in owner:
                is_genitive = _is_genitive(source.words[start]) and target.words[end][0] not in APOSTROPHES
                (genitives if is_genitive else positions)[owner[start]].add(end)
        spans = [
            self._span(_with_inner_genitives(linked, inner), source.mention(entity), target.words)
            for linked, inner, entity in zip(positions, genitives, entities, strict=True)
        ]
        order = sorted((span, number) for number, span in enumerate(spans) if not isinstance(span, str))
        furthest, last = 0, -1
        for (start, end), number in order:
            if start < furthest:
                spans[last] = spans[number] = OVERLAP
            if end > furthest:
                furthest, last = end, number
        return self._with_capitals(spans, target.words, alignment) if self.take_capitals else spans

    def _with_capitals(self, spans: list[Span | str], words: Sequence[str], alignment: Alignment) -> list[Span | str]:
        placed = sorted((span, number) for number, span in enumerate(spans) if not isinstance(span, str))
        longer = with_unlinked_capitals([span for span, _ in placed], words, {end for _, end, _ in alignment})
        for (_, number), span in zip(placed, longer, strict=True):
            spans[number] = span
        return spans

    def _span(self, positions: list[int], mention: Sequence[str], words: Sequence[str]) -> Span | str:
        """The span of the positions that a mention is linked to, or why there is none."""
        if not positions:
            return NO_WORD
        while positions and self._is_stripped(words[positions[0]], mention[0]):
            del positions[0]
        while positions and self._is_stripped(words[positions[-1]], mention[-1]):
            del positions[-1]
        if not positions:
            return STRIPPED
        if positions[-1] - positions[0] >= len(positions) + self.max_gap and any(
            after - before - 1 > self.max_gap for before, after in pairwise(positions)
        ):
            return FAR_APART
        return with_whole_loanwords(words, positions[0], positions[-1] + 1)

    def _is_stripped(self, word: str, entity_word: str) -> bool:
        """Whether to remove a word from an end of a span; ``entity_word`` is the entity's word at the same end."""
        if word[0].isalnum() and not self._strip:
            return False
        return is_invisible(word) or (self._is_strippable(word) and not self._is_strippable(entity_word))

    def _is_strippable(self, word: str) -> bool:
        if self._strip and folded(word) in self._strip:
            return True
        return self.strip_punctuation and not word[0].isalnum() and is_punctuation(word)


def _is_genitive(word: str) -> bool:
    return word[0] in APOSTROPHES and word[1:] in {"s", "S"}


def _with_inner_genitives(positions: set[int], genitives: set[int]) -> list[int]:
    """The positions, and those between them that a genitive *'s* is linked to: *के*, which follows names in Hindi."""
    inside = range(min(positions), max(positions)) if positions else ()
    return sorted(positions | {position for position in genitives if position in inside})


def alignment_issue(alignment: Alignment, source: int, target: int) -> str:
    """What is wrong with links between sentences of these lengths; empty if nothing is.

    >>> from nersery.core.alignments import Link
    >>> alignment_issue((Link(0, 7),), 2, 3)
    'link 0-7, counted from 0: the target has 3 words, expected 0 to 2'
    """
    if not alignment:
        return ""
    starts, ends, _ = zip(*alignment, strict=True)
    for positions, length, name in ((starts, source, "source"), (ends, target, "target")):
        if min(positions) < 0 or max(positions) >= length:
            place = next(place for place, position in enumerate(positions) if not 0 <= position < length)
            link = f"link {starts[place]}-{ends[place]}"
            return f"{link}, counted from 0: the {name} has {length} words, expected 0 to {length - 1}"
    return ""


def best_probabilities(alignment: Alignment) -> tuple[Probabilities, Probabilities]:
    """The probability of the best link of each linked source word, and of each linked target word."""
    if not alignment:
        return {}, {}
    starts, ends, probabilities = zip(*alignment, strict=True)
    of_source: Probabilities = dict(zip(starts, probabilities, strict=True))
    of_target: Probabilities = dict(zip(ends, probabilities, strict=True))
    if len(of_source) == len(of_target) == len(alignment):  # each word has one link: the usual case
        return of_source, of_target
    of_source, of_target = {}, {}
    for start, end, probability in alignment:
        if probability > of_source.get(start, 0.0):
            of_source[start] = probability
        if probability > of_target.get(end, 0.0):
            of_target[end] = probability
    return of_source, of_target


def alignment_quality(
    best: tuple[Probabilities, Probabilities], source: Iterable[int], target: Iterable[int], unaligned: float
) -> float:
    """The geometric mean, over words of both sentences, of the probability of a word's best link, in (0, 1].

    Args:
        best: See `best_probabilities`.
        source: Positions of the source words that count.
        target: Positions of the target words that count.
        unaligned: Probability that counts for a word without a link.

    >>> from nersery.core.alignments import Link
    >>> alignment_quality(best_probabilities((Link(0, 0, 0.5), Link(1, 1))), range(2), range(2), 0.1)
    0.7071067811865476
    """
    of_source, of_target = best
    probabilities = [*map(of_source.get, source, repeat(unaligned)), *map(of_target.get, target, repeat(unaligned))]
    return math.exp(sum(map(math.log, probabilities)) / len(probabilities))


def vote(projections: Sequence[Outcome], voting: Voting = "majority") -> Outcome:
    """Combine the projections of one target sentence from several sources.

    An entity (span and type) stays if more than half of the sources have it. If at least half have an entity somewhere,
    but no entity there has a majority, the sentence is rejected. Rejected projections do not vote; a single remaining
    one is used as it is. An entity's score is its share of the votes; the sentence's scores are means over the sources.

    Args:
        projections: Projections of one target sentence.
        voting: One vote per source, or votes weighted by alignment quality.
    """
    voters = [outcome for outcome in projections if not isinstance(outcome, Reject)]
    if len(voters) < 2:
        return voters[0] if voters else projections[0]
    weights = [1.0 if voting == "majority" else voter.scores[QUALITY] for voter in voters]
    votes = [[Entity(*label) for label in voter.labels] for voter in voters]
    further = dict.fromkeys(comment for voter in voters[1:] for comment in voter.comments)
    sentence = replace(
        voters[0],
        entities=tuple(majority_entities(votes, weights)),
        origin=Origin(METHOD, tuple(parent for voter in voters if voter.origin for parent in voter.origin.parents)),
        scores=_mean_scores(voters),
        comments=(*voters[0].comments, *(comment for comment in further if comment not in voters[0].comments)),
    )
    labels = dict.fromkeys(label for voter in voters for label in voter.labels)
    disputed = [label for label in labels if _is_disputed(label, sentence, voters, weights)]
    if not disputed:
        return sentence
    notes = (
        f"# disputed: {type_} {_words_and_span(voters[0].words[start:end], start, end)}"
        for start, end, type_ in disputed
    )
    return Reject(DISAGREE, replace(sentence, comments=(*sentence.comments, *notes)))


def _mean_scores(voters: Sequence[Sentence]) -> dict[str, float]:
    by_name: defaultdict[str, list[float]] = defaultdict(list)
    for voter in voters:
        for name, score in voter.scores.items():
            by_name[name].append(score)
    return {name: sum(scores) / len(scores) for name, scores in by_name.items()}


def _is_disputed(
    label: tuple[int, int, str], voted: Sentence, voters: Sequence[Sentence], weights: Sequence[float]
) -> bool:
    """Whether at least half of the votes have an entity in a place, but no entity has a majority there."""

    def touches(sentence: Sentence) -> bool:
        return any(map(Entity(*label).overlaps, sentence.entities))

    weight = math.fsum(weight for voter, weight in zip(voters, weights, strict=True) if touches(voter))
    return weight >= math.fsum(weights) / 2 and not touches(voted)


def _positions(entities: Iterable[Entity]) -> list[int]:
    return [position for entity in entities for position in entity.positions]


def _lost_comment(source: Sentence, entity: Entity, reason: str) -> str:
    named = _words_and_span(source.mention(entity), entity.start, entity.end)
    return f"# not projected: {entity.type} {named} of {printable(source.id)}: {reason}"


def _words_and_span(words: Sequence[str], start: int, end: int) -> str:
    return f"{' '.join(words)} [{start}, {end})"
