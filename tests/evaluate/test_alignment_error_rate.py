"""Precision, recall and error rate of links: calculated by hand, and within their bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery.core.alignments import Link
from nersery.evaluate.alignment_error_rate import AlignmentScores, count_alignment, parse_gold

PLACES = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)))


def test_matches_a_calculation_by_hand():
    """Four links, three possible and two of them sure, of three sure ones."""
    links = [Link(0, 0, 0.5), Link(1, 1), Link(2, 3), Link(3, 3)]
    scores = count_alignment(links, sure={(0, 0), (1, 1), (4, 4)}, possible={(2, 3), (5, 5)})
    assert scores == AlignmentScores(links=4, possible=3, sure=2, gold=3)
    assert (scores.precision, scores.recall) == (3 / 4, 2 / 3)
    assert scores.error_rate == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert scores.as_dict() == {
        "precision": 3 / 4, "recall": 2 / 3, "alignment_error_rate": scores.error_rate, "links": 4, "gold": 3,
    }  # fmt: skip


@given(PLACES, PLACES, PLACES)
def test_scores_stay_within_their_bounds(
    links: frozenset[tuple[int, int]], sure: frozenset[tuple[int, int]], more: frozenset[tuple[int, int]]
):
    scores = count_alignment(links, sure, more)
    assert 0 <= scores.error_rate <= 1
    assert 0 <= min(scores.precision, scores.recall) <= max(scores.precision, scores.recall) <= 1
    assert count_alignment(sure, sure, more).error_rate == 0
    if not more - sure:
        f1 = 2 * len(links & sure) / (len(links) + len(sure)) if links or sure else 1.0
        assert scores.error_rate == pytest.approx(1 - f1)


def test_pairs_add_up():
    one, two = count_alignment([(0, 0)], {(0, 0)}), count_alignment([(1, 1), (2, 2)], {(1, 1), (3, 3)}, {(2, 2)})
    both = one + two
    assert both == AlignmentScores(3, 3, 2, 3)
    assert both.recall == 2 / 3


def test_empty_input():
    assert AlignmentScores().as_dict()["alignment_error_rate"] == 0
    assert count_alignment([], {(0, 0)}).error_rate == 1


def test_parses_lines_of_gold_links():
    assert parse_gold("1-1 2p3 4-1\n", first=1) == ({(0, 0), (3, 0)}, {(0, 0), (3, 0), (1, 2)})
    assert parse_gold("0-0 1?2") == parse_gold("0-0 1p2")
    assert parse_gold("") == (frozenset(), frozenset())
    with pytest.raises(ValueError, match=r"'0-1' is not a link, expected e\.g\. 1-1, or 1p1"):
        parse_gold("0-1", first=1)
    with pytest.raises(ValueError, match="'1x2' is not a link"):
        parse_gold("1x2")
