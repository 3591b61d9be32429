"""Entities of one type in one language, to draw from or to search by similarity."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nersery.core.sentence import Entity, Sentence
from nersery.core.text.inflection import inflected, inflection
from nersery.core.text.spacing import spaces_in
from nersery.core.text.text_forms import unspaced

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Embeddings = NDArray[np.float32]

Mention = tuple[str, ...]
BLOCK = 1 << 21
"""Number of similarities that are computed at once: 16 MiB."""
DECIMALS = 6
"""Decimals of a similarity. Smaller differences are rounding errors, and count as ties on every machine."""


def without_ending(sentence: Sentence, entity: Entity) -> tuple[Mention, str]:
    """A mention without the ending that an apostrophe joins to its last word, and that ending."""
    *words, last = sentence.mention(entity)
    ending = inflection(last, sentence.language)
    return (*words, last.removesuffix(ending)), ending


def with_ending(mention: Mention, ending: str, language: str) -> Mention:
    """A mention with the ending of another one after its last word."""
    return (*mention[:-1], inflected(mention[-1], ending, language))


def spaces_in_mentions(sentences: Iterable[Sentence]) -> dict[Mention, list[bool]]:
    """Whether a space follows each word but the last of mentions without their ending, in their first sentence."""
    spaces: dict[Mention, list[bool]] = {}
    for sentence in sentences:
        for entity in sentence.entities if sentence.offsets else ():
            mention, _ = without_ending(sentence, entity)
            if len(mention) > 1 and mention not in spaces:
                spaces[mention] = spaces_in(sentence.offsets[entity.start : entity.end])
    return spaces


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """The entities of one type in one language that can be inserted.

    Args:
        mentions: Mentions with distinct texts, sorted.
        index_of: The position of each mention in ``mentions``, by its text in the form of `unspaced`.
        matrix: Embeddings of the mentions, of length 1; None if they are not searched. Shape: (mentions, dimension).
    """

    mentions: tuple[Mention, ...]
    index_of: Mapping[str, int]
    matrix: Embeddings | None

    @classmethod
    def of(cls, mentions: Sequence[Mention], matrix: Embeddings | None) -> Gazetteer:
        """The gazetteer of sorted mentions, without those that have no embedding.

        Of mentions with the same text, it has the last, which has fewer words or composed letters.

        >>> Gazetteer.of([("Guerra", "Ltda", "."), ("Guerra", "Ltda."), ("Pinto",)], None).mentions
        (('Guerra', 'Ltda.'), ('Pinto',))
        """
        usable = range(len(mentions)) if matrix is None else has_embedding(matrix).nonzero()[0].tolist()
        kept = sorted({unspaced(mentions[row]): row for row in usable}.values())
        distinct = tuple(mentions[row] for row in kept)
        index_of = {unspaced(mention): index for index, mention in enumerate(distinct)}
        return cls(distinct, index_of, None if matrix is None else matrix[kept])

    def has_other(self, mention: Mention) -> bool:
        """Whether there is an entity with another text."""
        return len(self.mentions) > (unspaced(mention) in self.index_of)

    def draw_other(self, mention: Mention, rng: random.Random) -> Mention:
        """Draw an entity with another text, all equally likely; there must be one."""
        count = len(self.mentions)
        index = self.index_of.get(unspaced(mention), count)
        drawn = int(rng.random() * (count - (index < count)))
        return self.mentions[drawn if drawn < index else drawn + 1]

    def nearest(self, mentions: Sequence[Mention], matrix: Embeddings) -> list[Mention | None]:
        """The entity with the highest cosine for each mention, the first of ties; None if it has no embedding."""
        import numpy as np

        assert self.matrix is not None
        targets = self.matrix.T.astype(np.float64)
        rows = max(1, BLOCK // len(self.mentions))
        nearest: list[Mention | None] = []
        for start in range(0, len(mentions), rows):
            block = matrix[start : start + rows].astype(np.float64)
            cosines = np.round(block @ targets, DECIMALS)
            for row, mention in enumerate(mentions[start : start + rows]):
                if (index := self.index_of.get(unspaced(mention))) is not None:
                    cosines[row, index] = -np.inf
            best = cosines.argmax(axis=1)
            usable = has_embedding(block) & (cosines.max(axis=1) > -np.inf)
            nearest += [self.mentions[index] if use else None for index, use in zip(best, usable, strict=True)]
        return nearest


def has_embedding(matrix: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Whether each row is an embedding rather than zeros."""
    import numpy as np

    return np.asarray(matrix.any(axis=1))
