from __future__ import annotations

import random

import numpy as np
import pytest

from nersery.augment.rules import gazetteer
from nersery.augment.rules.gazetteer import EntityPool, known

NAMES = [("a",), ("b", "c"), ("d",), ("e",)]


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_the_highest_cosine_wins() -> None:
    pool = EntityPool.of(NAMES, unit(np.array([[1, 0], [1, 1], [0, 1], [-1, 0]])))
    wanted = unit(np.array([[5, 1], [3, 3.1], [0.1, 9], [-2, 0.1]]))
    assert pool.nearest([("x",)] * 4, wanted) == NAMES
    assert pool.nearest(NAMES, wanted) == [NAMES[1], NAMES[2], NAMES[1], NAMES[2]]


def test_what_has_no_embedding_is_neither_found_nor_finds() -> None:
    pool = EntityPool.of(NAMES, np.array([[0, 0], [1, 0], [0, 0], [0, 1]], np.float32))
    assert pool.mentions == (NAMES[1], NAMES[3])
    assert pool.nearest([("x",), ("y",)], np.array([[0, 0], [-1, -0.5]], np.float32)) == [None, NAMES[3]]
    assert known(np.array([[0, 0], [0, -1]])).tolist() == [False, True]


def test_of_several_that_are_as_near_the_first_in_order_is_taken() -> None:
    rng = np.random.default_rng(5)
    rows = {name: rng.normal(size=300).astype(np.float32) for name in "abc"}
    mentions = sorted(tuple(words) for words in ("bca", "bac", "acb", "cab", "acbacb"))
    means = np.stack([np.stack([rows[word] for word in words]).mean(0) for words in mentions])
    pool = EntityPool.of(mentions, unit(means))
    assert len({row.tobytes() for row in pool.matrix}) > 1, "they differ by rounding alone"
    wanted = [(f"m{number}",) for number in range(200)]
    assert set(pool.nearest(wanted, unit(rng.normal(size=(200, 300))))) == {mentions[0]}


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    pool = EntityPool.of(NAMES, unit(rng.normal(size=(4, 5))))
    wanted, rows = [NAMES[2], *((f"m{number}",) for number in range(30))], unit(rng.normal(size=(31, 5)))
    expected = pool.nearest(wanted, rows)
    assert set(expected) == {*NAMES}
    for block in (1, 8, 12):
        monkeypatch.setattr(gazetteer, "BLOCK", block)
        assert pool.nearest(wanted, rows) == expected


def test_others_are_drawn_evenly() -> None:
    pool = EntityPool.of(NAMES, None)
    rng = random.Random(0)
    drawn = [pool.draw_other(NAMES[1], rng) for _ in range(3000)]
    assert {name: drawn.count(name) / 3000 for name in NAMES} == pytest.approx(
        {NAMES[0]: 1 / 3, NAMES[1]: 0, NAMES[2]: 1 / 3, NAMES[3]: 1 / 3}, abs=0.03
    )
    assert {pool.draw_other(("x",), rng) for _ in range(200)} == {*NAMES}


def test_an_only_entity_has_no_other() -> None:
    pool = EntityPool.of(NAMES[:1], unit(np.array([[1, 0]])))
    assert (pool.has_other(NAMES[0]), pool.has_other(NAMES[1])) == (False, True)
    assert pool.nearest(NAMES[:2], unit(np.array([[1, 0], [1, 0]]))) == [None, NAMES[0]]
