"""Texts with gaps in a model's pieces."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from nersery.models.masked.masked_inputs import OWN, Cloze
from nersery.models.subwords.subwords import PieceEncoder, Window

MASKS = OWN + "masks "
"""Begins the word that stands for masks."""
Place = tuple[int, int]
"""A gap, by the position of its word, and which piece of it."""


@dataclass(frozen=True, slots=True)
class Row:
    """A window for the model, with masks in it.

    Args:
        window: Its pieces, masks among them.
        positions: Where the masks are that this window decides on.
        targets: The pieces that stood there before.
        places: For each of them the gap that it belongs to, and its number there.
    """

    window: Window
    positions: tuple[int, ...]
    targets: tuple[int, ...]
    places: tuple[Place, ...]


class GapEncoder:
    """Turns texts with gaps into rows of pieces.

    Each gap is decided on in one window alone, so that it is seen with words on both sides.

    Args:
        mask: The id of the mask token.
    """

    def __init__(self, pieces: PieceEncoder, mask: int) -> None:
        self.pieces, self.mask = pieces, mask

    def rows(self, cloze: Cloze, asked: int | None = None) -> list[Row]:
        """Every piece of every gap hidden, also where a neighbouring window decides on it.

        Args:
            asked: Ask only for the pieces of a gap with this id; None asks for all.
        """
        rows = []
        for window in self._windows(cloze):
            if places := list(self._each_place(window, cloze, range(*window.core), asked)):
                seen = range(window.start, window.start + len(window.firsts))
                hidden = [position for position, _ in self._each_place(window, cloze, seen, asked)]
                rows.append(self._masked(window, places, hidden))
        return rows

    def hidden(self, cloze: Cloze, rate: float, rng: random.Random) -> list[Row]:
        """Each piece of a gap hidden with a probability, but at least one a window."""
        rows = []
        for window in self._windows(cloze):
            if places := list(self._each_place(window, cloze, range(*window.core))):
                chosen = [place for place in places if rng.random() < rate] or [rng.choice(places)]
                rows.append(self._masked(window, chosen, [position for position, _ in chosen]))
        return rows

    def with_masks(self, cloze: Cloze, templates: Sequence[tuple[int, ...]]) -> list[Row]:
        """Each gap turned into masks and what stands before them, whatever its word is.

        Args:
            templates: The pieces of each gap, some of which are masks.
        """
        words = list(cloze.words)
        for gap, template in zip(cloze.gaps, templates, strict=True):
            words[gap] = MASKS + " ".join(map(str, template))
            self.pieces.own.setdefault(words[gap], template)
        return self.rows(replace(cloze, words=tuple(words)), self.mask)

    def _windows(self, cloze: Cloze) -> list[Window]:
        return self.pieces.windows(cloze.words, cloze.condition)

    def _each_place(
        self, window: Window, cloze: Cloze, words: Iterable[int], asked: int | None = None
    ) -> Iterator[tuple[int, Place]]:
        """The pieces of gaps among some words of a window: position, and place."""
        spans, gaps = self.pieces.word_spans(window), set(cloze.gaps)
        for word in words:
            if word in gaps:
                positions = [p for p in range(*spans[word - window.start]) if asked in (None, window.pieces[p])]
                yield from ((position, (word, number)) for number, position in enumerate(positions))

    def _masked(self, window: Window, places: Sequence[tuple[int, Place]], hidden: Iterable[int]) -> Row:
        pieces = list(window.pieces)
        for position in hidden:
            pieces[position] = self.mask
        positions = tuple(position for position, _ in places)
        targets = tuple(window.pieces[position] for position in positions)
        return Row(replace(window, pieces=tuple(pieces)), positions, targets, tuple(place for _, place in places))
