"""How the statistical aligner learns: both directions at once, from links on which they agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nersery.core.progress import Progress
from nersery.crosslingual.hmm import hidden_markov
from nersery.crosslingual.hmm.batches import PADDING, Batch, NumberedSentences, Prefixes
from nersery.crosslingual.hmm.hidden_markov import Array
from nersery.crosslingual.hmm.lexicon import Lexicon, Parameters, Values
from nersery.crosslingual.hmm.prior_counts import DEFAULT_PRIOR
from nersery.crosslingual.hmm.sliced_lexicon import SlicedLexicon
from nersery.crosslingual.hmm.texts import UNKNOWN
from nersery.models.training.memory import release_memory

NULL_SMOOTHING = 0.1
"""How often each prefix counts as seen without a counterpart, if all prefixes were equally frequent."""


@dataclass(frozen=True)
class Steps:
    """The numbers of passes over the pairs.

    Args:
        ibm1: Passes of IBM model 1, which ignores positions.
        hmm: Passes of the hidden Markov model, which uses them.
        null: Probability in (0, 1) that a word is aligned to the null word.
    """

    ibm1: int
    hmm: int
    null: float


@dataclass(frozen=True)
class Posteriors:
    """The probabilities of links in both directions.

    Args:
        forward: Probability that a target word comes from a source word. Shape: (target words, sentences, source
            words).
        backward: Probability that a source word comes from a target word. Shape: the same.
        forward_jumps: How often each jump among source words was taken.
        backward_jumps: The same for target words.
    """

    forward: Array
    backward: Array
    forward_jumps: NDArray[np.float64] | float = 0.0
    backward_jumps: NDArray[np.float64] | float = 0.0


@dataclass(frozen=True)
class Emissions:
    """Emission probabilities of the words of a batch, from a lexicon.

    Args:
        forward: Those of each target word, given a source word. Shape: (target words, sentences, source words).
        backward: Those of each source word, given a target word. Shape: (target words, sentences, source words).
        target_null: Those of each target word, given the null word; 1 at padding. Shape: (target words, sentences).
        source_null: Those of each source word, given the null word; 1 at padding. Shape: (source words, sentences).
    """

    forward: Array
    backward: Array
    target_null: Array
    source_null: Array


class EmissionModel:
    """The factors that turn counts into probabilities, and the values for unknown prefixes and for padding."""

    def __init__(
        self, totals: tuple[Values, Values], parameters: Parameters, null: float, dtype: type[np.floating]
    ) -> None:
        self._totals, self._null, self._dtype = totals, null, dtype
        self._null_probabilities = parameters.source_null, parameters.target_null
        self._rarest = [null * float(values.min(initial=1)) for values in self._null_probabilities]

    def emissions(self, batch: Batch, counts: Array) -> Emissions:
        """The emission probabilities of the words of a batch, from the counts of its word pairs."""
        source, target = batch.source, batch.target.T
        return Emissions(
            counts * self._rates(0, source),
            counts * self._rates(1, target)[:, :, None],
            self._null_emissions(1, target),
            self._null_emissions(0, source.T),
        )

    def _rates(self, side: int, prefixes: Prefixes) -> Array:
        """The factor for the counts of each word. Factors for all prefixes would take too much memory."""
        rates = (1 - self._null) / np.maximum(_of_prefixes(self._totals[side], prefixes), 1e-12)
        return self._completed(rates, prefixes, 1 - self._null, 0)

    def _null_emissions(self, side: int, prefixes: Prefixes) -> Array:
        emissions = self._null * _of_prefixes(self._null_probabilities[side], prefixes)
        return self._completed(emissions, prefixes, self._rarest[side], 1)

    def _completed(self, values: Values, prefixes: Prefixes, unknown: float, padding: float) -> Array:
        values[prefixes == UNKNOWN] = unknown
        values[prefixes == PADDING] = padding
        return values.astype(self._dtype, copy=False)


def _of_prefixes(values: Values, prefixes: Prefixes) -> Values:
    """The value of each prefix; an arbitrary value for unknown prefixes and padding."""
    return values[np.maximum(prefixes, 0)] if len(values) else np.ones(prefixes.shape)


def ibm1_posteriors(emissions: Emissions, batch: Batch) -> Posteriors:
    """Those of IBM model 1: each word by itself, regardless of its position."""
    sources, targets = (lengths.astype(emissions.forward.dtype) for lengths in batch.lengths)
    forward = emissions.forward / sources[:, None]
    backward = emissions.backward / targets[:, None]
    return Posteriors(
        forward / (forward.sum(2) + emissions.target_null)[:, :, None],
        backward / (backward.sum(0) + emissions.source_null.T),
    )


def hmm_posteriors(emissions: Emissions, batch: Batch, jumps: Parameters) -> Posteriors:
    """Those of the hidden Markov model, in both directions."""
    sources, targets = batch.lengths
    forward, forward_jumps = hidden_markov.posteriors(emissions.forward, emissions.target_null, jumps.forward, sources)
    by_source_word = np.ascontiguousarray(emissions.backward.transpose(2, 1, 0))
    backward, backward_jumps = hidden_markov.posteriors(by_source_word, emissions.source_null, jumps.backward, targets)
    return Posteriors(forward, backward.transpose(2, 1, 0), forward_jumps, backward_jumps)


def learn(
    sources: NumberedSentences,
    targets: NumberedSentences,
    known: Lexicon,
    lexicon: SlicedLexicon,
    steps: Steps,
    progress: Progress | None,
) -> Lexicon:
    """Learn a lexicon from sentences and their translations.

    Args:
        known: An earlier lexicon, in which prefixes have the same numbers.
        lexicon: The lexicon of these sentences, with what is known.
        progress: Counts each sentence once per step.
    """
    uses = sources.uses(known.source_uses), targets.uses(known.target_uses)
    null = uses[0] / max(uses[0].sum(), 1), uses[1] / max(uses[1].sum(), 1)
    parameters = Parameters(*null, known.forward, known.backward)
    del null
    step_count = steps.ibm1 + steps.hmm
    if progress is not None:
        progress.total = (progress.total or 0) + step_count * len(sources)
    for step in range(step_count):
        release_memory()
        expected = _expected_counts(lexicon, parameters, steps, step, progress)
        parameters = Parameters(
            _smoothed(expected.source_null, uses[0]),
            _smoothed(expected.target_null, uses[1]),
            parameters.forward if step < steps.ibm1 else hidden_markov.normalized(expected.forward),
            parameters.backward if step < steps.ibm1 else hidden_markov.normalized(expected.backward),
        )
        del expected  # the start of the next step takes the most memory
    keys, counts = lexicon.frequent(2 * DEFAULT_PRIOR, is_linked=step_count > 0)  # nothing was learnt about most pairs
    return Lexicon(**vars(parameters), keys=keys, counts=counts, source_uses=uses[0], target_uses=uses[1])


def _expected_counts(
    lexicon: SlicedLexicon, parameters: Parameters, steps: Steps, step: int, progress: Progress | None
) -> Parameters:
    """The E-step, one pass over the pairs: link the words, and count jumps and links to the null word."""
    emission_model = EmissionModel(lexicon.totals(is_linked=step > 0), parameters, steps.null, np.float32)
    expected = Parameters(*map(np.zeros_like, vars(parameters).values()))
    for batch, parts in lexicon.batches():
        emissions = emission_model.emissions(batch, lexicon.counts(batch, parts))
        if step < steps.ibm1:
            posteriors = ibm1_posteriors(emissions, batch)
            lexicon.link(parts, np.sqrt(posteriors.forward * posteriors.backward))  # the product forgets rare words
        else:
            posteriors = hmm_posteriors(emissions, batch, parameters)
            lexicon.link(parts, posteriors.forward * posteriors.backward)  # otherwise rare words collect leftover words
        _add_counts(expected, batch, posteriors)
        if progress is not None:
            progress.advance(len(batch.source), note=f"step {step + 1} of {steps.ibm1 + steps.hmm}")
    return expected


def _add_counts(expected: Parameters, batch: Batch, posteriors: Posteriors) -> None:
    for null, words, rest in (
        (expected.source_null, batch.source, 1 - posteriors.backward.sum(0)),
        (expected.target_null, batch.target, 1 - posteriors.forward.sum(2).T),
    ):
        real = words >= 0
        np.add.at(null, words[real], np.clip(rest[real], 0, 1).astype(np.float64))
    np.add(expected.forward, posteriors.forward_jumps, out=expected.forward)
    np.add(expected.backward, posteriors.backward_jumps, out=expected.backward)


def _smoothed(null: NDArray[np.float64], uses: NDArray[np.float64]) -> NDArray[np.float64]:
    prior = NULL_SMOOTHING * len(uses)
    return (null + prior * uses / max(uses.sum(), 1)) / (null.sum() + prior or 1)
