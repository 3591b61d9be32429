"""Detects which column of a file has the words, and which one numbers them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, pairwise

NEARLY_ALL = 0.9
MIN_ROWS = 5
MAX_DIGITS = 10
NUMBER = re.compile(r"(\d{1,9})(?:[-.](\d{1,9}))?")
"""A word's number, as in CoNLL-U: ``3``, the range ``3-4`` of words, or ``3.1`` for a word that is not in the text."""
_Row = Sequence[str]
_BySentence = Sequence[Sequence[str]]
"""The values of a column in each sentence."""


def word_and_number(
    sentences: Sequence[Sequence[_Row]], tags: Sequence[int], named: int | None, *, is_conllu: bool
) -> tuple[int, int | None]:
    """The column of the words, and the one that numbers them, if there is one.

    Args:
        sentences: Lines of each sentence, all with the same number of columns. Other lines divide a sentence.
        tags: Columns of tags, first the one that is read.
        named: The column of the words if the user names it.
        is_conllu: Whether sentences of one word are known to be numbered, too.
    """
    rows, tagged = [*chain.from_iterable(sentences)], {*tags}  # a set: a line of text may have 100,000 columns
    others = [at for at in range(len(rows[0])) if at not in (tags[0], named)]
    numbers = [at for at in others if _numbers_words(_column(sentences, at), is_conllu=is_conllu)]
    number = numbers[0] if numbers else None
    if named is not None:
        return named, number
    numbering = {*numbers}
    first, *rest = [at for at in others if at not in numbering] or others[-1:]
    varied = [at for at in rest if at not in tagged and not _names_document(_column(sentences, at))]
    word = varied[0] if varied and _names_document(_column(sentences, first)) else first
    word = _after_offsets(rows, [at for at in others if at >= word and at not in tagged], word)
    return word, None if word == number else number


def column_with_letters(columns: Sequence[Sequence[str]], word: int, tags: Sequence[int]) -> int | None:
    """A column that may have the words if nearly no value in the column of the words has a letter; otherwise None.

    Offsets have no letters. Of several columns with letters, the one with the most different values has the words.

    >>> column_with_letters([("0:3", "4:9"), ("Ada", "ran"), ("B-PER", "O")], word=0, tags=[2])
    1
    """
    if _share_of_letters(columns[word]) > 1 - NEARLY_ALL:
        return None
    others = [at for at, column in enumerate(columns) if at not in tags and _share_of_letters(column) > 0.5]
    return max(others, key=lambda at: len({*columns[at]}), default=None)


def _share_of_letters(values: Sequence[str]) -> float:
    """The share of values with a letter."""
    return sum(any(map(str.isalpha, value)) for value in values) / len(values)


def _after_offsets(rows: Sequence[_Row], columns: Sequence[int], word: int) -> int:
    """The third column if the first two hold the word's first character and the one after its last; otherwise ``word``.

    The output of brat's ``anntoconll.py`` and the files of NERsuite have these columns.
    """
    if len(rows) < MIN_ROWS or len(columns) < 3:
        return word
    fitting = sum(_measures(*(row[at] for at in columns[:3])) for row in rows)
    return columns[2] if fitting >= NEARLY_ALL * len(rows) else word


def _measures(start: str, end: str, word: str) -> bool:
    are_places = all(place.isdecimal() and len(place) < MAX_DIGITS for place in (start, end))
    return are_places and int(end) - int(start) == len(word)


def _column(sentences: Sequence[Sequence[Sequence[str]]], at: int) -> _BySentence:
    return [[row[at] for row in rows] for rows in sentences]


def _names_document(values: _BySentence) -> bool:
    """Whether a column has the same value for all words in nearly every sentence of several words."""
    several = [sentence for sentence in values if len(sentence) > 1]
    return bool(several) and sum(len(set(sentence)) == 1 for sentence in several) >= NEARLY_ALL * len(several)


def _numbers_words(values: _BySentence, *, is_conllu: bool) -> bool:
    """Whether nearly all values of a column are numbers, and nearly all within a sentence follow the one before.

    Sentences of one word prove nothing; those of CoNLL-U are known to be numbered.
    """
    everything = [value for sentence in values for value in sentence]
    steps = [step for sentence in values for step in pairwise(sentence)]
    if is_conllu and not steps:
        return set(everything) == {"1"}
    numbers = sum(NUMBER.fullmatch(value) is not None for value in everything)
    follow = sum(_follows(*step) for step in steps)
    return bool(steps) and numbers >= NEARLY_ALL * len(everything) and follow >= NEARLY_ALL * len(steps)


def _follows(before: str, after: str) -> bool:
    """Whether a number can be in the line after another.

    >>> _follows("3", "4"), _follows("1-2", "1"), _follows("1-2", "3"), _follows("8", "8.1"), _follows("3", "3")
    (True, True, True, True, False)
    """
    old, new = NUMBER.fullmatch(before), NUMBER.fullmatch(after)
    if old is None or new is None:
        return False
    first, last, number = int(old[1]), int(old[2] or old[1]), int(new[1])
    return number in (first + 1, last + 1) or (number == first and bool(old[2] or new[2]))
