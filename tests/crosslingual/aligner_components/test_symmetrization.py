"""Heuristics on links of both directions, compared with results by hand."""

import numpy as np
import pytest

from nersery.crosslingual.aligner_components.symmetrization import mutually_best, symmetrize

HEURISTICS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
FORWARD = {(0, 0), (1, 1), (2, 1), (4, 4), (6, 6)}
BACKWARD = {(0, 0), (1, 1), (1, 2), (4, 5), (3, 6), (7, 6)}
"""Both have 0-0 and 1-1. 2-1 and 1-2 are next to these; 4-4, 4-5, 6-6, 3-6 and 7-6 are isolated."""


def alignment(heuristic, forward=FORWARD, backward=BACKWARD):
    return sorted(symmetrize(forward, backward, heuristic))


def test_every_heuristic_gives_the_links_found_by_hand():
    assert alignment("intersection") == [(0, 0), (1, 1)]
    assert alignment("union") == sorted(FORWARD | BACKWARD)
    assert alignment("grow-diag") == [(0, 0), (1, 1), (1, 2), (2, 1)]
    assert alignment("grow-diag-final-and") == [(0, 0), (1, 1), (1, 2), (2, 1), (4, 4), (6, 6)]
    assert alignment("grow-diag-final") == [(0, 0), (1, 1), (1, 2), (2, 1), (3, 6), (4, 4), (4, 5), (6, 6), (7, 6)]


def test_final_takes_forward_first():
    assert alignment("grow-diag-final-and", {(0, 1)}, {(0, 0)}) == [(0, 1)]
    assert alignment("grow-diag-final-and", {(0, 0)}, {(0, 1)}) == [(0, 0)]


def test_growing_continues_from_added_links_also_diagonally():
    forward = {(0, 0), (1, 1), (2, 2), (3, 3)}
    assert alignment("grow-diag", forward, {(0, 0)}) == sorted(forward)
    assert alignment("grow-diag", {(3, 0), *(chain := {(2, 1), (1, 2), (0, 3)})}, {(3, 0)}) == sorted({(3, 0)} | chain)


def test_growing_skips_links_between_two_linked_words():
    square = {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert alignment("grow-diag", square, {(0, 0), (1, 1)}) == [(0, 0), (1, 1)]
    assert alignment("grow-diag", square, {(0, 0)}) == [(0, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize("shift", range(0, 60, 7))
def test_adds_the_first_of_two_neighbours_for_the_last_free_word(shift):
    """The order of neighbours is up, left, down, right, then the diagonals from the upper left on."""
    apart = {(1, 1 + shift), (20, shift), (22, 2 + shift)}  # the last two give links to the target words of both
    assert alignment("grow-diag", apart | {(0, shift), (0, 2 + shift)}, apart) == sorted(apart | {(0, shift)})
    apart = {(1, 1 + shift), (0, 20 + shift), (2, 22 + shift)}
    assert alignment("grow-diag", apart | {(0, shift), (2, shift)}, apart) == sorted(apart | {(0, shift)})


@pytest.mark.parametrize("shift", range(0, 25))
def test_links_are_processed_by_source_then_target(shift):
    apart = {(1 + shift, 1), (3 + shift, 3), (80, 0), (90, 4)}
    rivals = {(2 + shift, 0), (2 + shift, 4)}  # one next to the first link, one next to the second
    assert alignment("grow-diag", apart | rivals, apart) == sorted(apart | {(2 + shift, 0)})
    final = {(shift, position) for position in range(5)} | {(shift + 1, 4)}
    assert alignment("grow-diag-final-and", final, ()) == [(shift, 0), (shift + 1, 4)]
    assert alignment("grow-diag-final-and", (), final) == [(shift, 0), (shift + 1, 4)]


def test_growing_does_not_cross_gaps():
    assert alignment("grow-diag", {(0, 0), (0, 2)}, {(0, 0)}) == [(0, 0)]


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_order_does_not_matter_and_no_links_are_allowed(heuristic):
    assert symmetrize(sorted(FORWARD, reverse=True), sorted(BACKWARD), heuristic) == symmetrize(
        FORWARD, BACKWARD, heuristic
    )
    assert symmetrize((), (), heuristic) == set()
    assert (6, 6) in FORWARD, "what was given must not change"


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_results_lie_between_intersection_and_union(heuristic):
    assert FORWARD & BACKWARD <= symmetrize(FORWARD, BACKWARD, heuristic) <= FORWARD | BACKWARD


def test_keeps_mutually_best_links_and_those_that_touch_them():
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
