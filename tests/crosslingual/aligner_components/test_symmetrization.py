"""Heuristics on links of both directions, by hand."""

import numpy as np
import pytest

from nersery.crosslingual.aligner_components.symmetrization import mutually_best, symmetrize

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


@pytest.mark.parametrize("shift", range(0, 60, 7))
def test_of_two_that_take_the_last_free_word_the_first_neighbour_is_added(shift):
    """The order of neighbours is up, left, down, right, then the diagonals from the upper left on."""
    apart = {(1, 1 + shift), (20, shift), (22, 2 + shift)}  # the last two give links to the target words of both
    assert alignment("grow-diag", apart | {(0, shift), (0, 2 + shift)}, apart) == sorted(apart | {(0, shift)})
    apart = {(1, 1 + shift), (0, 20 + shift), (2, 22 + shift)}
    assert alignment("grow-diag", apart | {(0, shift), (2, shift)}, apart) == sorted(apart | {(0, shift)})


@pytest.mark.parametrize("shift", range(0, 25))
def test_links_are_gone_through_by_source_and_target(shift):
    apart = {(1 + shift, 1), (3 + shift, 3), (80, 0), (90, 4)}
    rivals = {(2 + shift, 0), (2 + shift, 4)}  # one beside the first link, one beside the second
    assert alignment("grow-diag", apart | rivals, apart) == sorted(apart | {(2 + shift, 0)})
    final = {(shift, position) for position in range(5)} | {(shift + 1, 4)}
    assert alignment("grow-diag-final-and", final, ()) == [(shift, 0), (shift + 1, 4)]
    assert alignment("grow-diag-final-and", (), final) == [(shift, 0), (shift + 1, 4)]


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


@pytest.mark.parametrize("rows", [[[0.9], [0.5]], [[0.5], [0.9]], [[0.9, 0.5]], [[0.5, 0.9]], [[0.4, 0.9, 0.5]]])
def test_links_above_below_and_on_either_side_touch(rows):
    assert mutually_best(np.array(rows), 0.3).all()


def test_unlikely_links_are_left_out_even_if_they_are_the_best():
    assert mutually_best(np.array([[0.3]]), 0.3).tolist() == [[False]]
    assert mutually_best(np.array([[0.1, 0.0], [0.0, 0.5]]), 0.3).tolist() == [[False, False], [False, True]]
    assert mutually_best(np.array([[0.9, 0.0], [0.0, 0.5]]), 0.3).tolist() == [[True, False], [False, True]]
    assert mutually_best(np.array([[0.9, 0.3]]), 0.3).tolist() == [[True, False]]
    assert mutually_best(np.zeros((3, 0)), 0.3).shape == (3, 0)
