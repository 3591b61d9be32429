"""Parse words and tag tokens that a model wrote into a sentence, and check what such a sentence must keep.

The parser never guesses: a word belongs to an entity only if its tag tokens mark it, and anything that is not well
formed is rejected with a reason rather than repaired.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from nersery.augment.base import NO_ENTITIES
from nersery.augment.linearized.linearization import tag_token
from nersery.core.errors import DataError
from nersery.core.outcome import Reject
from nersery.core.sentence import UNKNOWN_COLUMN, Entity, Sentence
from nersery.core.text.text_forms import folded
from nersery.io.word_splitting.scripts_without_spaces import has_letter_or_digit
from nersery.io.word_splitting.tokenization import outer_punctuation
from nersery.models.tokens import TOKEN_PREFIX

NO_WORDS = "no words"
EMPTY_WORD = "empty word"
UNSTORABLE = "word that no file can hold"
UNBALANCED = "unbalanced tag tokens"
WITHOUT_WORD = "tag token without a word"
UNKNOWN_TAG = "unknown tag token"
UNKNOWN_TYPE = "a type that the model has not learnt"
ILLEGAL = "illegal tag sequence"
LEFT_OVER = "mask or unknown token left over"
ONLY_PUNCTUATION = "entity without a letter or digit"
LOST = "entity of the template lost or changed"
REPEATED = "mention repeated without its label"
NEAR_COPY = "near-copy of its parent"

ROUNDING = 1e-6
"""Tolerance for rounding errors when a similarity is compared with a bound."""

Tag = tuple[str, bool]
"""A type, and whether its mention begins here."""
LabelledMention = tuple[tuple[str, ...], str]
"""The words of an entity, and its type."""


def parse(words: Sequence[str], types: Collection[str], *, closed: bool = True) -> Sentence | Reject:
    """The sentence that words and tag tokens represent, or a reject.

    Args:
        words: Words that begin with `TOKEN_PREFIX` are tokens, all others text.
        types: Types with known tag tokens.
        closed: Tag tokens are on both sides of a word, as `linearize` writes them; otherwise only before it.

    >>> types = {"PER"}
    >>> begins, inside = tag_token("PER", begins=True), tag_token("PER", begins=False)
    >>> parse([begins, "Jo", begins, inside, "Li", inside, "won"], types).labels
    ((0, 2, 'PER'),)
    >>> parse([begins, "Jo", inside, "Li", "won"], types, closed=False).labels
    ((0, 2, 'PER'),)
    >>> parse([begins, "Jo", "won"], types).reason
    'unbalanced tag tokens'
    """
    tags = {tag_token(type_, begins=begins): (type_, begins) for type_ in types for begins in (True, False)}
    issue = _issue(words, tags)
    tagged = _tagged(words, tags, closed) if issue is None else Reject(issue)
    if isinstance(tagged, Reject):
        return tagged
    entities = _entities([tag for _, tag in tagged])
    if entities is None:
        return Reject(ILLEGAL)
    try:
        return Sentence(tuple(word for word, _ in tagged), entities)
    except DataError:
        return Reject(UNSTORABLE)


def parsed_child(
    words: Sequence[str], types: Collection[str], parent: Sentence, known: Collection[tuple[str, ...]]
) -> Sentence | Reject:
    """The child of a sentence, parsed from words with tag tokens before them. A child without entities is a reject.

    Args:
        known: The mentions of gold without a letter or digit; see `punctuation_mentions`.
    """
    sentence = parse(words, types, closed=False)
    if isinstance(sentence, Reject):
        return rejected(sentence.reason, words, parent)
    child = child_of(parent, sentence)
    if not child.entities:
        return Reject(NO_ENTITIES, child)
    return child if punctuation_mentions([child]) <= {*known} else Reject(ONLY_PUNCTUATION, child)


def punctuation_mentions(sentences: Iterable[Sentence]) -> frozenset[tuple[str, ...]]:
    """The mentions without a letter or digit, such as *%* in a corpus of units.

    >>> punctuation_mentions([Sentence(("5", "%"), (Entity(0, 1, "NUM"), Entity(1, 2, "UNIT")))])
    frozenset({('%',)})
    """
    mentions = (sentence.mention(entity) for sentence in sentences for entity in sentence.entities)
    return frozenset(mention for mention in mentions if not any(map(has_letter_or_digit, mention)))


def rejected(reason: str, words: Sequence[str], parent: Sentence) -> Reject:
    """A reject with the words and tokens that a model wrote for a parent, all as text, if a file can hold them.

    >>> rejected(UNBALANCED, ["won", tag_token("PER", begins=True)], Sentence(("Jo",))).sentence.text
    'won <b-PER>'
    """
    texts = (
        f"<{word.removeprefix(TOKEN_PREFIX)}>"
        if word.startswith(TOKEN_PREFIX) and word[1:2] != "<"
        else word.removeprefix(TOKEN_PREFIX)
        for word in words
        if word.strip(" ")
    )
    try:
        return Reject(reason, child_of(parent, Sentence(tuple(texts))))
    except DataError:
        return Reject(reason)


def child_of(parent: Sentence, sentence: Sentence) -> Sentence:
    """The sentence with the language of its parent, and with unknown values in the parent's extra columns."""
    unknown = (UNKNOWN_COLUMN,) * len(sentence)
    return replace(sentence, language=parent.language, columns=(unknown,) * len(parent.columns))


def has_mentions(sentence: Sentence, mentions: Iterable[LabelledMention]) -> bool:
    """Whether a sentence has all mentions that it should have.

    Their order does not matter. A mention that is required twice must occur twice, and there may be others.
    """
    present = Counter((sentence.mention(entity), entity.type) for entity in sentence.entities)
    return Counter(mentions) <= present


def mentions_outside(
    sentences: Iterable[Sentence], mentions: Collection[tuple[str, ...]]
) -> frozenset[tuple[str, ...]]:
    """The mentions, without punctuation that is attached to words, whose words also occur outside entities.

    >>> sentence = Sentence(("Oslo", "?", "Yes", ",", "Oslo!"), (Entity(0, 1, "LOC"),))
    >>> mentions_outside([sentence], [("Oslo?",), ("Yes", "Oslo")])
    frozenset({('Oslo',)})
    """
    known = set(map(_without_outer_punctuation, mentions))
    lengths = set(map(len, known))
    found = set()
    for sentence in sentences:
        words, inside = _without_outer_punctuation(sentence.words), sentence.inside
        for start, length in itertools.product(sentence.outside, lengths):
            text = words[start : start + length]
            if text in known and inside.isdisjoint(range(start, start + length)):
                found.add(text)
    return frozenset(found)


def is_near_copy(sentence: Sentence, parents: Iterable[Sentence], similarity: float) -> bool:
    """Whether the words of a sentence are nearly those of one of the parents.

    Args:
        similarity: Minimum share of the words of both, in (0, 1], that are in their longest common subsequence for the
            sentence to be a near-copy. Case does not matter.
    """
    from rapidfuzz.distance import Indel

    # Indel only counts insertions and deletions, so its similarity is twice the subsequence divided by both lengths.
    text = _folded(sentence)
    alike = (Indel.normalized_similarity(text, _folded(parent)) for parent in parents)
    return any(share >= similarity - ROUNDING for share in alike)


def _issue(words: Sequence[str], tags: Collection[str]) -> str | None:
    """The first issue of words and tokens, each checked by itself."""
    for word in words:
        if word.startswith(TOKEN_PREFIX) and word not in tags:
            return UNKNOWN_TAG if word.startswith((f"{TOKEN_PREFIX}<b-", f"{TOKEN_PREFIX}<i-")) else LEFT_OVER
        if not word.strip(" "):
            return EMPTY_WORD
    return None if words else NO_WORDS


def _tagged(words: Sequence[str], tags: Mapping[str, Tag], closed: bool) -> list[tuple[str, Tag | None]] | Reject:
    """Each word that is not a token, with its tag."""
    # A tag token opens a group: token, word, and if `closed` the same token again. Taking the group at once from one
    # iterator makes nesting, a missing end and a wrong end the same case: the next item is not the expected one.
    tagged: list[tuple[str, Tag | None]] = []
    rest = iter(words)
    for word in rest:
        if word not in tags:
            tagged.append((word, None))
            continue
        inner = next(rest, None)
        if inner is None or inner in tags:
            return Reject(UNBALANCED if closed and inner != word else WITHOUT_WORD)
        if closed and next(rest, None) != word:
            return Reject(UNBALANCED)
        tagged.append((inner, tags[word]))
    return tagged


def _entities(tags: Sequence[Tag | None]) -> tuple[Entity, ...] | None:
    """The entities of a sequence of tags; None if it is illegal."""
    entities: list[Entity] = []
    for position, tag in enumerate(tags):
        if tag is None:
            continue
        type_, begins = tag
        if begins:
            entities.append(Entity(position, position + 1, type_))
        elif entities and (entities[-1].end, entities[-1].type) == (position, type_):
            entities[-1] = replace(entities[-1], end=position + 1)
        else:  # inside without a beginning: IOB1 would open an entity here, but that would be a guess
            return None
    return tuple(entities)


def _without_outer_punctuation(words: Sequence[str]) -> tuple[str, ...]:
    outer = map(outer_punctuation, words)
    return tuple(
        word[len(before) : len(word) - len(behind)] for word, (before, behind) in zip(words, outer, strict=True)
    )


def _folded(sentence: Sentence) -> list[str]:
    """The words in a form without differences in case, in the encoding of accents, and in spaces in words."""
    return folded(" ".join(sentence.words)).split()
