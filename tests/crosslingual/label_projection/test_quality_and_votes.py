"""Alignment quality of sentences, and votes of several sources."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery import Entity, Origin, Sentence
from nersery.core.alignments import Link
from nersery.core.outcome import Reject, collect
from nersery.crosslingual.label_projection.project_stage import ProjectStage
from nersery.crosslingual.label_projection.projection import (
    DISAGREE,
    ENTITY_QUALITY,
    NO_WORD,
    OVERLAP,
    QUALITY,
    Projection,
    Task,
    Translation,
    alignment_quality,
    best_probabilities,
    vote,
)
from nersery.pipeline.job import run
from tests.crosslingual.translations import ADA, alignment, labelled, plain, projected

# --- quality --------------------------------------------------------------------------------------------------------


def quality(aligned: str, source: int, target: int, unaligned: float = 0.1) -> float:
    return alignment_quality(best_probabilities(alignment(aligned)), range(source), range(target), unaligned)


def test_quality_is_the_geometric_mean_over_the_words_of_both_sides():
    assert quality("0-0:0.5 1-1:0.8", 2, 2) == pytest.approx((0.5 * 0.8) ** 0.5)
    assert quality("0-0:0.5", 1, 3) == pytest.approx((0.5 * 0.5 * 0.1 * 0.1) ** 0.25)
    assert quality("", 3, 4, unaligned=0.2) == pytest.approx(0.2)
    assert quality("0-0:0.5", 1, 3, unaligned=1) == pytest.approx(0.5 ** (2 / 4))


def test_quality_can_be_limited_to_some_words():
    found = alignment_quality(best_probabilities(alignment("0-0:0.1 1-1:0.5 2-1:0.25")), [1, 2], [1], 0.1)
    assert found == pytest.approx((0.5 * 0.25 * 0.5) ** (1 / 3))


def test_the_best_of_several_links_of_a_word_counts():
    assert quality("0-0:0.9 0-1:0.3", 1, 2) == pytest.approx((0.9 * 0.9 * 0.3) ** (1 / 3))


def test_quality_of_a_very_long_pair_does_not_underflow():
    aligned = tuple(Link(n, n, 1e-3) for n in range(3000))
    assert alignment_quality(best_probabilities(aligned), range(3000), range(3000), 0.1) == pytest.approx(1e-3)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.floats(1e-9, 1)), max_size=20))
def test_quality_is_a_number_from_0_to_1(found: list[tuple[int, int, float]]):
    aligned = tuple(sorted(Link(*link) for link in found))
    value = alignment_quality(best_probabilities(aligned), range(6), range(6), 0.1)
    assert math.isfinite(value)
    assert 0 < value <= 1


def test_a_projected_sentence_has_both_scores():
    source = labelled("Ada wrote it", (0, 1, "PER"))
    sentence = projected(source, "A schrieb es", "0-0:0.5 1-1:0.25 2-2:0.25")
    assert sentence.scores == {
        QUALITY: pytest.approx((0.5 * 0.25 * 0.25) ** (1 / 3)),
        ENTITY_QUALITY: pytest.approx(0.5),
    }
    assert ENTITY_QUALITY not in projected(plain("a"), "b", "0-0").scores


# --- votes ----------------------------------------------------------------------------------------------------------


def voter(*entities: tuple[int, int, str], quality: float = 0.5, parent: str = "x", comment: str = "") -> Sentence:
    return Sentence(
        ("a", "b", "c", "d"),
        tuple(Entity(*entity) for entity in entities),
        id="t",
        origin=Origin("project", (parent,)),
        scores={QUALITY: quality},
        comments=(comment,) if comment else (),
    )


A, B, WIDE = (0, 1, "PER"), (2, 3, "LOC"), (0, 2, "PER")


def test_the_majority_decides():
    outcome = vote([voter(A, B, parent="en"), voter(A, quality=0.8, parent="fr"), voter(A, parent="de")])
    assert isinstance(outcome, Sentence)
    assert outcome.labels == (A,)
    assert [entity.score for entity in outcome.entities] == [1.0]
    assert outcome.origin == Origin("project", ("en", "fr", "de"))
    assert outcome.scores == {QUALITY: pytest.approx(0.6)}
    assert outcome.id == "t"


def test_a_majority_settles_a_dispute_about_a_span():
    outcome = vote([voter(A), voter(WIDE), voter(A)])
    assert isinstance(outcome, Sentence)
    assert outcome.labels == (A,)
    assert outcome.entities[0].score == pytest.approx(2 / 3)


@pytest.mark.parametrize("voters", [[voter(A), voter(WIDE)], [voter(A), voter()], [voter(A), voter(WIDE), voter()]])
def test_rejects_a_sentence_if_sources_disagree(voters: list[Sentence]):
    outcome = vote(voters)
    assert isinstance(outcome, Reject)
    assert outcome.reason == DISAGREE
    assert outcome.sentence is not None
    assert "# disputed: PER a [0, 1)" in outcome.sentence.comments


def test_better_links_weigh_more():
    outcome = vote([voter(A, quality=0.9), voter(WIDE, quality=0.2), voter(WIDE, quality=0.3)], "weighted")
    assert isinstance(outcome, Sentence)
    assert outcome.labels == (A,)
    assert outcome.entities[0].score == pytest.approx(0.9 / 1.4)


def test_neither_of_two_halves_is_a_majority():
    first, second = 0.01, 0.23  # both sums of two are more than half of the sum of four, in floating point
    voters = [voter(labels, quality=quality) for labels in (A, WIDE) for quality in (first, second)]
    outcome = vote(voters, "weighted")
    assert isinstance(outcome, Reject)
    assert outcome.reason == DISAGREE


def test_each_source_has_one_vote_unless_they_are_weighted():
    voters = [voter(A, quality=0.9), voter(WIDE, quality=0.2), voter(WIDE, quality=0.3)]
    assert vote(voters) == vote(voters, "majority") != vote(voters, "weighted")
    assert isinstance(outcome := vote(voters), Sentence)
    assert outcome.labels == (WIDE,)


@pytest.mark.parametrize(
    ("majority_entities", "disputed"),
    [
        ((1, 2, "LOC"), (0, 1, "PER")),
        ((0, 1, "LOC"), (1, 2, "PER")),
        ((3, 4, "LOC"), (0, 1, "PER")),
        ((0, 1, "LOC"), (3, 4, "PER")),
    ],
)
def test_an_elected_entity_settles_only_its_own_words(
    majority_entities: tuple[int, int, str], disputed: tuple[int, int, str]
):
    outcome = vote([voter(*sorted([majority_entities, disputed])), voter(majority_entities)])
    assert isinstance(outcome, Reject)
    assert outcome.sentence is not None
    assert outcome.sentence.labels == (majority_entities,)
    (comment,) = outcome.sentence.comments
    assert comment.startswith("# disputed: PER ")


def test_a_reject_has_no_vote():
    no = Reject(NO_WORD, voter())
    assert vote([no, voter(A), no]) == voter(A)
    assert vote([no, Reject(OVERLAP)]) == no
    outcome = vote([voter(A, comment="# one"), no, voter(A, comment="# two")])
    assert isinstance(outcome, Sentence)
    assert outcome.labels == (A,)
    assert outcome.comments == ("# one", "# two")


def test_equal_comments_of_the_target_are_all_kept():
    twice = replace(voter(A), comments=("#", "# text", "#"))
    outcome = vote([twice, replace(twice, comments=(*twice.comments, "# lost"))])
    assert isinstance(outcome, Sentence)
    assert outcome.comments == ("#", "# text", "#", "# lost")


# --- the loop -------------------------------------------------------------------------------------------------------


def test_a_step_projects_votes_and_rejects():
    other = labelled("Ada", (0, 1, "PER"), id="fr")
    tasks = [
        Task(plain("A L traf B"), [Translation(ADA, alignment("0-0 1-1 3-3"))]),
        Task(plain("A x", "u"), [Translation(other, alignment("0-0")), Reject("empty line in the source")]),
        Reject("empty line in the target", ADA),
        Task(plain("x y", "v"), [Translation(other, ())]),
    ]
    result = collect(run(tasks, ProjectStage(Projection()).fit(Projection(), None, None), batch_size=2))
    assert [(s.id, s.labels) for s in result.corpus] == [("t", ((0, 2, "PER"), (3, 4, "PER"))), ("u", ((0, 1, "PER"),))]
    assert [reject.reason for reject in result.rejects] == ["empty line in the target", NO_WORD]
