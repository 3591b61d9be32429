"""Joins words of one character into the words of a vocabulary, as a pretrained encoder has learnt to read them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from unicodedata import category, normalize

from nersery.core.sentence import Sentence, SoftLabel
from nersery.core.text.scripts import is_katakana
from nersery.io.word_splitting.scripts_without_spaces import OF_FOREIGN_NAMES, is_character

SPACE = "▁"
"""Stands for a space in SentencePiece vocabularies."""
_BEFORE_PARTICLE = re.compile("[\u30a1-\u30fa\u30fc](?=[\u3041-\u3096])")
"""Katakana before hiragana: vocabularies have words such as *ルの*, which would add a particle to a name."""
Tokenize = Callable[[str], Sequence[str]]
WordGroups = tuple[tuple[int, ...], ...]
"""For each joined word the positions of the words that it consists of."""


def word_groups(words: Sequence[str], tokenize: Tokenize) -> WordGroups:
    """Which words to join: runs of characters of a script without spaces, split as by the vocabulary of a model.

    However, foreign names in Japanese and Chinese stay whole.

    >>> word_groups(("我", "在", "北", "京", "a"), lambda text: ["▁我", "在", "北京"])
    ((0,), (1,), (2, 3), (4,))
    """
    groups: list[tuple[int, ...]] = []
    for is_run, positions in itertools.groupby(range(len(words)), key=lambda position: is_character(words[position])):
        run = list(positions)
        groups += _cut(run, words, tokenize) if is_run and len(run) > 1 else [(position,) for position in run]
    return tuple(groups)


def _cut(run: Sequence[int], words: Sequence[str], tokenize: Tokenize) -> list[tuple[int, ...]]:
    texts = [_normalized(words[position]) for position in run]
    text = "".join(texts)
    subwords = [subword.removeprefix(SPACE) for subword in tokenize(text)]
    if "".join(subwords) != text:  # unknown to the vocabulary
        return [(position,) for position in run]
    ends = {end for end in itertools.accumulate(map(len, subwords)) if not is_katakana(text[end - 1 : end + 1])}
    ends |= {len(text), *(match.end() for match in _BEFORE_PARTICLE.finditer(text))}
    groups: list[list[int]] = [[]]
    for position, end in zip(run, itertools.accumulate(map(len, texts)), strict=True):
        groups[-1].append(position)
        if end in ends:
            groups.append([])
    return _with_whole_names([tuple(group) for group in groups if group], words)


def _with_whole_names(groups: Sequence[tuple[int, ...]], words: Sequence[str]) -> list[tuple[int, ...]]:
    """The groups, with lone characters of foreign names joined to their neighbours. Vocabularies have few such names.

    >>> _with_whole_names([(0, 1), (2,), (3,), (4,)], "亚利桑那州")
    [(0, 1, 2, 3), (4,)]
    """
    joined: list[tuple[int, ...]] = []
    for group in groups:
        around = (*joined[-1:], group)
        if (
            len(around) == 2
            and 1 in map(len, around)
            and OF_FOREIGN_NAMES.issuperset(words[i] for i in itertools.chain(*around))
        ):
            joined[-1] += group
        else:
            joined.append(group)
    return joined


def _normalized(word: str) -> str:
    """A word as SentencePiece normalizes it: Thai *ำ* becomes two characters, and a zero-width space is removed."""
    return "".join(character for character in normalize("NFKC", word) if category(character) != "Cf")


def with_joined_characters(
    sentence: Sentence, tokenize: Tokenize, *, labelled: bool = False
) -> tuple[Sentence, WordGroups]:
    """The sentence in words of a vocabulary, and the positions that each of them joins; empty if nothing is joined.

    Args:
        labelled: Keep the labels, and split words of the vocabulary where an entity begins or ends.

    >>> from nersery.core.sentence import Entity
    >>> sentence = Sentence(tuple("在北京市"), (Entity(1, 3, "LOC"),))
    >>> longer, groups = with_joined_characters(sentence, lambda text: ["▁在", "北京市"], labelled=True)
    >>> longer.words, longer.labels, groups
    (('在', '北京', '市'), ((1, 2, 'LOC'),), ((0,), (1, 2), (3,)))
    """
    if not any(map(is_character, sentence.words)):
        return sentence, ()
    groups = word_groups(sentence.words, tokenize)
    if labelled:
        borders = {position for entity in sentence.entities for position in (entity.start, entity.end)}
        groups = tuple(part for group in groups for part in _split_at(group, borders))
    words = tuple("".join(sentence.words[position] for position in group) for group in groups)
    longer = Sentence(words, id=sentence.id, language=sentence.language)
    if not labelled:
        return longer, groups
    starts = {group[0]: number for number, group in enumerate(groups)} | {len(sentence.words): len(groups)}
    entities = [replace(e, start=starts[e.start], end=starts[e.end]) for e in sentence.entities]
    soft = [replace(label, word=starts[label.word]) for label in sentence.soft_labels if label.word in starts]
    return replace(longer, entities=tuple(entities), soft_labels=tuple(soft)), groups


def character_labels(sentence: Sentence, labelled: Sentence, groups: WordGroups) -> Sentence:
    """The sentence with the labels of its joined form."""
    if not groups:
        return labelled
    entities = (
        replace(entity, start=groups[entity.start][0], end=groups[entity.end - 1][-1] + 1)
        for entity in labelled.entities
    )
    soft = [label for joint in labelled.soft_labels for label in _of_words(joint, groups[joint.word])]
    return replace(sentence, entities=tuple(entities), soft_labels=tuple(sorted(soft)))


def _split_at(group: tuple[int, ...], borders: Collection[int]) -> Iterator[tuple[int, ...]]:
    """The group of positions, split before each position that is a border."""
    starts = [at for at, position in enumerate(group) if at == 0 or position in borders]
    return (group[start:end] for start, end in itertools.pairwise([*starts, len(group)]))


def _of_words(label: SoftLabel, positions: tuple[int, ...]) -> Iterator[SoftLabel]:
    """A soft label for each of the words that were joined. Only the first word may begin a mention."""
    first, *rest = positions
    yield replace(label, word=first)
    for position in rest:
        yield SoftLabel(position, label.type, 0.0, round(label.begin + label.inside, 4))
