"""Sentences that must not be parted: near-duplicates, and what comes from one parent."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from nersery.augment.base import ancestors
from nersery.core.disjoint_sets import DisjointSets
from nersery.core.sentence import Sentence
from nersery.select.components.near_duplicates import ExactDuplicates, NearDuplicates, text_of

LARGE = 16
"""Minimum size of a set that is processed as a whole."""


def groups(sentences: Sequence[Sentence], similarity: float) -> list[array[int]]:
    """Group the numbers of sentences that are similar or have a common origin, directly or through others.

    Args:
        sentences: With unique ids.
        similarity: Minimum share of common words, in the same order, of similar sentences, in (0, 1]; 1 finds those
            that are equal except for case.

    Returns:
        Groups and their sentences, in the order of the sentences.

    >>> words = ("a b c d", "a b c D", "e", "a b x d", "f")
    >>> found = groups([Sentence(tuple(text.split()), id=str(n)) for n, text in enumerate(words)], 0.75)
    >>> [list(group) for group in found]
    [[0, 1, 3], [2], [4]]
    """
    joined = DisjointSets()
    for number, other in _akin(sentences):
        joined.join(number, other)
    _join_alike(joined, sentences, similarity)
    groups_by_root: dict[object, array[int]] = {}
    for number in range(len(sentences)):
        groups_by_root.setdefault(joined.root(number), array("L")).append(number)
    return list(groups_by_root.values())


def _akin(sentences: Sequence[Sentence]) -> Iterator[tuple[int, object]]:
    """Each sentence with the ids of its parents and theirs, whether they are there or not, and they with their own."""
    named = {id_ for sentence in sentences for id_ in ancestors(sentence)}
    for number, sentence in enumerate(sentences):
        for id_ in (sentence.id, *ancestors(sentence)):
            if id_ in named:
                yield number, ("id", id_)


def _join_alike(joined: DisjointSets, sentences: Sequence[Sentence], similarity: float) -> None:
    """Join sentences that are alike.

    Texts are compared only where they share a rare word. A large set is asked apart, and only until one of its texts is
    alike; otherwise a corpus of many near-duplicates would take quadratic time.
    """
    exact, near, numbers = ExactDuplicates(), NearDuplicates(similarity), array("L")
    for number, sentence in enumerate(sentences):
        text = text_of(sentence)
        exact.add(text)
        score, first = exact.nearest(number)
        if score:
            joined.join(number, first)
        elif similarity < 1:
            near.add(text)
            numbers.append(number)
    index: dict[int, _Places] = defaultdict(_Places)
    for place, number in enumerate(numbers):
        postings = [index[word] for word in near.rare_words(place)]
        large: dict[object, list[list[int]]] = defaultdict(list)  # by the root of a set, its texts with each word
        for places in postings:
            places.sort(joined, numbers)
            for root, members in places.large.items():
                large[root].append(members)
        for other in near.near_among(place, {other for places in postings for other in places.others}):
            joined.join(number, numbers[other])
        for root, parts in large.items():
            is_other = joined.root(root) != joined.root(number)
            if is_other and next(near.near_among(place, _each_once(parts)), None) is not None:
                joined.join(number, root)
        for places in postings:
            places.others.append(place)


class _Places:
    """Earlier texts with one word; those of a large set apart, for of these a single one that is alike will do."""

    __slots__ = ("_sorted", "large", "others")

    def __init__(self) -> None:
        self.large: dict[object, list[int]] = {}
        self.others: list[int] = []
        self._sorted = 0

    def sort(self, joined: DisjointSets, numbers: Sequence[int]) -> None:
        """Follow what has been joined, where there is enough to make it worth the while."""
        for old in [root for root in self.large if joined.root(root) != root]:
            self._add(joined.root(old), self.large.pop(old))
        if len(self.others) < 2 * self._sorted + LARGE:
            return
        others, self.others = self.others, []
        for place in others:
            root = joined.root(numbers[place])
            if joined.size(root) < LARGE:
                self.others.append(place)
            else:
                self._add(root, [place])
        self._sorted = len(self.others)

    def _add(self, root: object, places: list[int]) -> None:
        """Put the shorter list behind the longer one."""
        few, many = sorted((places, self.large.get(root, [])), key=len)
        many.extend(few)
        self.large[root] = many


def _each_once(parts: Iterable[Iterable[int]]) -> Iterator[int]:
    seen: set[int] = set()
    for number in chain.from_iterable(parts):
        if number not in seen:
            seen.add(number)
            yield number
