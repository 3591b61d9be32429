"""Masked inputs in the subwords of a model."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.subwords.subwords import SubwordEncoder
from nersery.models.subwords.windows import Window

Place = tuple[int, int]
"""A gap, given by the position of its word, and the number of a subword in it."""


@dataclass(frozen=True, slots=True)
class MaskedWindow:
    """A window with masks.

    Args:
        window: The window, with the masks among its subwords.
        positions: Positions of the masks that are predicted in this window.
        targets: The subwords that were masked there.
        places: For each of these masks its gap, and its number within the gap.
    """

    window: Window
    positions: tuple[int, ...]
    targets: tuple[int, ...]
    places: tuple[Place, ...]

    def with_masks(self, count: int) -> MaskedWindow:
        """The window with its first mask repeated, so that it has ``count`` masks."""
        return replace(self, positions=self.positions + self.positions[:1] * (count - len(self.positions)))


class MaskedInputEncoder:
    """Turns masked inputs into windows of subwords.

    Each gap is predicted in one window only, where it has words on both sides.

    Args:
        mask: The id of the mask token.
    """

    def __init__(self, subwords: SubwordEncoder, mask: int) -> None:
        self.subwords, self.mask = subwords, mask

    def fully_masked(self, masked_input: MaskedInput, only: int | None = None) -> list[MaskedWindow]:
        """Mask every subword of every gap, even if a neighbouring window predicts it.

        Args:
            only: Mask and predict only the subwords of gaps with this id. None takes all.
        """
        rows = []
        for window in self._windows(masked_input):
            if places := list(self._each_place(window, masked_input, range(*window.core), only)):
                seen = range(window.start, window.start + len(window.firsts))
                masked_positions = [position for position, _ in self._each_place(window, masked_input, seen, only)]
                rows.append(self._masked(window, places, masked_positions))
        return rows

    def randomly_masked(self, masked_input: MaskedInput, rate: float, rng: random.Random) -> list[MaskedWindow]:
        """Mask each subword of a gap with a probability, but at least one per window."""
        rows = []
        for window in self._windows(masked_input):
            if places := list(self._each_place(window, masked_input, range(*window.core))):
                chosen = [place for place in places if rng.random() < rate] or [rng.choice(places)]
                rows.append(self._masked(window, chosen, [position for position, _ in chosen]))
        return rows

    def with_masks(self, masked_input: MaskedInput, templates: Sequence[tuple[int, ...]]) -> list[MaskedWindow]:
        """Replace each gap with its template, whatever its word is.

        Args:
            templates: The subwords of each gap, some of which are masks.
        """
        by_gap = dict(zip(masked_input.gaps, templates, strict=True))
        words = tuple(by_gap.get(position, word) for position, word in enumerate(masked_input.words))
        return self.fully_masked(replace(masked_input, words=words), self.mask)

    def _windows(self, masked_input: MaskedInput) -> list[Window]:
        return self.subwords.windows(masked_input.words, masked_input.condition)

    def _each_place(
        self, window: Window, masked_input: MaskedInput, words: Iterable[int], only: int | None = None
    ) -> Iterator[tuple[int, Place]]:
        """The position and the place of each subword of a gap, for some words of a window."""
        spans, gaps = self.subwords.word_spans(window), set(masked_input.gaps)
        for word in words:
            if word in gaps:
                positions = [p for p in range(*spans[word - window.start]) if only in (None, window.subwords[p])]
                yield from ((position, (word, number)) for number, position in enumerate(positions))

    def _masked(
        self, window: Window, places: Sequence[tuple[int, Place]], masked_positions: Iterable[int]
    ) -> MaskedWindow:
        subwords = list(window.subwords)
        for position in masked_positions:
            subwords[position] = self.mask
        positions = tuple(position for position, _ in places)
        targets = tuple(window.subwords[position] for position in positions)
        return MaskedWindow(
            replace(window, subwords=tuple(subwords)), positions, targets, tuple(place for _, place in places)
        )
