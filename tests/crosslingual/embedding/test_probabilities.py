"""Probabilities of links, compared with their definition in plain loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from nersery.crosslingual.embedding.probabilities import both_directions, entmax, probable_links, softmax
from tests.crosslingual.embedding.padding import SHAPES, padded


@pytest.fixture(scope="module")
def scores() -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [3 * torch.randn(shape, generator=generator) for shape in SHAPES]


def softmax_by_hand(row: Sequence[float]) -> list[float]:
    powers = [math.exp(score) for score in row]
    return [power / sum(powers) for power in powers]


def entmax_by_hand(row: Sequence[float]) -> list[float]:
    """Halve the interval that contains the threshold."""
    low, high = max(row) / 2 - 1, max(row) / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(max(score / 2 - middle, 0) ** 2 for score in row) > 1 else (low, middle)
    return [max(score / 2 - low, 0) ** 2 for score in row]


@pytest.mark.parametrize(("normalizer", "by_hand"), [(softmax, softmax_by_hand), (entmax, entmax_by_hand)])
def test_probabilities_of_both_directions_match_their_definition(
    scores: list[Tensor], normalizer: object, by_hand: object
) -> None:
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


def test_entmax_handles_large_scores_among_much_padding() -> None:
    row = torch.full((2000,), -1e30)
    row[[3, 700, 1999]] = torch.tensor([1000.0, 999.5, 990.0])
    found = entmax(row)
    assert found[[3, 700, 1999]].tolist() == pytest.approx(entmax_by_hand([10.0, 9.5, 0.0]), abs=1e-4)
    assert found.sum().item() == pytest.approx(1, abs=1e-4)
    assert entmax(torch.tensor([2.0, 2.0])).tolist() == pytest.approx([0.5, 0.5])


def test_links_are_probable_in_both_directions() -> None:
    forward, backward = torch.tensor([[[0.5, 0.1, 0.3]]]), torch.tensor([[[0.02, 0.5, 0.1]]])
    linked, probability = probable_links(forward, backward, 0.1)
    assert linked.tolist() == [[[False, False, False]]]
    linked, probability = probable_links(forward, backward, 0.05)
    assert linked.tolist() == [[[False, True, True]]]
    assert probability[0, 0].tolist() == pytest.approx([0.1, 0.05**0.5, 0.03**0.5])
