"""Join words of one character into longer words for the alignment, because single characters carry little meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nersery.core.alignments import Alignment, Link, Pair
from nersery.crosslingual.aligners.base import Pairs
from nersery.models.subwords.joined_characters import Tokenize, WordGroups, word_groups


@dataclass(frozen=True)
class JoinedPairs:
    """Pairs whose characters are joined while they are read; see `joined_pair`."""

    pairs: Pairs
    tokenize: Tokenize

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Pair]:
        return (joined_pair(pair, self.tokenize)[0] for pair in self.pairs)


def joined_pair(pair: Pair, tokenize: Tokenize) -> tuple[Pair, WordGroups, WordGroups]:
    """A pair with its characters joined, and the words of each joined word of the source and of the target."""
    source, target = word_groups(pair.source, tokenize), word_groups(pair.target, tokenize)
    joined = replace(pair, source=_texts(pair.source, source), target=_texts(pair.target, target))
    return joined, source, target


def _texts(words: Sequence[str], groups: WordGroups) -> tuple[str, ...]:
    return tuple("".join(words[position] for position in group) for group in groups)


def character_links(alignment: Alignment, source: WordGroups, target: WordGroups) -> Alignment:
    """Expand the links of joined words into links of all the words that they consist of.

    >>> character_links((Link(0, 1, 0.5),), ((0,),), ((0,), (1, 2)))
    (Link(source=0, target=1, probability=0.5), Link(source=0, target=2, probability=0.5))
    """
    return tuple(
        sorted(
            Link(left, right, link.probability)
            for link in alignment
            for left in source[link.source]
            for right in target[link.target]
        )
    )
