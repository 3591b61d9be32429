"""Hidden Markov model of translation: each word comes from a word of the other sentence, near the last one's origin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

Array = NDArray[np.floating]

FURTHEST = 64
"""In words; all longer jumps are as probable as this one."""
FLATNESS = 0.05
"""The share of the jumps' probability that is spread evenly over all jumps."""
_TINY = 1e-30
_BLAS = ThreadpoolController()


def first_jumps() -> NDArray[np.float64]:
    """Probabilities of jumps before learning; the jump to the next word is the likeliest. Shape: (2 * FURTHEST + 1)."""
    return normalized(np.exp(-0.3 * np.abs(np.arange(-FURTHEST, FURTHEST + 1) - 1.0)) + 1e-3)


def normalized(jumps: NDArray[np.float64]) -> NDArray[np.float64]:
    """The counts of jumps as probabilities, all of them above 0. Shape: (2 * FURTHEST + 1)."""
    total = jumps.sum()
    return (1 - FLATNESS) * jumps / total + FLATNESS / len(jumps) if total else np.full(len(jumps), 1 / len(jumps))


@_BLAS.wrap(limits=1, user_api="blas")  # type: ignore[untyped-decorator]  # several threads add up in other orders
def posteriors(
    emissions: Array, null: Array, jumps: NDArray[np.float64], lengths: NDArray[np.int64]
) -> tuple[Array, NDArray[np.float64]]:
    """Run the forward-backward algorithm over all sentences at once.

    A word aligned to the null word does not change the position from which the next word jumps (Och and Ney, 2003).

    Args:
        emissions: Probability of each word, given the word that it is aligned to; 0 at padding.
            Shape: (words, sentences, states). A state is a position in the other sentence.
        null: Probability of each word, given the null word; 1 at padding. Shape: (words, sentences).
        jumps: Probabilities of jumps. Shape: (2 * FURTHEST + 1).
        lengths: The number of states, 1 or more. Shape: (sentences).

    Returns:
        For each word, the probability that it is aligned to each word of the other sentence. The rest, up to 1, is that
        of the null word. Shape: (words, sentences, states). And how often each jump was taken.
        Shape: (2 * FURTHEST + 1).
    """
    words, _, states = emissions.shape
    dtype = emissions.dtype
    positions = np.arange(states)
    jump_of = np.clip(positions - positions[:, None], -FURTHEST, FURTHEST) + FURTHEST  # the index of each jump
    transitions = jumps.astype(dtype)[jump_of]
    transitions_back = np.ascontiguousarray(transitions.T)
    exists = (positions < lengths[:, None]).astype(dtype)
    # Sentences differ in length, so the jumps from each position are normalized to 1 over the positions that exist.
    normalizers = exists / np.maximum(exists @ transitions_back, _TINY)
    null = null[:, :, None]
    # `linked` has the forward probabilities of words that are not aligned to the null word; then their posteriors.
    linked, forward, backward, arrivals = (np.empty_like(emissions) for _ in range(4))
    scales = np.empty(null.shape, dtype)
    previous = exists / lengths[:, None].astype(dtype)
    for word in range(words):
        predicted = previous if word == 0 else (previous * normalizers) @ transitions
        np.multiply(predicted, emissions[word], out=linked[word])
        np.multiply(previous, null[word], out=forward[word])
        forward[word] += linked[word]
        scales[word] = np.maximum(forward[word].sum(1, keepdims=True), _TINY)  # else long sentences would underflow
        forward[word] /= scales[word]
        previous = forward[word]
    backward[-1:] = 1
    for word in range(words - 1, 0, -1):
        np.multiply(emissions[word], backward[word], out=arrivals[word])
        arrivals[word] /= scales[word]
        np.multiply(arrivals[word] @ transitions_back, normalizers, out=backward[word - 1])
        backward[word - 1] += backward[word] * (null[word] / scales[word])
    linked *= backward
    linked /= scales
    # How often each jump was taken, summed over words and sentences by one matrix product.
    departures = (forward[:-1] * normalizers).reshape(-1, states)
    taken = transitions * (departures.T @ arrivals[1:].reshape(-1, states))
    return linked, np.asarray(np.bincount(jump_of.ravel(), taken.ravel(), len(jumps)), np.float64)
