"""Each extraction of links from similarities, compared with its definition in plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from nersery.crosslingual.embedding.similarities import argmax, best_matching, cosines, itermax, match
from tests.crosslingual.embedding.padding import SHAPES, padded

Matrix = list[list[float]]


@pytest.fixture(scope="module")
def similarities() -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.rand(shape, generator=generator) * 0.9 + 0.1 for shape in SHAPES]


def alignment(linked: Tensor) -> set[tuple[int, ...]]:
    return {tuple(point) for point in linked.nonzero().tolist()}


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
def test_extractions_match_their_definition(similarities: list[Tensor], extract: object, by_hand: object) -> None:
    values, _ = padded(similarities, 0.0)
    expected = {
        (number, *point)
        for number, matrix in enumerate(similarities)
        for point in by_hand(matrix.tolist())  # type: ignore[operator]
    }
    assert alignment(extract(values)) == expected  # type: ignore[operator]


def test_takes_the_first_of_equal_similarities_and_none_of_zero() -> None:
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
        weights = rng.normal(size=shape).round(decimals)  # with many equal values, or none
        found = best_matching(weights)
        rows, columns = linear_sum_assignment(weights, maximize=True)
        assert len(found) == len(rows) == len({i for i, _ in found}) == len({j for _, j in found})
        assert sum(weights[point] for point in found) == pytest.approx(weights[rows, columns].sum())


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
