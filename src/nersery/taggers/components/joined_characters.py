"""Characters as words, joined for a tagger that learnt from text with longer words."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from nersery.core.sentence import Sentence
from nersery.crosslingual.characters import Spans, Tokenize, spans
from nersery.io.tokenization import is_character


def joined(sentence: Sentence, tokenize: Tokenize) -> tuple[Sentence, Spans]:
    """The sentence in words of a vocabulary, without labels, and the words that each of them is made of."""
    if not any(map(is_character, sentence.words)):
        return sentence, ()
    groups = spans(sentence.words, tokenize)
    return _of_groups(sentence, groups), groups


def joined_with_labels(sentence: Sentence, tokenize: Tokenize) -> Sentence:
    """The sentence in words of a vocabulary, each cut where an entity begins or ends: to learn from.

    >>> from nersery.core.sentence import Entity
    >>> sentence = Sentence(tuple("在北京市"), (Entity(1, 3, "LOC"),))
    >>> longer = joined_with_labels(sentence, lambda text: ["▁在", "北京市"])
    >>> longer.words, longer.labels
    (('在', '北京', '市'), ((1, 2, 'LOC'),))
    """
    if not any(map(is_character, sentence.words)):
        return sentence
    borders = {place for entity in sentence.entities for place in (entity.start, entity.end)}
    groups = [part for group in spans(sentence.words, tokenize) for part in _cut(group, borders)]
    starts = {group[0]: number for number, group in enumerate(groups)}
    starts[len(sentence.words)] = len(groups)
    entities = (replace(e, start=starts[e.start], end=starts[e.end]) for e in sentence.entities)
    return _of_groups(sentence, groups).with_entities(entities)


def _of_groups(sentence: Sentence, groups: Sequence[tuple[int, ...]]) -> Sentence:
    words = ("".join(sentence.words[place] for place in group) for group in groups)
    return Sentence(tuple(words), id=sentence.id, language=sentence.language)


def _cut(group: tuple[int, ...], borders: Collection[int]) -> Iterator[tuple[int, ...]]:
    """The parts of a group of places, of which the second and later ones begin at a border."""
    starts = [at for at, place in enumerate(group) if at == 0 or place in borders]
    return (group[start:end] for start, end in itertools.pairwise([*starts, len(group)]))


def taken_apart(sentence: Sentence, labelled: Sentence, groups: Spans) -> Sentence:
    """The sentence with the labels of its joined form."""
    if not groups:
        return labelled
    return sentence.with_entities(
        replace(entity, start=groups[entity.start][0], end=groups[entity.end - 1][-1] + 1)
        for entity in labelled.entities
    )
