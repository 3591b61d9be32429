"""The page shows the first sentences before all are read; a later error still ends the review."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from nersery import Entity, Sentence, io
from nersery.core.errors import DataError
from nersery.core.warnings import without_notes
from nersery.io.base import Findings, ReadOptions, Source
from nersery.io.input_files.text_file import TextFile
from nersery.io.temporary_tables.sentence_table import SentenceTable
from nersery.review import review_loader
from nersery.review.decisions import Decision, Decisions
from nersery.review.review_loader import ReviewLoader
from nersery.review.server import Review

FIRST, SECOND = (Sentence((word,), (Entity(0, 1, type_),), id=word) for word, type_ in (("Oslo", "LOC"), ("Ada", "A")))


class SlowSource(Source):
    """Two sentences; the second waits for an event, and may be broken."""

    def __init__(self, path: Path, *, breaks: bool = False) -> None:
        super().__init__(TextFile(path, "utf-8"), ReadOptions())
        self.let, self._breaks = threading.Event(), breaks

    @property
    def description(self) -> str:
        return "slow"

    def sentences(self, found: Findings) -> Iterator[Sentence]:
        yield FIRST
        assert self.let.wait(10)
        if self._breaks:
            raise DataError([])
        yield SECOND


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(review_loader, "MAX_START_SECONDS", 0.0)
    io.write([FIRST], tmp_path / "in.jsonl")
    return tmp_path / "in.jsonl"


@pytest.mark.parametrize("quiet", [False, True])
def test_reading_in_the_background_is_quiet_if_the_caller_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], quiet: bool
) -> None:
    (tmp_path / "raw.txt").write_text("Ada came .\n\nAda left .\n")
    with (
        without_notes() if quiet else nullcontext(),
        Decisions.opened(SentenceTable(searchable=True), tmp_path / "review") as decisions,
    ):
        loader = ReviewLoader(io.open_corpus(tmp_path / "raw.txt"), decisions)
        loader.start()
        loader.finish()
    assert ("blank line" in capsys.readouterr().err) is not quiet


def test_the_first_sentence_is_shown_while_others_are_read(path: Path) -> None:
    source = SlowSource(path)
    with Decisions.opened(SentenceTable(searchable=True), path.parent / "review") as decisions:
        loader = ReviewLoader(source, decisions, io.open_corpus(path))
        loader.start()
        review = Review(decisions, loader)
        assert (review.overview()["verdicts"], review.overview()["isWhole"]) == ([""], False)
        assert review.shown(0)["words"] == ("Oslo",)
        review.decide(0, {"verdict": "accept", "labels": [], "version": 0})
        source.let.set()
        loader.finish()
        assert review.overview() == {
            "name": "",
            "types": ["LOC", "A"],
            "methods": [],
            "verdicts": ["accept", ""],
            "isWhole": True,
        }
        assert [other["id"] for other in review.shown(0)["beside"]] == ["Oslo"]
        assert (review.search("ADA"), review.search("a o"), review.search("o")) == ([1], [], [0])


def test_an_error_in_a_later_sentence_ends_the_review(path: Path) -> None:
    source = SlowSource(path, breaks=True)
    with Decisions.opened(SentenceTable(), path.parent / "review") as decisions:
        loader = ReviewLoader(source, decisions)
        loader.start()
        review = Review(decisions, loader)
        assert not review.ended.is_set()
        source.let.set()
        assert review.ended.wait(10)
        with pytest.raises(DataError):
            loader.finish()


def test_a_decision_on_a_missing_sentence_is_reported_at_the_end(path: Path) -> None:
    with Decisions.opened(SentenceTable([FIRST, SECOND]), path.parent / "review") as decisions:
        decisions.decide("Ada", Decision("accept", ()))
    with Decisions.opened(SentenceTable(), path.parent / "review") as decisions:
        loader = ReviewLoader(io.open_corpus(path), decisions, by="sure")  # sorting waits until all sentences are read
        with pytest.raises(DataError, match="about a sentence that the input does not have"):
            loader.start()
