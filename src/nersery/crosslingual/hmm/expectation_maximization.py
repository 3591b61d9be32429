"""How the statistical aligner learns: both directions at once, held to agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nersery.core.progress import Progress
from nersery.crosslingual.hmm import hidden_markov
from nersery.crosslingual.hmm.hidden_markov import Array
from nersery.crosslingual.hmm.lexicon import Lexicon
from nersery.crosslingual.hmm.vocabulary import Numbers

PADDING = -2
CELLS = 60_000
"""So many pairs of words are looked at at once: what fits into a processor's cache."""
REMEMBERED_CELLS = 1 << 24
"""Maximum number of word pairs whose places in the lexicon are cached; beyond it, each step looks them up."""
ALONE_SMOOTHING = 0.1
"""How often each stem counts as seen without a counterpart, if all were equally frequent."""


@dataclass(frozen=True)
class Steps:
    """How often the pairs are gone through.

    Args:
        ibm1: By words alone.
        hmm: With the places of the words.
        null: Probability in (0, 1) that a word comes from none.
    """

    ibm1: int
    hmm: int
    null: float


@dataclass(frozen=True)
class Batch:
    """Some sentences and their translations, as stems.

    Args:
        source: `PADDING` where there is no word. Shape: (sentences, source words).
        target: The same. Shape: (sentences, target words).
        places: Where each pair of stems stands in the lexicon. Shape: (target words, sentences, source words).
    """

    source: Numbers
    target: Numbers
    places: NDArray[np.integer]

    @property
    def lengths(self) -> tuple[Numbers, Numbers]:
        """The words of each source sentence and of each target sentence, at least 1. Shape: twice (sentences)."""
        sources, targets = ((side != PADDING).sum(1) for side in (self.source, self.target))
        return np.maximum(sources, 1), np.maximum(targets, 1)


@dataclass
class Evidence:
    """What one step finds, summed up.

    Args:
        counts: How often the stems of each pair in the lexicon were linked, and last a place for all others.
        source_alone: How often each source stem came from nothing.
        target_alone: The same of target stems.
        forward: How often each jump among source words was taken.
        backward: The same of target words.
    """

    counts: NDArray[np.float64]
    source_alone: NDArray[np.float64]
    target_alone: NDArray[np.float64]
    forward: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2 * hidden_markov.FURTHEST + 1))
    backward: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2 * hidden_markov.FURTHEST + 1))

    def add(self, batch: Batch, linked: Array, both: Both) -> None:
        """Count what a batch shows.

        Args:
            linked: How much each pair of words counts. Shape: (target words, sentences, source words).
        """
        np.add.at(self.counts, batch.places.ravel().astype(np.intp), linked.ravel().astype(np.float64))
        for alone, words, rest in (
            (self.source_alone, batch.source, 1 - both.backward.sum(0)),
            (self.target_alone, batch.target, 1 - both.forward.sum(2).T),
        ):
            real = words >= 0
            np.add.at(alone, words[real], np.clip(rest[real], 0, 1).astype(np.float64))
        self.forward += both.forward_jumps
        self.backward += both.backward_jumps


@dataclass(frozen=True)
class Both:
    """The probabilities of links in both directions.

    Args:
        forward: That a target word comes from a source word. Shape: (target words, sentences, source words).
        backward: That a source word comes from a target word. Shape: (target words, sentences, source words).
        forward_jumps: How often each jump among source words was taken.
        backward_jumps: The same of target words.
    """

    forward: Array
    backward: Array
    forward_jumps: NDArray[np.float64] | float = 0.0
    backward_jumps: NDArray[np.float64] | float = 0.0

    @property
    def agreed(self) -> Array:
        """The geometric mean of both directions. Shape: (target words, sentences, source words)."""
        mean: Array = np.sqrt(self.forward * self.backward)
        return mean


@dataclass(frozen=True)
class Chances:
    """What a lexicon says of the words of a batch.

    Args:
        forward: Of each target word, given a source word. Shape: (target words, sentences, source words).
        backward: Of each source word, given a target word. Shape: (target words, sentences, source words).
        target_alone: Of each target word, given nothing; 1 at padding. Shape: (target words, sentences).
        source_alone: Of each source word, given nothing; 1 at padding. Shape: (source words, sentences).
    """

    forward: Array
    backward: Array
    target_alone: Array
    source_alone: Array


class Tables:
    """A lexicon as arrays to look words up in; behind their ends stand values for unknown stems and for padding."""

    def __init__(self, lexicon: Lexicon, null: float, kind: type[np.floating]) -> None:
        self.counts = np.zeros(len(lexicon.counts) + 1, kind)
        self.counts[:-1] = lexicon.counts
        self._source_rate, self._target_rate = (
            np.concatenate([(1 - null) / np.maximum(totals, 1e-12), [0, 1 - null]]).astype(kind)
            for totals in (lexicon.source_totals, lexicon.target_totals)
        )
        self._source_alone, self._target_alone = (
            np.concatenate([null * alone, [1, null * alone.min(initial=1)]]).astype(kind)
            for alone in (lexicon.source_alone, lexicon.target_alone)
        )

    def chances(self, batch: Batch, counts: Array) -> Chances:
        """What the lexicon says of the words of a batch, whose pairs have these counts."""
        source, target = batch.source, batch.target.T
        return Chances(
            counts * self._source_rate[source],
            counts * self._target_rate[target][:, :, None],
            self._target_alone[target],
            self._source_alone[source.T],
        )


def by_words(chances: Chances, batch: Batch) -> Both:
    """IBM model 1: each word by itself, wherever it stands."""
    sources, targets = (lengths.astype(chances.forward.dtype) for lengths in batch.lengths)
    forward = chances.forward / sources[:, None]
    backward = chances.backward / targets[:, None]
    return Both(
        forward / (forward.sum(2) + chances.target_alone)[:, :, None],
        backward / (backward.sum(0) + chances.source_alone.T),
    )


def by_places(chances: Chances, batch: Batch, lexicon: Lexicon) -> Both:
    """The hidden Markov model, in both directions."""
    sources, targets = batch.lengths
    forward = hidden_markov.posteriors(chances.forward, chances.target_alone, lexicon.forward, sources)
    turned = np.ascontiguousarray(chances.backward.transpose(2, 1, 0))
    backward = hidden_markov.posteriors(turned, chances.source_alone, lexicon.backward, targets)
    return Both(forward.alignment, backward.alignment.transpose(2, 1, 0), forward.jumps, backward.jumps)


def learn(
    supposed: Lexicon, sources: Sequence[Numbers], targets: Sequence[Numbers], steps: Steps, progress: Progress | None
) -> Lexicon:
    """What sentences and their translations teach.

    Args:
        supposed: What is supposed beforehand, with all stems and pairs of stems that occur.
        sources: The stems of each sentence.
        targets: Those of its translation.
        progress: Counts a sentence once for each step.
    """
    lexicon = supposed
    batches = _Batches(supposed, sources, targets)
    count = steps.ibm1 + steps.hmm
    if progress is not None:
        progress.total = (progress.total or 0) + count * len(sources)
    for step in range(count):
        tables = Tables(lexicon, steps.null, np.float32)
        lexicon = replace(lexicon, counts=supposed.counts)  # the tables have its own; there may be millions
        evidence = Evidence(
            np.zeros(len(lexicon.counts) + 1), np.zeros(len(lexicon.source_uses)), np.zeros(len(lexicon.target_uses))
        )
        for batch in batches:
            chances = tables.chances(batch, tables.counts[batch.places])
            if step < steps.ibm1:
                both = by_words(chances, batch)
                evidence.add(batch, both.agreed, both)
            else:
                both = by_places(chances, batch, lexicon)
                evidence.add(batch, both.forward * both.backward, both)
            if progress is not None:
                progress.advance(len(batch.source), note=f"step {step + 1} of {count}")
        lexicon = _revised(supposed, evidence, with_jumps=step >= steps.ibm1)
    return lexicon


def _revised(supposed: Lexicon, evidence: Evidence, *, with_jumps: bool) -> Lexicon:
    """A lexicon after a step."""
    counts = evidence.counts[:-1]
    counts += supposed.counts
    revised = replace(
        supposed,
        counts=counts,
        source_alone=_smoothed(evidence.source_alone, supposed.source_uses),
        target_alone=_smoothed(evidence.target_alone, supposed.target_uses),
    )
    if not with_jumps:
        return revised
    return replace(
        revised,
        forward=hidden_markov.normalized(evidence.forward),
        backward=hidden_markov.normalized(evidence.backward),
    )


def _smoothed(alone: NDArray[np.float64], uses: NDArray[np.float64]) -> NDArray[np.float64]:
    supposed = ALONE_SMOOTHING * len(uses)
    smoothed: NDArray[np.float64] = (alone + supposed * uses / max(uses.sum(), 1)) / (alone.sum() + supposed or 1)
    return smoothed


class _Batches:
    """The sentences in batches of about one length, the same ones each time."""

    def __init__(self, lexicon: Lexicon, sources: Sequence[Numbers], targets: Sequence[Numbers]) -> None:
        self._lexicon, self._sources, self._targets = lexicon, sources, targets
        self._groups = list(
            _groups([(len(source), len(target)) for source, target in zip(sources, targets, strict=True)])
        )
        self._remembered: dict[int, Batch] = {}
        self._room = REMEMBERED_CELLS

    def __iter__(self) -> Iterator[Batch]:
        for number, group in enumerate(self._groups):
            batch = self._remembered.get(number)
            if batch is None:
                source, target = (padded([side[n] for n in group]) for side in (self._sources, self._targets))
                batch = Batch(source, target, self._lexicon.find(source, target).astype(np.int32))
                if batch.places.size <= self._room:
                    self._remembered[number] = batch
                    self._room -= batch.places.size
            yield batch


def _groups(lengths: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Sentences of about one length, at most `CELLS` pairs of words together, or one that has more."""
    group: list[int] = []
    longest = (0, 0)
    for number in sorted(range(len(lengths)), key=lambda number: (lengths[number][0] // 4, lengths[number][1])):
        grown = (max(longest[0], lengths[number][0]), max(longest[1], lengths[number][1]))
        if group and grown[0] * grown[1] * (len(group) + 1) > CELLS:
            yield group
            group, grown = [], lengths[number]
        group.append(number)
        longest = grown
    if group:
        yield group


def padded(sentences: Sequence[Numbers], length: int = 0) -> Numbers:
    """Sentences as rows of one length, that of the longest or more. Shape: (sentences, words)."""
    rows = np.full((len(sentences), max(length, *map(len, sentences))), PADDING, np.int64)
    for row, sentence in zip(rows, sentences, strict=True):
        row[: len(sentence)] = sentence
    return rows
