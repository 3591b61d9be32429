"""Sentences that must not be parted: near-duplicates, and what comes from one parent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nersery.augment.base import made_from
from nersery.data import Sentence
from nersery.select.near import Near, Text, text_of


def groups(sentences: Sequence[Sentence], similarity: float) -> list[list[Sentence]]:
    """The sentences in groups; what is alike or akin is in one, by however many steps.

    Args:
        sentences: With distinct ids.
        similarity: From which share of common words on, in order, two sentences are alike, in (0, 1]; 1 finds those
            alone that are equal but for case.

    Returns:
        Groups and their sentences in the order of the sentences.

    >>> words = ("a b c d", "a b c D", "e", "a b x d", "f")
    >>> found = groups([Sentence(tuple(text.split()), id=str(n)) for n, text in enumerate(words)], 0.75)
    >>> [[sentence.id for sentence in group] for group in found]
    [['0', '1', '3'], ['2'], ['4']]
    """
    joined = _Joined()
    for number, other in (*_akin(sentences), *_alike(sentences, similarity)):
        joined.join(number, other)
    found: dict[object, list[Sentence]] = {}
    for number, sentence in enumerate(sentences):
        found.setdefault(joined.root(number), []).append(sentence)
    return list(found.values())


class _Joined:
    """Sets that are joined two at a time."""

    def __init__(self) -> None:
        self._above: dict[object, object] = {}

    def root(self, item: object) -> object:
        """What stands for the set of an item."""
        path = []
        while (above := self._above.get(item, item)) != item:
            path.append(item)
            item = above
        self._above.update(dict.fromkeys(path, item))
        return item

    def join(self, one: object, other: object) -> None:
        """Make one set of two items' sets."""
        self._above[self.root(one)] = self.root(other)


def _akin(sentences: Sequence[Sentence]) -> Iterator[tuple[int, object]]:
    """Each sentence with its own id and those of its parents and theirs, whether they are there or not."""
    for number, sentence in enumerate(sentences):
        for id_ in (sentence.id, *(sentence.origin.parents if sentence.origin else ())):
            while id_:
                yield number, ("id", id_)
                id_, _ = made_from(id_)


def _alike(sentences: Sequence[Sentence], similarity: float) -> Iterator[tuple[int, int]]:
    """Pairs by which all sentences that are alike hang together."""
    first: dict[Text, int] = {}
    for number, sentence in enumerate(sentences):
        text = text_of(sentence)
        if text in first:
            yield number, first[text]
        else:
            first[text] = number
    if similarity == 1:
        return
    near = Near(similarity)
    for text in first:
        near.add(text)
    numbers = list(first.values())
    for place, number in enumerate(numbers):
        yield from ((number, numbers[earlier]) for earlier in near.all_near(place))
