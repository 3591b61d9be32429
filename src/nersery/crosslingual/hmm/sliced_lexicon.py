"""The lexicon during learning: in temporary files, with one slice at a time in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nersery.crosslingual.hmm.batches import Batch, Batches
from nersery.crosslingual.hmm.lexicon import Lexicon, Values, add_to_totals, pair_keys, split_keys
from nersery.crosslingual.hmm.prior_counts import DEFAULT_PRIOR
from nersery.crosslingual.hmm.temporary_array import TemporaryArray, check_room
from nersery.crosslingual.hmm.vocabulary import Numbers

SLICE = 1 << 18
"""A slice holds about this many word pairs of the text, so that its keys fit into a processor's cache."""
MAX_SLICES = 160
"""Each batch reads and writes a part of every slice, so more slices would be slow. For longer text, slices grow."""
NO_KEY = np.iinfo(np.int64).max
"""The key for padding; it sorts last."""


class CellRange(NamedTuple):
    """The words of a batch that belong to one slice.

    Args:
        start: Where their cells begin among all cells of the text.
        columns: Their positions among the source words of the batch, row after row.
    """

    start: int
    columns: NDArray[np.int64]


class SlicedLexicon:
    """A lexicon with all pairs of prefixes that occur in sentences and their translations.

    A *cell* is a source word of a sentence and a target word of its translation, or padding. The lexicon is cut into
    slices by source prefix. The cells of a slice are stored together in a file, in the order of batches. Between two
    steps, each slice sums up how much its cells were linked, always in this order, and gives each cell the new count of
    its prefixes. So neither the lexicon nor the cells are ever in memory as a whole, and nothing is looked up out of
    order.

    Each file has a part for each slice, one after another; ``_first_…`` tells where the parts begin::

        _key_indices        for each cell, which key of its slice it has
        _values             for each cell, the count of its key (during a step), then how much it was linked
        _targets            for each key, its target prefix; `_targets_of` tells how many keys a source prefix has
        _unusual            the keys whose prior count is not `DEFAULT_PRIOR`, by their place in the slice
        _unusual_priors     these prior counts

    Args:
        batches: The text.
        known: Earlier counts, which replace the prior counts.
        prior_counts: How often the prefixes of each key count as linked before learning.
        prefix_counts: The number of source prefixes and of target prefixes.
    """

    def __init__(
        self,
        batches: Batches,
        known: Lexicon,
        prior_counts: Callable[[Numbers], Values],
        prefix_counts: tuple[int, int],
    ) -> None:
        self._batches, self._prefix_counts = batches, prefix_counts
        weights = np.zeros(prefix_counts[0])
        for batch in batches:
            np.add.at(weights, batch.source[batch.source >= 0], batch.target.shape[1])
        size = max(SLICE, weights.sum() / MAX_SLICES)
        self._slice_of = ((np.cumsum(weights) - weights) // size).astype(np.int64)
        count = int(self._slice_of[-1]) + 1 if prefix_counts[0] else 0
        self._first_cells = np.append(0, np.cumsum(np.bincount(self._slice_of, weights, count))).astype(np.int64)
        cells_in_all = int(self._first_cells[-1])
        check_room(cells_in_all * np.dtype(np.int64).itemsize)
        self._first_keys, self._first_unusual = [0], [0]
        self._targets, self._targets_of = TemporaryArray(np.int32), np.zeros(prefix_counts[0], np.int32)
        self._unusual_priors, self._unusual = TemporaryArray(np.float64), TemporaryArray(np.int32)
        self._values, cells = TemporaryArray(np.float32), TemporaryArray(np.int64)
        # The index of a cell's key takes half the bytes of the key, so indices can overwrite the keys in their file
        # from the front, without reaching any unread key. The disk then needs 8 bytes per cell instead of 12.
        self._key_indices = TemporaryArray(np.int32, over=cells)
        for batch, parts in self.batches():
            keys = pair_keys(batch.source[:, :, None].astype(np.int64), batch.target[:, None, :].astype(np.int64))
            keys[np.broadcast_to((batch.target < 0)[:, None, :], keys.shape)] = NO_KEY
            _scatter(cells, parts, keys.transpose(2, 0, 1))
        self._first_prefixes = np.searchsorted(self._slice_of, np.arange(count + 1))
        known_bounds = np.searchsorted(known.keys, pair_keys(self._first_prefixes, np.zeros_like(self._first_prefixes)))
        for number in range(count):
            part = slice(*known_bounds[number : number + 2])
            self._add_slice(known.keys[part], known.counts[part], cells, prior_counts)
        self._key_indices.truncate(cells_in_all)

    def _add_slice(
        self, known: Numbers, counts: Values, cells: TemporaryArray, prior_counts: Callable[[Numbers], Values]
    ) -> None:
        number, start, first = len(self._first_keys) - 1, self._first_keys[-1], self._first_unusual[-1]
        keys = np.append(known, NO_KEY)
        for chunk in self._chunks(number):
            keys = _distinct(np.concatenate([keys, cells.read(*chunk)]))
        for chunk in self._chunks(number):
            self._key_indices.write(chunk[0], np.searchsorted(keys, cells.read(*chunk)))
        keys = keys[:-1]
        priors = np.empty(len(keys))
        for begin in range(0, len(keys), SLICE):
            priors[begin : begin + SLICE] = prior_counts(keys[begin : begin + SLICE])
        priors[np.searchsorted(keys, known)] = counts
        unusual = np.flatnonzero(priors != DEFAULT_PRIOR)
        sources, targets = split_keys(keys)
        targets_of = np.bincount(sources - self._first_prefixes[number])
        self._targets_of[self._first_prefixes[number] :][: len(targets_of)] = targets_of
        self._targets.write(start, targets)
        self._unusual.write(first, unusual)
        self._unusual_priors.write(first, priors[unusual])
        self._first_keys.append(start + len(keys))
        self._first_unusual.append(first + len(unusual))

    def batches(self) -> Iterator[tuple[Batch, list[CellRange]]]:
        """The batches of the text, each with the places of its cells."""
        following = self._first_cells.copy()
        for batch in self._batches:
            prefixes = batch.source.ravel()
            columns = np.flatnonzero(prefixes >= 0)
            columns = columns[np.argsort(self._slice_of[prefixes[columns]], kind="stable")]
            numbers, starts = np.unique(self._slice_of[prefixes[columns]], return_index=True)
            parts = []
            for number, part in zip(numbers, np.split(columns, starts[1:]), strict=True):
                parts.append(CellRange(int(following[number]), part))
                following[number] += len(part) * batch.target.shape[1]
            yield batch, parts

    def counts(self, batch: Batch, parts: Sequence[CellRange]) -> NDArray[np.float32]:
        """How often the prefixes of each cell of a batch were linked. Shape: that of the batch."""
        counts = np.zeros(batch.shape, np.float32)
        rows = counts.reshape(len(counts), -1)
        for start, columns in parts:
            rows[:, columns] = self._values.read(start, len(rows) * len(columns)).reshape(len(rows), -1)
        return counts

    def link(self, parts: Sequence[CellRange], linked: NDArray[np.floating]) -> None:
        """Store how much each cell of a batch counts as linked. Shape: that of the batch."""
        _scatter(self._values, parts, linked)

    def totals(self, *, is_linked: bool) -> tuple[Values, Values]:
        """The sum of the counts of each source prefix and of each target prefix; `counts` then returns the same counts.

        Args:
            is_linked: Whether the cells store how much they were linked. If not, only the prior counts are summed.
        """
        of_source, of_target = map(np.zeros, self._prefix_counts)
        for number, (keys, counts) in enumerate(self._slices(is_linked=is_linked)):
            add_to_totals(keys, counts, of_source, of_target)
            values = np.append(counts, 0).astype(np.float32)
            for chunk in self._chunks(number):
                self._values.write(chunk[0], values[self._key_indices.read(*chunk)])
        return of_source, of_target

    def frequent(self, min_count: float, *, is_linked: bool) -> tuple[Numbers, Values]:
        """The keys with a count of at least ``min_count``, and their counts."""
        size, kept_keys, kept_counts = 0, TemporaryArray(np.int64), TemporaryArray(np.float64)
        for keys, counts in self._slices(is_linked=is_linked):
            is_frequent = counts >= min_count
            kept_keys.write(size, keys[is_frequent])
            kept_counts.write(size, counts[is_frequent])
            size += int(is_frequent.sum())
        return kept_keys.read(0, size), kept_counts.read(0, size)

    def _slices(self, *, is_linked: bool) -> Iterator[tuple[Numbers, Values]]:
        for number, (start, end) in enumerate(pairwise(self._first_keys)):
            counts = np.full(end - start + 1, DEFAULT_PRIOR)
            first, last = self._first_unusual[number : number + 2]
            counts[self._unusual.read(first, last - first)] = self._unusual_priors.read(first, last - first)
            if is_linked:
                linked = np.zeros_like(counts)
                for chunk in self._chunks(number):
                    indices, values = self._key_indices.read(*chunk), self._values.read(*chunk)
                    np.add.at(linked, indices.astype(np.intp), values.astype(np.float64))
                counts += linked
                del linked
            prefixes = np.arange(*self._first_prefixes[number : number + 2])
            keys = pair_keys(prefixes, np.zeros_like(prefixes)).repeat(self._targets_of[prefixes])
            keys += self._targets.read(start, end - start)
            yield keys, counts[:-1]

    def _chunks(self, number: int) -> Iterator[tuple[int, int]]:
        """Chunks of a slice: the first cell and the number of cells. Slices may be long: a frequent prefix has many."""
        first, end = self._first_cells[number : number + 2].tolist()
        for start in range(first, end, SLICE):
            yield start, min(SLICE, end - start)


def _scatter(array: TemporaryArray, parts: Sequence[CellRange], values: NDArray[np.generic]) -> None:
    """Write a value for each cell of a batch. Shape: that of the batch."""
    rows = values.reshape(len(values), -1)
    for start, columns in parts:
        array.write(start, rows.take(columns, 1))


def _distinct(numbers: Numbers) -> Numbers:
    """Each number once, sorted. Many times as fast as `numpy.unique`, which hashes. The input is sorted, too."""
    numbers.sort()
    is_first = np.ones(len(numbers), bool)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return numbers[is_first]
