"""Each extraction against its definition, written out in loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from nersery.crosslingual.embedding.extraction import (
    argmax,
    both_directions,
    by_probability,
    cosines,
    entmax,
    itermax,
    match,
    softmax,
)
from nersery.crosslingual.embedding.matching import best_matching

SHAPES = [(1, 1), (1, 4), (3, 1), (3, 5), (5, 3), (6, 6)]
Matrix = list[list[float]]


def padded(matrices: Sequence[Tensor], junk: float) -> tuple[Tensor, Tensor]:
    """Matrices side by side, with something large where there is nothing, and which cells there are."""
    values = torch.full((len(matrices) + 1, 8, 7), junk)
    mask = torch.zeros_like(values, dtype=torch.bool)
    for number, matrix in enumerate(matrices):
        rows, columns = matrix.shape
        values[number, :rows, :columns] = matrix
        mask[number, :rows, :columns] = True
    return values, mask


@pytest.fixture(scope="module")
def scores() -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [3 * torch.randn(shape, generator=generator) for shape in SHAPES]


@pytest.fixture(scope="module")
def similarities() -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.rand(shape, generator=generator) * 0.9 + 0.1 for shape in SHAPES]


def alignment(linked: Tensor) -> set[tuple[int, ...]]:
    return {tuple(place) for place in linked.nonzero().tolist()}


def softmax_by_hand(row: Sequence[float]) -> list[float]:
    powers = [math.exp(score) for score in row]
    return [power / sum(powers) for power in powers]


def entmax_by_hand(row: Sequence[float]) -> list[float]:
    """By halving the interval in which the threshold lies."""
    low, high = max(row) / 2 - 1, max(row) / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(max(score / 2 - middle, 0) ** 2 for score in row) > 1 else (low, middle)
    return [max(score / 2 - low, 0) ** 2 for score in row]


@pytest.mark.parametrize(("normalizer", "by_hand"), [(softmax, softmax_by_hand), (entmax, entmax_by_hand)])
def test_probabilities_of_both_directions(scores: list[Tensor], normalizer: object, by_hand: object) -> None:
    values, mask = padded(scores, 1e4)
    forward, backward = both_directions(values, mask, normalizer)  # type: ignore[arg-type]
    for number, matrix in enumerate(scores):
        rows, columns = matrix.shape
        for row in range(rows):
            expected = by_hand(matrix[row].tolist())  # type: ignore[operator]
            assert forward[number, row, :columns].tolist() == pytest.approx(expected, abs=1e-5)
        for column in range(columns):
            expected = by_hand(matrix[:, column].tolist())  # type: ignore[operator]
            assert backward[number, :rows, column].tolist() == pytest.approx(expected, abs=1e-5)
    assert not forward[~mask].any()
    assert not backward[~mask].any()


def test_entmax_of_large_scores_among_much_padding() -> None:
    row = torch.full((2000,), -1e30)
    row[[3, 700, 1999]] = torch.tensor([1000.0, 999.5, 990.0])
    found = entmax(row)
    assert found[[3, 700, 1999]].tolist() == pytest.approx(entmax_by_hand([10.0, 9.5, 0.0]), abs=1e-4)
    assert found.sum().item() == pytest.approx(1, abs=1e-4)
    assert entmax(torch.tensor([2.0, 2.0])).tolist() == pytest.approx([0.5, 0.5])


def test_linked_is_what_is_probable_both_ways() -> None:
    forward, backward = torch.tensor([[[0.5, 0.1, 0.3]]]), torch.tensor([[[0.02, 0.5, 0.1]]])
    linked, probability = by_probability(forward, backward, 0.1)
    assert linked.tolist() == [[[False, False, False]]]
    linked, probability = by_probability(forward, backward, 0.05)
    assert linked.tolist() == [[[False, True, True]]]
    assert probability[0, 0].tolist() == pytest.approx([0.1, 0.05**0.5, 0.03**0.5])


def argmax_by_hand(matrix: Matrix) -> set[tuple[int, int]]:
    found = set()
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            column = [other[j] for other in matrix]
            if value > 0 and row.index(max(row)) == j and column.index(max(column)) == i:
                found.add((i, j))
    return found


def itermax_by_hand(matrix: Matrix) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    for _ in range(2):
        rows, columns = {i for i, _ in found}, {j for _, j in found}
        damped = [
            [value * (1, 0.9, 0)[(i in rows) + (j in columns)] for j, value in enumerate(row)]
            for i, row in enumerate(matrix)
        ]
        found |= argmax_by_hand(damped)
    return found


@pytest.mark.parametrize(("extract", "by_hand"), [(argmax, argmax_by_hand), (itermax, itermax_by_hand)])
def test_most_similar_both_ways(similarities: list[Tensor], extract: object, by_hand: object) -> None:
    values, _ = padded(similarities, 0.0)
    expected = {
        (number, *place)
        for number, matrix in enumerate(similarities)
        for place in by_hand(matrix.tolist())  # type: ignore[operator]
    }
    assert alignment(extract(values)) == expected  # type: ignore[operator]


def test_of_equal_similarities_the_first_is_taken_and_none_is_none() -> None:
    assert alignment(argmax(torch.tensor([[[0.5, 0.5], [0.5, 0.5]], [[0.0, 0.0], [0.0, 0.0]]]))) == {(0, 0, 0)}


def test_itermax_finds_more_than_argmax(similarities: list[Tensor]) -> None:
    values, _ = padded(similarities, 0.0)
    assert alignment(argmax(values)) < alignment(itermax(values))


def test_match_has_the_largest_sum(similarities: list[Tensor]) -> None:
    values, mask = padded(similarities, 0.0)
    linked = match(values, mask)
    for number, matrix in enumerate(similarities):
        chosen = linked[number].nonzero().tolist()
        rows, columns = sorted(matrix.shape)
        assert len(chosen) == rows == len({i for i, _ in chosen}) == len({j for _, j in chosen})
        wide = matrix if matrix.shape[0] == rows else matrix.T
        best = max(
            sum(wide[row, column].item() for row, column in enumerate(order))
            for order in itertools.permutations(range(columns), rows)
        )
        assert values[number][linked[number]].sum().item() == pytest.approx(best, abs=1e-5)
    assert not linked[~mask].any()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (40, 40), (25, 60), (60, 25)])
@pytest.mark.parametrize("decimals", [1, 15])
def test_matching_is_as_good_as_that_of_scipy(shape: tuple[int, int], decimals: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        weights = rng.normal(size=shape).round(decimals)  # with many that are equal, or none
        found = best_matching(weights)
        rows, columns = linear_sum_assignment(weights, maximize=True)
        assert len(found) == len(rows) == len({i for i, _ in found}) == len({j for _, j in found})
        assert sum(weights[place] for place in found) == pytest.approx(weights[rows, columns].sum())


def test_cosines_lie_between_0_and_1_and_fall_with_the_distance() -> None:
    left = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]])
    right = torch.tensor([[[3.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [9.0, 9.0]]])
    mask = torch.tensor([[[True] * 3 + [False]] * 2 + [[False] * 4]])
    half = (1 + 0.5**0.5) / 2
    plain = cosines(left, right, mask, 0.0)[0]
    assert plain[:2, :3].flatten().tolist() == pytest.approx([1, half, 0, 0.5, half, 0.5])
    distorted = cosines(left, right, mask, 0.4)[0]  # at 0 and 1, and at 0, ½ and 1
    expected = [1, half * 0.9, 0, 0.5 * 0.6, half * 0.9, 0.5]
    assert distorted[:2, :3].flatten().tolist() == pytest.approx(expected)
    assert not plain[~mask[0]].any()
    assert not distorted[~mask[0]].any()
