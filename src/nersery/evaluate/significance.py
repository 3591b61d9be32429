"""The significance of differences in F1, over test sentences and over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from nersery.core.errors import DataError, SettingsError
from nersery.core.random import item_seed

SAMPLES = 10_000
CONFIDENCE = 0.95
BLOCK_CELLS = 4_000_000
"""The most numbers of a resampling in memory at once: 32 MB, whatever the size of the corpus."""

FEW = 50
"""With fewer test sentences, resampling underestimates the spread, so differences seem too significant."""

EXACT_SEEDS = 16
"""Up to this number of seeds, all 2ⁿ sign flips are tried; with more seeds, a sample is drawn."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference between a system's F1 and a baseline's, and its significance.

    Args:
        difference: F1 of the system minus F1 of the baseline, each the mean over the runs.
        low: The lower end of the confidence interval of the difference.
        high: The upper end of that interval.
        p_value: The two-sided probability of a difference at least this large if there were no true difference.
        sentences: The number of test sentences.
        runs: The number of pairs of runs.
    """

    difference: float
    low: float
    high: float
    p_value: float
    sentences: int
    runs: int

    def as_dict(self) -> dict[str, float]:
        """The values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """The difference and its interval in percent points, e.g. ``+1.3, 95 % interval −0.2 to +2.9``."""
        values = (self.difference, self.low, self.high)
        difference, low, high = (f"{100 * value:+z.1f}".replace("-", "−") for value in values)
        return f"{difference}, 95 % interval {low} to {high}"


def caution(sentences: int) -> str:
    """A warning about too few test sentences; empty if there are enough.

    >>> caution(12)
    'Only 12 test sentences: the interval is too narrow and the p-value too small.'
    """
    few = (
        f"Only {sentences} test sentence{'s' * (sentences > 1)}: the interval is too narrow and the p-value too small."
    )
    return few if sentences < FEW else ""


def paired_bootstrap(
    baseline: NDArray[np.int64], system: NDArray[np.int64], *, samples: int = SAMPLES, seed: int = 0
) -> Comparison:
    """Compare micro F1 over resampled test sentences (paired bootstrap).

    Several runs are pooled: each resample contains the same sentences for all runs of both systems, and its
    difference is the mean over the runs. The result therefore holds for *these* trained taggers on other test
    sentences. `sign_flip` tests whether it holds for other seeds. The order of the sentences does not matter.

    The interval is the percentile interval at 95 %. With fewer than `FEW` sentences it is too narrow. The p-value
    follows Berg-Kirkpatrick et al.: resampled differences scatter around the observed difference, not around zero, so
    the observed difference is subtracted before they are compared with it. Their p-value is one-sided. Ours is
    two-sided, because augmentation may do harm. Koehn's is the share of resamples that the baseline wins, without a
    null hypothesis. As (hits + 1) / (samples + 1), the p-value is never 0. If the systems differ on n sentences, it is
    never below 2 / 2ⁿ: for equal systems, each of these differences could just as well have had the opposite sign.

    Args:
        baseline: The `sentence_counts` of each run. Shape: (sentences, 3) or (runs, sentences, 3)
        system: The counts of the system, with the same sentences, order and number of runs.
        samples: The number of resamples.

    Raises:
        DataError: If the counts are not of the same sentences and number of runs.

    Reference:
        Koehn 2004, Statistical Significance Tests for Machine Translation Evaluation;
        Berg-Kirkpatrick et al. 2012, An Empirical Investigation of Statistical Significance in NLP.
    """
    if samples < 1:
        raise SettingsError(f"samples is {samples}, expected 1 or more")
    pair = _stacked(baseline, system)
    runs, sentences = pair.shape[1:3]
    baseline_f1, system_f1 = _mean_f1(pair.sum(axis=2)[None])[0]
    observed = float(system_f1 - baseline_f1)
    f1 = _resampled(pair, samples, np.random.default_rng(item_seed(seed, "paired_bootstrap")))
    differences = f1[:, 1] - f1[:, 0]  # both from the same resample, which is what pairs them
    low, high = _percentiles(differences)
    hits = _count_extreme(differences - observed, observed)
    different = int((pair[0] != pair[1]).any(axis=(0, 2)).sum())
    p_value = max((hits + 1) / (samples + 1), min(1.0, 2.0 ** (1 - different)))
    return Comparison(observed, low, high, p_value, sentences, runs)


def f1_interval(counts: NDArray[np.int64], *, samples: int = SAMPLES, seed: int = 0) -> tuple[float, float]:
    """The 95 % percentile interval of a system's mean F1 over resampled test sentences.

    The intervals of two systems may overlap although they differ significantly. Compare them with `paired_bootstrap`.

    Args:
        counts: The `sentence_counts` of each run. Shape: (runs, sentences, 3)
        samples: The number of resamples.
    """
    return _percentiles(_resampled(counts[None], samples, np.random.default_rng(item_seed(seed, "f1_interval"))))


def _stacked(baseline: NDArray[np.int64], system: NDArray[np.int64]) -> NDArray[np.int64]:
    """Both in one array. Shape: (2, runs, sentences, 3)"""
    if baseline.shape != system.shape or baseline.ndim not in (2, 3) or baseline.shape[-1] != 3:
        raise DataError(
            f"cannot pair counts of the shapes {baseline.shape} and {system.shape}: expected equal shapes, "
            "(sentences, 3) or (runs, sentences, 3)",
            fix="score both systems on the same sentences, with the same number of seeds",
        )
    if not baseline.size:
        raise DataError("there is no sentence to compare on", fix="give a test set that is not empty")
    pair = np.stack([baseline, system]).reshape(2, -1, *baseline.shape[-2:])
    if (pair[..., 2] != pair[:1, :1, :, 2]).any():
        raise DataError(
            "the systems were not scored on the same sentences: their gold entities differ",
            fix="give sentence_counts of the same gold corpus, in the same order",
        )
    return pair


def _resampled(counts: NDArray[np.int64], samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """F1 of each system in each resample. Shape: (systems, runs, sentences, 3) to (samples, systems)

    Sentences with the same counts are interchangeable. So the number of occurrences of each distinct row is drawn. This
    is equivalent to drawing sentences, and much faster if there are many.
    """
    systems, _, sentences, _ = counts.shape
    rows, occurrences = np.unique(counts.transpose(2, 0, 1, 3).reshape(sentences, -1), axis=0, return_counts=True)
    block = max(1, BLOCK_CELLS // len(rows))
    drawn = []
    for start in range(0, samples, block):
        weights = rng.multinomial(sentences, occurrences / sentences, size=min(block, samples - start))
        # Floating-point numbers represent these counts exactly, and their matrix product is fast.
        sums = weights.astype(np.float64) @ rows.astype(np.float64)
        drawn.append(_mean_f1(sums.reshape(len(weights), systems, -1, 3)))
    return np.concatenate(drawn)


def _mean_f1(sums: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean F1 over the runs. Shape: (samples, systems, runs, 3) to (samples, systems)"""
    entities = sums[..., 1] + sums[..., 2]
    return (2 * sums[..., 0] / np.maximum(entities, 1)).mean(axis=-1)


def _percentiles(values: NDArray[np.float64]) -> tuple[float, float]:
    """The ends of the interval that contains the share `CONFIDENCE` of the values."""
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(values, [tail, 100 - tail])
    return float(low), float(high)


def _count_extreme(values: NDArray[np.float64], observed: float) -> int:
    """The number of values at least as far from zero. The tolerance keeps rounding from separating equal values."""
    return int(np.count_nonzero(np.abs(values) >= abs(observed) - 1e-12))


def sign_flip(baseline: Sequence[float], system: Sequence[float], *, seed: int = 0) -> float:
    """Compare two systems over seeds: the two-sided p-value of the paired sign-flip test.

    If the systems were equal, each seed's difference could just as well have had the opposite sign. The p-value is the
    share of all combinations of signs whose mean difference is at least as far from zero as the observed one. The test
    does not assume a normal distribution. Its p-value cannot be below 2 / 2ⁿ: 0.25 with 3 seeds, 0.06 with 5 seeds,
    0.03 with 6 seeds.

    Args:
        baseline: F1 of each run.
        system: F1 of the runs with the same seeds, in the same order.

    Raises:
        DataError: If there are fewer than two pairs, or the numbers of runs differ.

    >>> sign_flip([0.30, 0.31, 0.32], [0.35, 0.35, 0.36])
    0.25
    """
    if len(baseline) != len(system) or len(system) < 2:
        raise DataError(
            f"cannot pair {len(baseline)} runs of the baseline with {len(system)} of the system: "
            "expected equal numbers of runs, at least two",
            fix="run both with the same seeds",
        )
    n = len(system)
    if n <= EXACT_SEEDS:
        signs = np.array(list(product((1.0, -1.0), repeat=n)))
    else:
        signs = np.random.default_rng(item_seed(seed, "sign_flip")).choice((1.0, -1.0), size=(2**EXACT_SEEDS, n))
        signs[0] = 1.0  # the observed signs, which must be among the combinations
    flipped = signs @ (np.asarray(system, dtype=np.float64) - np.asarray(baseline, dtype=np.float64)) / n
    return _count_extreme(flipped, float(flipped[0])) / len(signs)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values of several comparisons, corrected for their number by Holm's step-down procedure.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        # Never below the previous value, or a larger p-value could be significant and a smaller one not.
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = highest
    return corrected
