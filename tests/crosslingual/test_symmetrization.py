"""Heuristics on links of both directions, by hand."""

import numpy as np
import pytest

from nersery.crosslingual.symmetrization import mutually_best, symmetrize

HEURISTICS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
FORWARD = {(0, 0), (1, 1), (2, 1), (4, 4), (6, 6)}
BACKWARD = {(0, 0), (1, 1), (1, 2), (4, 5), (3, 6), (7, 6)}
"""Both have 0-0 and 1-1. Beside these are 2-1 and 1-2; 4-4, 4-5, 6-6, 3-6 and 7-6 stand apart."""


def alignment(heuristic, forward=FORWARD, backward=BACKWARD):
    return sorted(symmetrize(forward, backward, heuristic))


def test_by_hand():
    assert alignment("intersection") == [(0, 0), (1, 1)]
    assert alignment("union") == sorted(FORWARD | BACKWARD)
    assert alignment("grow-diag") == [(0, 0), (1, 1), (1, 2), (2, 1)]
    assert alignment("grow-diag-final-and") == [(0, 0), (1, 1), (1, 2), (2, 1), (4, 4), (6, 6)]
    assert alignment("grow-diag-final") == [(0, 0), (1, 1), (1, 2), (2, 1), (3, 6), (4, 4), (4, 5), (6, 6), (7, 6)]


def test_final_takes_forward_first():
    assert alignment("grow-diag-final-and", {(0, 1)}, {(0, 0)}) == [(0, 1)]
    assert alignment("grow-diag-final-and", {(0, 0)}, {(0, 1)}) == [(0, 0)]


def test_growing_goes_on_from_what_has_grown_also_diagonally():
    forward = {(0, 0), (1, 1), (2, 2), (3, 3)}
    assert alignment("grow-diag", forward, {(0, 0)}) == sorted(forward)
    assert alignment("grow-diag", {(3, 0), *(chain := {(2, 1), (1, 2), (0, 3)})}, {(3, 0)}) == sorted({(3, 0)} | chain)


def test_growing_stops_at_words_that_both_have_links():
    square = {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert alignment("grow-diag", square, {(0, 0), (1, 1)}) == [(0, 0), (1, 1)]
    assert alignment("grow-diag", square, {(0, 0)}) == [(0, 0), (0, 1), (1, 0)]


def test_growing_leaps_no_gap():
    assert alignment("grow-diag", {(0, 0), (0, 2)}, {(0, 0)}) == [(0, 0)]


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_order_and_emptiness_do_not_matter(heuristic):
    assert symmetrize(sorted(FORWARD, reverse=True), sorted(BACKWARD), heuristic) == symmetrize(
        FORWARD, BACKWARD, heuristic
    )
    assert symmetrize((), (), heuristic) == set()
    assert (6, 6) in FORWARD, "what was given must not change"


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_between_intersection_and_union(heuristic):
    assert FORWARD & BACKWARD <= symmetrize(FORWARD, BACKWARD, heuristic) <= FORWARD | BACKWARD


def test_mutually_best_links_and_those_that_touch_them():
    probabilities = np.array([[0.9, 0.6, 0.0], [0.0, 0.1, 0.0], [0.2, 0.0, 0.4]])
    assert mutually_best(probabilities, 0.3).tolist() == [[True, True, False], [False] * 3, [False, False, True]]
    assert mutually_best(np.zeros((0, 3)), 0.3).shape == (0, 3)
