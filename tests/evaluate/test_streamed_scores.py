from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nersery import Corpus, Entity, Sentence
from nersery.core.errors import DataError
from nersery.evaluate.error_analysis import find_errors
from nersery.evaluate.scores import paired_by_order, score, sentence_counts
from nersery.evaluate.streamed_scores import score_by_id, score_streams
from nersery.io.temporary_tables.ids import SeenIds

TYPES = ("LOC", "PER")


def sentences(count: int, seed: int) -> Iterator[Sentence]:
    """The same words for every seed, with different labels."""
    rng = random.Random(seed)
    for number in range(count):
        places = sorted(rng.sample(range(6), 2))
        entities = [Entity(place, place + 1, rng.choice(TYPES)) for place in places]
        yield Sentence(tuple(f"{number}-{place}" for place in range(6)), tuple(entities), id=f"s{number}")


def test_gives_the_same_scores_as_reading_everything() -> None:
    gold, *labelled = (list(sentences(50, seed)) for seed in range(3))
    found = score_streams(gold, labelled, errors=True)
    assert found is not None
    for counter, guesses in zip(found.counters, labelled, strict=True):
        assert counter.scores == score(gold, guesses)
        assert np.array_equal(counter.sentence_counts, sentence_counts(gold, guesses))
    assert found.errors == find_errors(gold, labelled[0])
    assert score_streams(gold, labelled).errors is None  # type: ignore[union-attr]


GOLD = list(sentences(4, 0))


@pytest.mark.parametrize(
    "other",
    [
        GOLD[:3],
        [*GOLD, Sentence(("more",), id="more")],
        [GOLD[1], GOLD[0], *GOLD[2:]],
        [replace(GOLD[0], id="s1"), replace(GOLD[1], id="s0"), *GOLD[2:]],
        [replace(GOLD[0], id="s3"), *GOLD[1:]],
        [GOLD[0], replace(GOLD[1], id="s0"), *GOLD[2:]],
        [replace(GOLD[0], id="more"), replace(GOLD[1], id="more"), *GOLD[2:]],
        [Sentence(("other", "words"), id="s0"), *GOLD[1:]],
    ],
    ids=[
        "a sentence too few",
        "a sentence too many",
        "another order",
        "ids in another order",
        "a later id twice",
        "an earlier id twice",
        "another id twice",
        "other words",
    ],
)
def test_sentences_out_of_step_are_not_scored(other: list[Sentence]) -> None:
    assert score_streams(GOLD, [GOLD, other]) is None
    assert score_streams(GOLD, [other, GOLD]) is None


@pytest.mark.parametrize("count", [1, 4], ids=["one other id", "other ids only"])
def test_pairs_sentences_with_unknown_ids_by_order(count: int) -> None:
    guesses = list(sentences(4, 1))
    other = [replace(one, id=f"predicted:{number}") for number, one in enumerate(guesses[:count])] + guesses[count:]
    paired = list(paired_by_order(Corpus(GOLD), Corpus(other)))
    found = score_streams(GOLD, [other, GOLD], errors=True)
    assert found is not None
    assert [counter.scores for counter in found.counters] == [score(GOLD, paired), score(GOLD, GOLD)]
    assert found.errors == find_errors(GOLD, paired)


def test_labellings_in_any_order_are_paired_by_id() -> None:
    gold, *labelled = (list(sentences(50, seed)) for seed in range(3))
    mixed = [random.Random(seed).sample(guesses, 50) for seed, guesses in enumerate(labelled)]
    assert score_streams(gold, mixed) is None
    found, expected = score_by_id(gold, mixed, errors=True), score_streams(gold, labelled, errors=True)
    assert found is not None
    assert expected is not None
    assert found.errors == expected.errors
    for ours, theirs in zip(found.counters, expected.counters, strict=True):
        assert ours.scores == theirs.scores
        assert np.array_equal(ours.sentence_counts, theirs.sentence_counts)


@pytest.mark.parametrize(
    "other",
    [
        GOLD[:3],
        [*GOLD, Sentence(("more",), id="more")],
        [replace(GOLD[0], id="other"), *GOLD[1:]],
        [Sentence(("other", "words"), id="s0"), *GOLD[1:]],
        [*GOLD, GOLD[0]],
    ],
    ids=["a sentence too few", "a sentence too many", "another id", "other words", "an id twice"],
)
def test_labellings_of_other_sentences_are_not_scored_by_id(other: list[Sentence]) -> None:
    assert score_by_id(GOLD, [GOLD, other]) is None
    assert score_by_id(GOLD, [other, GOLD]) is None
    assert score_by_id([*GOLD, GOLD[0]], [GOLD]) is None


def test_does_not_score_duplicate_ids() -> None:
    twice = [GOLD[0], GOLD[0]]
    assert score_streams(twice, [twice]) is None


def test_gives_up_on_broken_data_without_an_error() -> None:
    def broken() -> Iterator[Sentence]:
        yield GOLD[0]
        raise DataError("line 2 is broken", fix="mend it")

    assert score_streams(GOLD, [broken()]) is None


class Many:
    """Sentences that are generated again each time they are read."""

    def __init__(self, count: int, seed: int) -> None:
        self._given = count, seed

    def __iter__(self) -> Iterator[Sentence]:
        return sentences(*self._given)


def score_other_ids(gold: Many, labelled: Sequence[Many]) -> Any:
    other_ids = [(replace(one, id=f"predicted:{one.id}") for one in many) for many in labelled]
    return score_streams(gold, other_ids)


@pytest.mark.parametrize(
    "scored",
    [score_streams, score_by_id, pytest.param(score_other_ids, marks=pytest.mark.torture)],
    ids=["in step", "by id", "other ids"],
)
def test_memory_does_not_grow_with_the_sentences(scored: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SeenIds.__init__, "__defaults__", (100,))

    def peak(count: int) -> int:
        tracemalloc.start()
        try:
            assert scored(Many(count, 0), [Many(count, 1)]) is not None
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = peak(200), peak(2_000)
    assert many - few < 2_000 * 200, "an id and three counts for each; a sentence takes 2,000 bytes"
