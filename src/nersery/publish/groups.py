"""Sentences that must share a split: near-duplicates, and sentences that come from one parent."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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
    for number, other in _with_ancestors(sentences):
        joined.join(number, other)
    _join_alike(joined, sentences, similarity)
    groups_by_root: dict[object, array[int]] = {}
    for number in range(len(sentences)):
        groups_by_root.setdefault(joined.root(number), array("L")).append(number)
    return list(groups_by_root.values())


def _with_ancestors(sentences: Sequence[Sentence]) -> Iterator[tuple[int, object]]:
    """Each sentence with the ids of its ancestors, and each ancestor with its own id. Ancestors may be missing."""
    named = {id_ for sentence in sentences for id_ in ancestors(sentence)}
    for number, sentence in enumerate(sentences):
        for id_ in (sentence.id, *ancestors(sentence)):
            if id_ in named:
                yield number, ("id", id_)


def _join_alike(joined: DisjointSets, sentences: Sequence[Sentence], similarity: float) -> None:
    """Join sentences that are similar.

    Texts are compared only if they share a rare word. A large set is compared separately, and only until one of its
    texts is similar. Otherwise, a corpus with many near-duplicates would take quadratic time.
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
    index: dict[int, _Postings] = defaultdict(_Postings)
    for place, number in enumerate(numbers):
        postings = [index[word] for word in near.rare_words(place)]
        large: dict[object, list[list[int]]] = defaultdict(list)  # by the root of a set, its texts with each word
        for places in postings:
            places.sort(joined, numbers)
            for root, members in places.large.items():
                large[root].append(members)
        for other in near.similar_among(place, {other for places in postings for other in places.others}):
            joined.join(number, numbers[other])
        for root, parts in large.items():
            is_other = joined.root(root) != joined.root(number)
            if is_other and next(near.similar_among(place, _each_once(parts)), None) is not None:
                joined.join(number, root)
        for places in postings:
            places.others.append(place)


@dataclass(slots=True)
class _Postings:
    """Earlier texts with one word. Those of a large set are kept apart, because one similar text of a set is enough."""

    large: dict[object, list[int]] = field(default_factory=dict)
    others: list[int] = field(default_factory=list)
    _sorted: int = 0

    def sort(self, joined: DisjointSets, numbers: Sequence[int]) -> None:
        """Update the large sets after sentences were joined; sort the other texts only if there are enough of them."""
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
        """Append the shorter list to the longer one."""
        few, many = sorted((places, self.large.get(root, [])), key=len)
        many.extend(few)
        self.large[root] = many


def _each_once(parts: Iterable[Iterable[int]]) -> Iterator[int]:
    seen: set[int] = set()
    for number in chain.from_iterable(parts):
        if number not in seen:
            seen.add(number)
            yield number
