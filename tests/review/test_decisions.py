from __future__ import annotations

import errno
import json
import resource
import shutil
from pathlib import Path

import pytest

from nersery import Entity, Sentence
from nersery.core.errors import DataError, NerseryError, SettingsError
from nersery.core.outcome import NOT_REVIEWED, REJECTED_BY_HAND, Reject
from nersery.io.temporary_tables.sentence_table import SentenceTable
from nersery.review.decisions import FILE, Decision, Decisions

ADA = Sentence(("Ada", "Lovelace", "lives"), (Entity(0, 1, "PER", score=0.7),), id="a", comments=("old",))
OSLO = Sentence(("Oslo\u2028", "is", "cold"), (Entity(0, 1, "LOC"),), id="o")
CORPUS = SentenceTable([ADA, OSLO])
WHOLE = Decision("accept", ((0, 2, "PER"),))


def outcomes(folder: Path, corpus: SentenceTable = CORPUS) -> list[Sentence | Reject]:
    with Decisions.opened(corpus, folder) as decisions:
        for sentence in corpus:
            decisions.check(sentence)
        decisions.check_all()
        return [decisions.outcome(sentence) for sentence in corpus]


def test_nothing_is_decided_at_first(tmp_path: Path) -> None:
    assert outcomes(tmp_path) == [Reject(NOT_REVIEWED, ADA), Reject(NOT_REVIEWED, OSLO)]


def test_undecided_sentences_are_not_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100,000 sentences, this took half of the time to write the output."""
    corpus = SentenceTable([ADA])
    monkeypatch.delattr(SentenceTable, "find")
    assert outcomes(tmp_path, corpus) == [Reject(NOT_REVIEWED, ADA)]


def test_the_last_decision_counts_and_is_read_again(tmp_path: Path) -> None:
    with Decisions.opened(CORPUS, tmp_path) as decisions:
        decisions.decide("a", Decision("reject", ADA.labels, "no"))
        decisions.decide("a", WHOLE)
        decisions.decide("o", Decision("reject", (), "not a\ncity"))
        assert decisions.counts == {"accept": 1, "reject": 1, "corrected": 1}
    one, other = outcomes(tmp_path)
    assert one == ADA.with_entities([Entity(0, 2, "PER")])
    assert isinstance(other, Reject)
    assert (other.reason, other.sentence and other.sentence.comments) == (REJECTED_BY_HAND, ("# review: not a city",))
    assert other.sentence is not None
    assert other.sentence.labels == OSLO.labels, "what was rejected stays as it was"


def test_labels_that_stay_keep_their_scores(tmp_path: Path) -> None:
    with Decisions.opened(CORPUS, tmp_path) as decisions:
        decisions.decide("a", Decision("accept", ((2, 3, "MISC"), (0, 1, "PER")), "both"))
        found = decisions.outcome(ADA)
    assert isinstance(found, Sentence)
    assert [(entity.type, entity.score) for entity in found.entities] == [("PER", 0.7), ("MISC", None)]
    assert found.comments == ("old", "# review: both")


def test_a_withdrawn_decision_keeps_its_labels(tmp_path: Path) -> None:
    with Decisions.opened(CORPUS, tmp_path) as decisions:
        decisions.decide("a", WHOLE)
        decisions.decide("a", Decision("", WHOLE.labels))
        assert decisions["a"].labels == WHOLE.labels
        assert decisions.counts == {"accept": 0, "corrected": 0, "reject": 0}
        assert decisions.outcome(ADA) == Reject(NOT_REVIEWED, ADA)


@pytest.mark.parametrize("labels", [((0, 4, "PER"),), ((0, 2, "PER"), (1, 3, "LOC")), ((0, 1, " "),)])
def test_labels_that_do_not_fit_are_refused_and_not_written(labels, tmp_path: Path) -> None:
    with Decisions.opened(CORPUS, tmp_path) as decisions, pytest.raises(DataError):
        decisions.decide("a", Decision("accept", labels))
    assert (tmp_path / FILE).read_bytes() == b""


def test_half_a_line_is_cut_off(tmp_path: Path) -> None:
    with Decisions.opened(CORPUS, tmp_path) as decisions:
        decisions.decide("a", WHOLE)
        decisions.decide("o", Decision("accept", OSLO.labels))
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[:-20])
    assert outcomes(tmp_path)[1] == Reject(NOT_REVIEWED, OSLO)
    with Decisions.opened(CORPUS, tmp_path) as decisions:
        decisions.decide("o", Decision("accept", OSLO.labels))
    assert (tmp_path / FILE).read_bytes() == whole


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    with Decisions.opened(CORPUS, tmp_path) as decisions:
        decisions.decide("a", WHOLE)
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", full)
            with pytest.raises(OSError, match="full"):
                decisions.decide("o", Decision("accept", ()))
        assert decisions["o"].verdict == ""
        decisions.decide("o", Decision("reject", ()))
    assert (tmp_path / FILE).read_bytes().count(b"\n") == 2
    assert [type(outcome) for outcome in outcomes(tmp_path)] == [Sentence, Reject]


def test_a_write_that_stops_half_way_reports_the_cause(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Decisions.opened(CORPUS, tmp_path) as decisions:
        decisions.decide("a", WHOLE)
        before = (tmp_path / FILE).read_bytes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                decisions.decide("o", Decision("accept", ()))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / FILE).read_bytes() == before


@pytest.mark.parametrize("line", [b"{}", b"\xff", b"[]", b"3", pytest.param(b"[" * 50_000, id="deep")])
def test_a_damaged_line_is_named(line: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(line + b"\n")
    with pytest.raises(NerseryError, match=rf"{FILE}, line 1 is damaged"):
        outcomes(tmp_path)


@pytest.mark.parametrize(
    "other",
    [
        {"id": ["a"]}, {"id": 3}, {"verdict": "maybe"}, {"verdict": ["accept"]}, {"note": 3}, {"note": None},
        {"shown": None}, {"labels": 3}, {"labels": [[0, 1]]}, {"labels": [[0, 1, []]]}, {"labels": [[0.0, 1, "PER"]]},
        {"labels": [[False, True, "PER"]]}, {"labels": [[0, 9, "PER"]]}, {"labels": [[0, 1, ""]]},
        {"labels": [[0, 2, "PER"], [1, 3, "PER"]]},
    ],
)  # fmt: skip
def test_a_line_with_invalid_values_is_named(other: dict[str, object], tmp_path: Path) -> None:
    with Decisions.opened(CORPUS, tmp_path) as decisions:
        decisions.decide("a", WHOLE)
    line = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps(line | other) + "\n")
    with pytest.raises(NerseryError, match=rf"{FILE}, line 1 is damaged"):
        outcomes(tmp_path)


def test_decisions_on_other_sentences_are_refused(tmp_path: Path) -> None:
    with Decisions.opened(CORPUS, tmp_path) as decisions:
        decisions.decide("a", WHOLE)
    more = SentenceTable([ADA, OSLO, Sentence(("new",), id="n")])
    assert len(outcomes(tmp_path, more)) == 3, "a corpus that has grown is the same to them"
    for other in (SentenceTable([OSLO]), SentenceTable([ADA.with_entities(()), OSLO])):
        with pytest.raises(DataError, match="about a sentence that the input does not have"):
            outcomes(tmp_path, other)


def test_a_second_review_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with (
        Decisions.opened(CORPUS, tmp_path),
        pytest.raises(SettingsError, match="another process"),
        Decisions.opened(CORPUS, tmp_path),
    ):
        raise AssertionError


def test_a_removed_folder_is_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out.review"
    with Decisions.opened(CORPUS, folder) as decisions:
        decisions.decide("a", WHOLE)
        written = (folder / FILE).read_bytes()
        shutil.rmtree(folder)
        decisions.decide("o", Decision("reject", ()))
        assert (folder / FILE).read_bytes().startswith(written)
        assert "was removed during the review" in capsys.readouterr().err
        shutil.rmtree(folder)
        decisions.write_again_if_changed()
    assert [type(outcome) for outcome in outcomes(folder)] == [Sentence, Reject]


def test_a_file_that_is_replaced_during_the_review_loses_no_decision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Decisions.opened(CORPUS, tmp_path) as decisions:
        decisions.decide("a", WHOLE)
        (tmp_path / FILE).write_text("an older copy\n")
        decisions.decide("o", Decision("reject", ()))
        assert "decisions.jsonl.1.old); its 1 decision" in capsys.readouterr().err
    assert (tmp_path / f"{FILE}.1.old").read_text() == "an older copy\n"
    assert [type(outcome) for outcome in outcomes(tmp_path)] == [Sentence, Reject]
