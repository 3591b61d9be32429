"""The best share of projected sentences, and a few without entities."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery import Corpus, Entity, Sentence
from nersery.core.errors import DataError, SettingsError, UnfittedError
from nersery.core.outcome import Result
from nersery.core.training_context import Training
from nersery.select.alignment_quality import AlignmentQuality
from nersery.select.base import select


def projected(id: str, quality: float, *, entities: bool = True) -> Sentence:
    found = (Entity(0, 1, "PER"),) if entities else ()
    return Sentence(("Ada", "wrote"), found, id=id, scores={"alignment_quality": quality, "projected": 1.0})


def chosen(sentences: list[Sentence], seed: int = 0, **settings: Any) -> Result:
    return select(Corpus(sentences), AlignmentQuality(**settings), [], training=Training(seed=seed))


def kept(sentences: list[Sentence], **settings: float) -> list[str]:
    return [sentence.id for sentence in chosen(sentences, **settings).corpus]


FIVE = [projected(str(number), quality) for number, quality in enumerate([0.2, 0.9, 0.5, 0.8, 0.1])]


@pytest.mark.parametrize(
    ("keep", "ids"),
    [(0.4, ["1", "3"]), (0.2, ["1"]), (0.3, ["1", "3"]), (1.0, ["0", "1", "2", "3", "4"]), (1e-10, ["1"])],
)
def test_the_best_share_is_kept_in_order(keep: float, ids: list[str]):
    assert kept(FIVE, keep=keep) == ids


def test_share_of_thirty_sentences_has_no_rounding_error():
    assert len(kept([projected(str(n), (n + 1) / 30) for n in range(30)], keep=0.1)) == 3


def test_keeps_ties_with_the_last_kept_sentence():
    assert kept([projected(str(n), 0.5) for n in range(5)], keep=0.2) == ["0", "1", "2", "3", "4"]


def test_rejects_have_reasons_and_kept_sentences_have_scores():
    result = chosen([*FIVE, projected("none", 0.95, entities=False)], keep=0.6, threshold=0.6, empty_rate=0)
    reasons = {reject.sentence.id: reject.reason for reject in result.rejects if reject.sentence}
    low = "alignment_quality < 0.6"
    assert reasons == {"0": low, "2": low, "4": low, "none": "no entities"}
    assert [s.scores["alignment_quality"] for s in result.corpus] == [0.9, 0.8]
    assert [s.scores["projected"] for s in result.corpus] == [1.0, 1.0]
    assert {reject.reason for reject in chosen(FIVE, keep=0.2).rejects} == {"not among the best 20%"}
    assert {reject.reason for reject in chosen(FIVE, keep=0.001).rejects} == {"not among the best 0.1%"}


@pytest.mark.parametrize(
    ("measure", "reason"), [("entities", "entity_quality < 0.5"), ("both", "alignment_quality * entity_quality < 0.5")]
)
def test_reject_reason_names_the_measure(measure: str, reason: str):
    sentence = projected("a", 0.9).with_scores(entity_quality=0.4)
    assert [reject.reason for reject in chosen([sentence], measure=measure, threshold=0.5).rejects] == [reason]


@pytest.mark.parametrize(("measure", "id"), [("words", "a"), ("entities", "b"), ("both", "c")])
def test_measure_chooses_which_quality_decides(measure: str, id: str):
    qualities = {"a": (0.9, 0.1), "b": (0.1, 0.9), "c": (0.7, 0.7)}
    sentences = [projected(id, words).with_scores(entity_quality=own) for id, (words, own) in qualities.items()]
    result = chosen(sentences, measure=measure, keep=0.3)
    assert [s.id for s in result.corpus] == [id]
    assert {s.id: s.scores["alignment_quality"] for s in result.corpus} == {id: qualities[id][0]}
    low = chosen(sentences, measure=measure, keep=1.0, threshold=0.2)
    assert {r.sentence.id for r in low.rejects if r.sentence} == {"words": {"b"}, "entities": {"a"}}.get(
        measure, {"a", "b"}
    )


def test_threshold_applies_without_a_share():
    assert kept(FIVE, keep=1.0, threshold=0.5) == ["1", "2", "3"]


def test_sentences_without_entities_do_not_count_towards_the_share():
    empty = [projected(f"e{n}", 1.0, entities=False) for n in range(50)]
    assert kept([*FIVE, *empty], keep=0.4, empty_rate=0) == ["1", "3"]


def test_draws_a_few_sentences_without_entities_at_any_quality():
    empty = [projected(f"e{n}", 0.01, entities=False) for n in range(2000)]
    few = kept(empty, empty_rate=0.05, threshold=0.5)
    assert 60 <= len(few) <= 140
    assert kept(empty[::-1], empty_rate=0.05) == few[::-1]
    assert set(kept(empty[:1000], empty_rate=0.05)) == {id for id in few if int(id[1:]) < 1000}
    assert set(kept(empty, empty_rate=0.02)) < set(few)
    assert [s.id for s in chosen(empty, seed=1, empty_rate=0.05).corpus] != few
    assert len(kept(empty, empty_rate=1.0)) == 2000
    assert kept(empty, empty_rate=0.0) == []


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=40), st.floats(0.01, 1))
def test_no_kept_sentence_is_worse_than_a_rejected_one(qualities: list[float], keep: float):
    result = chosen([projected(str(n), quality) for n, quality in enumerate(qualities)], keep=keep)
    best = [s.scores["alignment_quality"] for s in result.corpus]
    rest = [r.sentence.scores["alignment_quality"] for r in result.rejects if r.sentence]
    assert min(best) > max(rest, default=0)
    assert len(best) >= keep * len(qualities) - 1e-6


def test_a_sentence_that_was_not_projected_is_an_error():
    with pytest.raises(DataError, match=r"sentence x: it has no score alignment_quality\nFix: give sentences that"):
        chosen([Sentence(("Ada",), (Entity(0, 1, "PER"),), id="x")])


def test_accepts_before_fit_candidates_is_an_error():
    selector = AlignmentQuality()
    with pytest.raises(UnfittedError, match="call fit_candidates before accepts"):
        selector.accepts(FIVE[0], 0.2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep": 0}, "keep is 0, expected a number in"),
        ({"keep": 40}, "keep is 40, expected a number in"),
        ({"threshold": -1}, "threshold is -1"),
        ({"empty_rate": 1.5}, "empty_rate is 1.5"),
    ],
)
def test_refuses_invalid_settings(settings: dict[str, float], message: str):
    with pytest.raises(SettingsError, match=message):
        AlignmentQuality(**settings)
