"""Characters as words, joined into the words of a vocabulary, as a pretrained encoder has learnt to read them."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from dataclasses import replace

from nersery.core.sentence import Sentence, SoftLabel
from nersery.crosslingual.characters import Spans, Tokenize, spans
from nersery.io.scripts_without_spaces import is_character


def joined(sentence: Sentence, tokenize: Tokenize, *, labelled: bool = False) -> tuple[Sentence, Spans]:
    """The sentence in words of a vocabulary, and the words that each of them is made of; none if nothing is joined.

    Args:
        labelled: Keep the labels, and part words of the vocabulary where an entity begins or ends.

    >>> from nersery.core.sentence import Entity
    >>> sentence = Sentence(tuple("在北京市"), (Entity(1, 3, "LOC"),))
    >>> longer, groups = joined(sentence, lambda text: ["▁在", "北京市"], labelled=True)
    >>> longer.words, longer.labels, groups
    (('在', '北京', '市'), ((1, 2, 'LOC'),), ((0,), (1, 2), (3,)))
    """
    if not any(map(is_character, sentence.words)):
        return sentence, ()
    groups = spans(sentence.words, tokenize)
    if labelled:
        borders = {place for entity in sentence.entities for place in (entity.start, entity.end)}
        groups = tuple(part for group in groups for part in _parted(group, borders))
    words = tuple("".join(sentence.words[place] for place in group) for group in groups)
    longer = Sentence(words, id=sentence.id, language=sentence.language)
    if not labelled:
        return longer, groups
    starts = {group[0]: number for number, group in enumerate(groups)} | {len(sentence.words): len(groups)}
    entities = [replace(e, start=starts[e.start], end=starts[e.end]) for e in sentence.entities]
    soft = [replace(label, word=starts[label.word]) for label in sentence.soft_labels if label.word in starts]
    return replace(longer, entities=tuple(entities), soft_labels=tuple(soft)), groups


def taken_apart(sentence: Sentence, labelled: Sentence, groups: Spans) -> Sentence:
    """The sentence with the labels of its joined form."""
    if not groups:
        return labelled
    entities = (
        replace(entity, start=groups[entity.start][0], end=groups[entity.end - 1][-1] + 1)
        for entity in labelled.entities
    )
    soft = [label for joint in labelled.soft_labels for label in _of_words(joint, groups[joint.word])]
    return replace(sentence, entities=tuple(entities), soft_labels=tuple(sorted(soft)))


def _parted(group: tuple[int, ...], borders: Collection[int]) -> Iterator[tuple[int, ...]]:
    """The parts of a group of places, of which the second and later ones begin at a border."""
    starts = [at for at, place in enumerate(group) if at == 0 or place in borders]
    return (group[start:end] for start, end in itertools.pairwise([*starts, len(group)]))


def _of_words(label: SoftLabel, places: tuple[int, ...]) -> Iterator[SoftLabel]:
    """A soft label for each of the words that were joined: only the first of them may begin a mention."""
    first, *rest = places
    yield replace(label, word=first)
    for place in rest:
        yield SoftLabel(place, label.type, 0.0, round(label.begin + label.inside, 4))
