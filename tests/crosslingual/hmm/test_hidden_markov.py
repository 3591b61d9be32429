"""The hidden Markov model, compared with an enumeration of all ways to link some words."""

import itertools

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from nersery.crosslingual.hmm import hidden_markov


def by_hand(emissions, null, jumps):
    """Return posteriors of links and counts of jumps of one sentence. Shape of emissions: (words, states)."""
    words, count = emissions.shape
    alignment, taken, total = np.zeros((words, count)), np.zeros(len(jumps)), 0.0
    for way in itertools.product(range(count), (False, True), repeat=words):
        states = list(zip(way[::2], way[1::2], strict=True))
        chance, position, passed = 1.0, None, []
        for word, (state, is_null) in enumerate(states):
            if is_null:  # it keeps its position; before the first link, each position is equally likely
                chance *= null[word] * (1 / count if position is None else state == position)
            elif position is None:
                chance *= emissions[word, state] / count
            else:
                weights = [jumps[other - position + hidden_markov.FURTHEST] for other in range(count)]
                chance *= emissions[word, state] * weights[state] / sum(weights)
                passed.append(state - position + hidden_markov.FURTHEST)
            position = state
        total += chance
        np.add.at(taken, passed, chance)
        for word, (state, is_null) in enumerate(states):
            alignment[word, state] += 0 if is_null else chance
    return alignment / total, taken / total


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_posteriors_equal_an_enumeration_of_all_ways(kind):
    rng = np.random.default_rng(0)
    jumps = hidden_markov.normalized(rng.random(2 * hidden_markov.FURTHEST + 1))
    sizes = [(3, 2), (1, 3), (3, 4), (2, 1)]
    emissions, null = np.zeros((3, len(sizes), 4), kind), np.ones((3, len(sizes)), kind)
    for row, (words, count) in enumerate(sizes):
        emissions[:words, row, :count] = rng.random((words, count)) * 10.0 ** -rng.integers(0, 5, (words, 1))
        null[:words, row] = rng.random(words) * 0.1
    linked, taken_jumps = hidden_markov.posteriors(emissions, null, jumps, np.array([count for _, count in sizes]))
    counts = np.zeros(len(jumps))
    for row, (words, count) in enumerate(sizes):
        alignment, taken = by_hand(emissions[:words, row, :count], null[:words, row], jumps)
        np.testing.assert_allclose(linked[:words, row, :count], alignment, rtol=1e-4)
        assert not linked[words:, row].any()
        assert not linked[:, row, count:].any()
        counts += taken
    np.testing.assert_allclose(taken_jumps, counts, rtol=1e-4, atol=1e-9)


def test_long_jumps_share_the_last_probability():
    count = hidden_markov.FURTHEST + 10
    jumps = hidden_markov.first_jumps()
    emissions = np.zeros((2, 1, count))
    emissions[0, 0, 0] = emissions[1, 0, -1] = 1
    linked, taken_jumps = hidden_markov.posteriors(emissions, np.zeros((2, 1)), jumps, np.array([count]))
    assert linked[1, 0, -1] == pytest.approx(1)
    assert taken_jumps[-1] == pytest.approx(1)


def test_all_jumps_stay_possible():
    counts = np.zeros(2 * hidden_markov.FURTHEST + 1)
    for jumps in (hidden_markov.normalized(counts), hidden_markov.normalized(counts + np.eye(len(counts))[3])):
        assert jumps.sum() == pytest.approx(1)
        assert jumps.min() > 0


def test_the_number_of_threads_does_not_change_a_bit():
    """BLAS adds in another order on several threads. No call gets more than 16 sentences of 48 words."""
    rng = np.random.default_rng(0)
    given = rng.random((48, 16, 48)), rng.random((48, 16)), hidden_markov.first_jumps(), np.full(16, 48)
    found = []
    for threads in (1, 4):
        with threadpool_limits(threads):
            found.append(hidden_markov.posteriors(*given))
    for one, other in zip(*found, strict=True):
        assert (one == other).all()
