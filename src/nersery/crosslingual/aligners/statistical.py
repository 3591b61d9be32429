"""Links learnt from translations alone: no model, no download."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from nersery.core.batched import batched
from nersery.core.counting import plural
from nersery.core.errors import SettingsError
from nersery.core.outcome import Reject
from nersery.core.progress import Progress
from nersery.core.registry import unfitted
from nersery.core.settings.ranges import Count, CountOrZero, Range, RateBetween
from nersery.core.settings.typed_settings import FileName, hidden
from nersery.core.training_context import NO_TRAINING, Training
from nersery.core.warnings import advise
from nersery.crosslingual.aligner_components.aligner_checkpoint import learnt_path
from nersery.crosslingual.aligner_components.padded_shapes import Shape, padded_shapes
from nersery.crosslingual.aligner_components.symmetrization import (
    MIN_PROBABILITY,
    Heuristic,
    Point,
    mutually_best,
    symmetrize,
)
from nersery.crosslingual.aligners.base import Aligner, Alignment, Link, Pair, Pairs, Suggestions
from nersery.crosslingual.hmm.batches import PADDING, Batch, Batches, NumberedSentences, padded
from nersery.crosslingual.hmm.expectation_maximization import (
    EmissionModel,
    Emissions,
    Posteriors,
    Steps,
    hmm_posteriors,
    learn,
)
from nersery.crosslingual.hmm.hidden_markov import Array
from nersery.crosslingual.hmm.lexicon import Lexicon, check_folder, empty_lexicon, is_saved, pair_keys
from nersery.crosslingual.hmm.prior_counts import DEFAULT_PRIOR, PriorCounts, WordCounts
from nersery.crosslingual.hmm.sliced_lexicon import SlicedLexicon
from nersery.crosslingual.hmm.string_similarity import WordFeatures
from nersery.crosslingual.hmm.texts import SymbolTable
from nersery.crosslingual.hmm.vocabulary import Numbers, Vocabulary
from nersery.models.bundled_models import bundled
from nersery.models.training.memory import release_memory

TOO_LONG = "a side has more words than max_words"
CELLS = 1 << 19
"""Maximum number of word pairs that are aligned at once."""
MAX_STEPS = 1000
"""Maximum number of steps of one kind; a handful is enough."""
SUGGESTED_AT_ONCE = 256
"""Pairs whose suggested links are held in memory while learning."""
FEW = 20_000
"""Number of pairs that `ensemble` aligns in ten minutes; it also needs fewer pairs to learn from."""
UNSUGGESTED_RATIO = 1e-3
"""How likely words without a suggested link are, compared with chance."""


@dataclass
class Statistical(Aligner):
    """Learns from the pairs which words translate each other, and links those.

    IBM model 1, then a hidden Markov model, run in both directions and learn from links on which these agree. At first,
    similar words count as linked: equal numbers, punctuation with the same purpose, names and cognates, also across
    scripts. The probability of a link is the geometric mean of both directions.

    Args:
        symmetrize: `agreement`: links that are the best of both their words, and others that touch those. Or a
            heuristic over each word's best link in either direction: `intersection`, `union`, `grow-diag`,
            `grow-diag-final` or `grow-diag-final-and`.
        threshold: Minimum probability of a link for `agreement`, in (0, 1).
        ignore_case: Ignore case and variants of characters.
        prefix: Count words by this many first letters; 0: all. Words with digits stay whole.
        string_similarity: Observations that two identical words are worth before learning; 0 ignores spelling.
        ibm1_steps: Passes over the pairs by words alone.
        hmm_steps: Passes that also use positions.
        null_probability: Probability in (0, 1) that a word has no counterpart.
        learn: Learn from the pairs; if false, only `priors` count.
        max_pairs: Maximum pairs to learn from, spread evenly over all; 0: all. Temporary files take about half a
            gigabyte for 100,000 pairs.
        max_words: Pairs with a longer side are rejected.
        priors: Folder of earlier counts, from `nersery crosslingual align --keep`.

    Reference:
        Vogel, Ney and Tillmann (1996). HMM-Based Word Alignment in Statistical Translation. COLING. Liang, Taskar and
        Klein (2006). Alignment by Agreement. NAACL.

    Departures:
        - In model 1, a link counts as the geometric mean of both directions, not their product, which forgets rare
          words if pairs are few.
        - One table of counts, normalized by source and by target, serves both directions.
        - `agreement` adds only links that touch the best ones; the paper takes all above a threshold.
        - Prefixes, string similarity and priors are ours.
    """

    symmetrize: Literal["agreement"] | Heuristic = "agreement"
    threshold: RateBetween = 0.3
    ignore_case: bool = True
    prefix: CountOrZero = 4
    string_similarity: Annotated[float, Range(0, 100)] = 0.3
    ibm1_steps: Annotated[int, Range(0, MAX_STEPS)] = 4
    hmm_steps: Annotated[int, Range(0, MAX_STEPS)] = 3
    null_probability: RateBetween = 0.2
    learn: bool = True
    max_pairs: CountOrZero = 100_000
    max_words: Count = 1000
    priors: FileName = ""
    _source: Vocabulary = hidden()
    _target: Vocabulary = hidden()
    _lexicon: Lexicon | None = hidden(default=None)
    _emission_model: EmissionModel | None = hidden(default=None)
    _suggestions: Suggestions | None = hidden(default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.learn and not self.priors:
            raise SettingsError("learn is false, but priors names no folder: name one, or let it learn from the pairs")

    @property
    def _prefix_settings(self) -> dict[str, Any]:
        """The settings that a saved lexicon must be used with."""
        return {"ignore_case": self.ignore_case, "prefix": self.prefix}

    def use_suggestions(self, suggestions: Suggestions | None) -> bool:
        """Count suggested links before learning, and prefer those of a pair when it is aligned; see `Aligner`."""
        self._suggestions = suggestions
        return True

    def check(self) -> None:
        if self.priors:
            check_folder(Path(self.priors))

    def fit(self, pairs: Pairs, training: Training = NO_TRAINING) -> None:
        """Learn from translations, on top of the priors if there are any, or load what was learnt before a kill.

        Raises:
            OtherTrainingError: If the training folder belongs to other pairs or settings.
        """
        if not self.learn:
            self._use_lexicon(self._load_lexicon(Path(self.priors)))
            return
        learnt = learnt_path(self, pairs, training.folder)
        if learnt is not None and is_saved(learnt):
            self._use_lexicon(self._load_lexicon(learnt))
            return
        self._use_lexicon(self._learn_lexicon(pairs, training.progress))
        release_memory()
        if learnt is not None:
            self.save(learnt)

    def _learn_lexicon(self, pairs: Pairs, progress: Progress | None) -> Lexicon:
        self._advise(len(pairs))
        self._source, self._target = (Vocabulary(**self._prefix_settings) for _ in range(2))
        known = self._load_lexicon(Path(self.priors)) if self.priors else empty_lexicon()
        sources, targets = NumberedSentences(self._source), NumberedSentences(self._target)
        word_counts = WordCounts(), WordCounts()
        for pair in self._examples(pairs):
            sources.append(pair.source)
            targets.append(pair.target)
            if self.string_similarity:
                word_counts[0].update(pair.source)
                word_counts[1].update(pair.target)
        prior_counts = PriorCounts(self.string_similarity)
        if self.string_similarity:
            prior_counts.compare(word_counts[0].commonest(self._source), word_counts[1].commonest(self._target))
        del word_counts
        if self._suggestions is not None and self._suggestions.counts:
            prior_counts.add(*self._suggested_counts(pairs, len(sources), self._suggestions))
        prefix_counts = len(self._source), len(self._target)
        lexicon = SlicedLexicon(Batches(sources, targets), known, prior_counts.counts, prefix_counts)
        del prior_counts  # its features of the words take much memory
        release_memory()
        steps = Steps(self.ibm1_steps, self.hmm_steps, self.null_probability)
        return learn(sources, targets, known, lexicon, steps, progress)

    def _advise(self, pairs: int) -> None:
        """Recommend the better aligner if there are few pairs."""
        alone = self._suggestions is None and not self.priors
        if alone and 0 < pairs <= FEW and bundled.is_installed(bundled.MULTILINGUAL):
            advise(
                f'"statistical" learns from only {plural(pairs, "pair")}. With so few, the aligner "ensemble" usually '
                "makes fewer errors, but aligns only about 40 pairs per second"
            )

    def _examples(self, pairs: Pairs) -> Iterator[Pair]:
        spread = _evenly_spread(pairs, len(pairs), self.max_pairs)
        return (pair for pair in spread if pair.source and pair.target and self._can_read(pair))

    def _suggested_counts(
        self, pairs: Pairs, count: int, suggestions: Suggestions
    ) -> tuple[Numbers, NDArray[np.float64]]:
        """The keys of the links that other aligners suggest, and how often each counts as linked."""
        keys, counts = [np.zeros(0, np.int64)], [np.zeros(0)]
        examples = _evenly_spread(self._examples(pairs), count, suggestions.max_pairs)
        for batch in batched(examples, SUGGESTED_AT_ONCE):
            for pair, alignment in zip(batch, suggestions.suggest(batch), strict=True):
                if alignment:
                    sources, targets, probabilities = map(np.array, zip(*alignment, strict=True))
                    prefixes = self._source.look_up(pair.source)[sources], self._target.look_up(pair.target)[targets]
                    keys.append(pair_keys(*prefixes))
                    counts.append(suggestions.counts * probabilities)
        return np.concatenate(keys), np.concatenate(counts)

    def _can_read(self, pair: Pair) -> bool:
        return max(len(pair.source), len(pair.target)) <= self.max_words

    def _use_lexicon(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._emission_model = EmissionModel(lexicon.totals, lexicon, self.null_probability, np.float64)

    def _load_lexicon(self, folder: Path) -> Lexicon:
        lexicon, facts = Lexicon.load(folder, self._prefix_settings)
        self._source, self._target = (
            Vocabulary(**self._prefix_settings, prefixes=SymbolTable(map(str, facts[side])))
            for side in ("source", "target")
        )
        return lexicon

    def save(self, folder: str | Path) -> None:
        """Save what was learnt in a folder, for the setting ``priors``.

        Raises:
            UnfittedError: If nothing was learnt.
        """
        if self._lexicon is None:
            raise unfitted(self, "save")
        vocabularies = {"source": self._source.prefixes, "target": self._target.prefixes}
        self._lexicon.save(Path(folder), {**self._prefix_settings, **vocabularies})

    def align(self, pairs: Sequence[Pair]) -> list[Alignment | Reject]:
        """The links of each pair; a pair with more words than ``max_words`` is rejected.

        Raises:
            UnfittedError: If `fit` was not called and ``priors`` names no folder.
        """
        if self._lexicon is None and self.priors:
            self._use_lexicon(self._load_lexicon(Path(self.priors)))
        if self._lexicon is None:
            raise unfitted(self, "align", "fit, or name priors,")
        alignments: list[Alignment | Reject] = [() if self._can_read(pair) else Reject(TOO_LONG) for pair in pairs]
        sizes = ((number, (len(pair.source), len(pair.target))) for number, pair in enumerate(pairs))
        readable = ((number, both) for number, both in sizes if 0 < min(both) <= max(both) <= self.max_words)
        features = WordFeatures()
        suggested = self._suggestions.suggest(pairs) if self._suggestions is not None else [()] * len(pairs)
        for numbers, rows, shape in padded_shapes(readable, CELLS):
            group = [pairs[number] for number in numbers]
            posteriors = self._posteriors(group, [suggested[number] for number in numbers], rows, shape, features)
            for row, number in enumerate(numbers):
                cells = np.s_[: len(pairs[number].target), row, : len(pairs[number].source)]
                alignments[number] = self._links(posteriors.forward[cells].T, posteriors.backward[cells].T)
        return alignments

    def _posteriors(
        self, pairs: Sequence[Pair], suggested: Sequence[Alignment], rows: int, shape: Shape, features: WordFeatures
    ) -> Posteriors:
        """The probabilities of the links of some pairs, padded to a number of rows, and of words on both sides."""
        assert self._lexicon is not None
        assert self._emission_model is not None
        empty_rows = [np.zeros(0, np.int64)] * (rows - len(pairs))
        source = padded([*(self._source.look_up(pair.source) for pair in pairs), *empty_rows], shape[0])
        target = padded([*(self._target.look_up(pair.target) for pair in pairs), *empty_rows], shape[1])
        batch = Batch(source, target)
        counts, is_known = self._lexicon.look_up(source, target)
        is_new = ~is_known & (target != PADDING).T[:, :, None] & (source != PADDING)
        self._set_unseen_counts(counts, is_new, pairs, features)
        emissions = self._emission_model.emissions(batch, counts)
        for row, (pair, alignment) in enumerate(zip(pairs, suggested, strict=True)):
            if alignment and self._suggestions is not None:
                _scale_emissions(alignment, pair, row, emissions, self._suggestions.exponent)
        return hmm_posteriors(emissions, batch, self._lexicon)

    def _set_unseen_counts(
        self, counts: Array, is_new: NDArray[np.bool_], pairs: Sequence[Pair], features: WordFeatures
    ) -> None:
        """Set the prior counts of words that were never seen together, from the features of these words themselves."""
        counts[is_new] = DEFAULT_PRIOR
        if self.string_similarity and is_new.any():
            left, right = (
                np.maximum(padded([features.rows(side) for side in sides], length), 0)
                for sides, length in (
                    ([pair.source for pair in pairs], counts.shape[2]),
                    ([pair.target for pair in pairs], counts.shape[0]),
                )
            )
            is_new = is_new[:, : len(pairs)] & (features.beginnings(right).T[:, :, None] == features.beginnings(left))
            targets, rows, sources = np.nonzero(is_new)
            similarity = features.similarity(left[rows, sources], right[rows, targets])
            counts[targets, rows, sources] += self.string_similarity * similarity

    def _links(self, forward: Array, backward: Array) -> Alignment:
        """The links of a pair, from the probabilities of both directions. Shape: twice (sources, targets)."""
        agreed = np.sqrt(forward * backward)
        if self.symmetrize == "agreement":
            sources, targets = np.nonzero(mutually_best(agreed, self.threshold))
            points = list(zip(sources.tolist(), targets.tolist(), strict=True))
        else:
            backward_points = [(source, target) for target, source in _most_probable(backward.T)]
            points = sorted(symmetrize(_most_probable(forward), backward_points, self.symmetrize))
        return tuple(
            Link(source, target, min(max(float(agreed[source, target]), MIN_PROBABILITY), 1.0))
            for source, target in points
        )


def _scale_emissions(alignment: Alignment, pair: Pair, row: int, emissions: Emissions, exponent: float) -> None:
    """Scale the emissions of a row by how much likelier suggested links make them than chance, in both directions."""
    probabilities = np.zeros((len(pair.target), len(pair.source)))
    for source, target, probability in alignment:
        probabilities[target, source] = probability
    cells = np.s_[: len(pair.target), row, : len(pair.source)]
    emissions.forward[cells] *= (probabilities * len(pair.source) + UNSUGGESTED_RATIO) ** exponent
    emissions.backward[cells] *= (probabilities * len(pair.target) + UNSUGGESTED_RATIO) ** exponent


def _most_probable(probabilities: Array) -> list[Point]:
    """Each word with its most probable state, unless the null word is more probable. Shape: (states, words)."""
    best = probabilities.argmax(0)
    chances = probabilities[best, np.arange(probabilities.shape[1])]
    words = np.flatnonzero(chances > 1 - probabilities.sum(0))
    return list(zip(best[words].tolist(), words.tolist(), strict=True))


def _evenly_spread(pairs: Iterable[Pair], count: int, limit: int) -> Iterator[Pair]:
    """At most ``limit`` of the pairs, spread evenly over all; all of them if ``limit`` is 0."""
    if not 0 < limit < count:
        yield from pairs
        return
    taken = 0
    for number, pair in enumerate(pairs):
        if number == taken * count // limit:
            yield pair
            taken += 1
