from __future__ import annotations

import numpy as np
import pytest

from nersery.models.embeddings.neighbours import BLOCK, GROUP, nearest
from nersery.models.embeddings.text_encoder import Embeddings


def vectors(count: int, seed: int = 0, dimension: int = 16) -> Embeddings:
    rows = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    unit: Embeddings = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


@pytest.mark.parametrize("keys", [1, 2, GROUP, GROUP + 1, 1000])
@pytest.mark.parametrize("count", [1, 3])
def test_nearest_equals_a_full_sort(keys: int, count: int) -> None:
    queries, known = vectors(BLOCK + 5, 1), vectors(keys)
    expected = np.argsort(-(queries @ known.T), axis=1, kind="stable")[:, :count]
    assert nearest(queries, known, count).tolist() == expected.tolist()


def test_no_vector_is_its_own_neighbour() -> None:
    known = vectors(300)
    similarity = known @ known.T
    np.fill_diagonal(similarity, -2)
    expected = np.argsort(-similarity, axis=1, kind="stable")[:, :2]
    assert nearest(known, known, 2, np.arange(300)).tolist() == expected.tolist()


def test_distinguishes_close_neighbours() -> None:
    query = np.zeros((1, 64), np.float32)
    query[0, 0] = 1
    angles = np.linspace(0.01, 0.02, 40)
    known = np.zeros((40, 64), np.float32)
    known[:, 0], known[np.arange(40), np.arange(40) + 1] = np.cos(angles), np.sin(angles)
    order = np.random.default_rng(0).permutation(40)
    assert nearest(query, known[order], 3).tolist() == [np.argsort(order)[:3].tolist()]


def test_takes_the_first_of_equal_neighbours() -> None:
    known = np.repeat(vectors(1), 200, axis=0)
    assert nearest(known[:1], known, 3).tolist() == [[0, 1, 2]]


def test_a_vector_is_its_own_last_neighbour() -> None:
    assert nearest(vectors(1), vectors(1), 2, np.zeros(1, np.int64)).tolist() == [[0]]
    assert nearest(vectors(2), vectors(2), 2, np.arange(2)).tolist() == [[1, 0], [0, 1]]


def test_other_queries_do_not_change_the_result() -> None:
    queries, known = vectors(700, 1), np.repeat(vectors(40), 9, axis=0)
    alone = [nearest(queries[number : number + 1], known, 12).tolist()[0] for number in (0, 511, 512, 699)]
    assert nearest(queries, known, 12)[[0, 511, 512, 699]].tolist() == alone


def test_accepts_no_queries() -> None:
    assert nearest(vectors(0), vectors(5), 2).shape == (0, 2)
