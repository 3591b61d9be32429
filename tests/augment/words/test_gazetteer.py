from __future__ import annotations

import random
from unicodedata import normalize

import numpy as np
import pytest

from nersery.augment.words.gazetteer import Gazetteer, Mention, has_embedding

NAMES = [("a",), ("b", "c"), ("d",), ("e",)]


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_the_highest_cosine_wins() -> None:
    gazetteer = Gazetteer.of(NAMES, unit(np.array([[1, 0], [1, 1], [0, 1], [-1, 0]])))
    wanted = unit(np.array([[5, 1], [3, 3.1], [0.1, 9], [-2, 0.1]]))
    assert gazetteer.nearest([("x",)] * 4, wanted) == NAMES
    assert gazetteer.nearest(NAMES, wanted) == [NAMES[1], NAMES[2], NAMES[1], NAMES[2]]


def test_mentions_without_an_embedding_are_never_matched() -> None:
    gazetteer = Gazetteer.of(NAMES, np.array([[0, 0], [1, 0], [0, 0], [0, 1]], np.float32))
    assert gazetteer.mentions == (NAMES[1], NAMES[3])
    assert gazetteer.nearest([("x",), ("y",)], np.array([[0, 0], [-1, -0.5]], np.float32)) == [None, NAMES[3]]
    assert has_embedding(np.array([[0, 0], [0, -1]])).tolist() == [False, True]


def test_takes_the_first_of_equally_near_mentions() -> None:
    rng = np.random.default_rng(5)
    rows = {name: rng.normal(size=300).astype(np.float32) for name in "abc"}
    mentions = sorted(tuple(words) for words in ("bca", "bac", "acb", "cab", "acbacb"))
    means = np.stack([np.stack([rows[word] for word in words]).mean(0) for words in mentions])
    gazetteer = Gazetteer.of(mentions, unit(means))
    assert len({row.tobytes() for row in gazetteer.matrix}) > 1, "they differ by rounding alone"
    wanted = [(f"m{number}",) for number in range(200)]
    assert set(gazetteer.nearest(wanted, unit(rng.normal(size=(200, 300))))) == {mentions[0]}


def test_the_block_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    gazetteer = Gazetteer.of(NAMES, unit(rng.normal(size=(4, 5))))
    wanted, rows = [NAMES[2], *((f"m{number}",) for number in range(30))], unit(rng.normal(size=(31, 5)))
    expected = gazetteer.nearest(wanted, rows)
    assert set(expected) == {*NAMES}
    for block in (1, 8, 12):
        monkeypatch.setattr("nersery.augment.words.gazetteer.BLOCK", block)
        assert gazetteer.nearest(wanted, rows) == expected


def test_others_are_drawn_evenly() -> None:
    gazetteer = Gazetteer.of(NAMES, None)
    rng = random.Random(0)
    drawn = [gazetteer.draw_other(NAMES[1], rng) for _ in range(3000)]
    assert {name: drawn.count(name) / 3000 for name in NAMES} == pytest.approx(
        {NAMES[0]: 1 / 3, NAMES[1]: 0, NAMES[2]: 1 / 3, NAMES[3]: 1 / 3}, abs=0.03
    )
    assert {gazetteer.draw_other(("x",), rng) for _ in range(200)} == {*NAMES}


def test_a_single_entity_has_no_other() -> None:
    gazetteer = Gazetteer.of(NAMES[:1], unit(np.array([[1, 0]])))
    assert (gazetteer.has_other(NAMES[0]), gazetteer.has_other(NAMES[1])) == (False, True)
    assert gazetteer.nearest(NAMES[:2], unit(np.array([[1, 0], [1, 0]]))) == [None, NAMES[0]]


@pytest.mark.parametrize(
    ("kept", "other"), [(("Guerra", "Ltda."), ("Guerra", "Ltda", ".")), (("Èkó",), (normalize("NFD", "Èkó"),))]
)
@pytest.mark.parametrize("searched", [True, False])
def test_a_text_that_is_split_or_encoded_in_two_ways_is_one_mention(
    kept: Mention, other: Mention, *, searched: bool
) -> None:
    mentions, rows = sorted([kept, other, ("Oslo",)]), unit(np.array([[1, 0], [1, 0.1], [0, 1]]))
    gazetteer = Gazetteer.of(mentions, rows if searched else None)
    assert gazetteer.mentions == tuple(sorted([kept, ("Oslo",)]))
    for form in (kept, other):
        assert gazetteer.draw_other(form, random.Random(0)) == ("Oslo",)
        assert not Gazetteer.of([form], None).has_other(other)
    if searched:
        assert gazetteer.nearest([kept, other], rows[:2]) == [("Oslo",), ("Oslo",)]
