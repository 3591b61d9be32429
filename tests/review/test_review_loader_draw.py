"""The sample that a goal draws, and the progress that the page shows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from nersery import Entity, Sentence, io
from nersery.core.sentence import Origin
from nersery.io.temporary_tables.sentence_table import SentenceTable
from nersery.review.decisions import Decisions
from nersery.review.review_loader import ReviewLoader, StratifiedDraw
from nersery.review.server import Review


def made(number: int) -> Sentence:
    """Every tenth sentence has a rare type, every third comes from another method, every seventh has no entity."""
    type_ = "RARE" if number % 10 == 0 else "LOC"
    entities = () if number % 7 == 0 else (Entity(0, 1, type_),)
    return Sentence(("Oslo", str(number)), entities, id=f"s{number}", origin=Origin("b" if number % 3 == 0 else "a"))


def group(sentence: Sentence) -> tuple[str, str]:
    return sentence.entities[0].type if sentence.entities else "", sentence.origin.method if sentence.origin else ""


def test_every_type_and_method_gets_an_equal_share() -> None:
    draw = StratifiedDraw(60)
    for number in range(1000):
        draw.add(number, made(number))
    drawn = draw.drawn()
    assert len(set(drawn)) == len(drawn) == 60
    counts = Counter(group(made(number)) for number in drawn)
    assert len(counts) == 6
    assert set(counts.values()) == {10}
    assert len({group(made(number)) for number in drawn[:6]}) == 6, "one that stops early is even too"


def test_a_goal_above_the_total_draws_all_and_order_does_not_matter() -> None:
    forward, backward = StratifiedDraw(30), StratifiedDraw(30)
    for number in range(100):
        forward.add(number, made(number))
        backward.add(99 - number, made(99 - number))
    assert list(forward.drawn()) == list(backward.drawn())
    few = StratifiedDraw(500)
    for number in range(100):
        few.add(number, made(number))
    assert sorted(few.drawn()) == list(range(100))


@pytest.mark.parametrize("by", ["", "sure"])
def test_the_page_shows_the_sample_and_its_progress(tmp_path: Path, by: str) -> None:
    io.write([made(n).with_scores(sure=n / 100) for n in range(100)], tmp_path / "in.jsonl")
    with Decisions.opened(SentenceTable(searchable=True), tmp_path / "r") as decisions:
        loader = ReviewLoader(io.open_corpus(tmp_path / "in.jsonl"), decisions, by=by, goal=12)
        loader.start()
        review = Review(decisions, loader)
        assert len(review.overview()["verdicts"]) == 12
        shown = [review.shown(number) for number in range(12)]
        assert len({one["method"] for one in shown}) == 2
        if by:
            assert [one["scores"]["sure"] for one in shown] == sorted(one["scores"]["sure"] for one in shown)
        review.decide(3, {"verdict": "accept", "labels": shown[3]["labels"], "version": 0})
        assert review.overview()["verdicts"].count("accept") == 1
