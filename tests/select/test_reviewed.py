"""The selector that waits for a reviewer, by itself and in a run."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

import nersery
from nersery import Corpus, Entity, Sentence, io
from nersery.core.errors import DataError, Issue, MissingResourceError, SettingsError, WaitingError, first_failure
from nersery.core.outcome import REJECTED_BY_HAND, Reject
from nersery.core.sentence import Origin, SoftLabel
from nersery.core.system.files import review_folder
from nersery.io.jsonl import rejects_of
from nersery.pipeline.engines.worker import BatchRunner, WorkerTask
from nersery.select.base import SelectStage
from tests.cli.calls import call
from tests.standins import write_recipe

MADE = Corpus(
    Sentence(("Ada", "met", name), (Entity(0, 1, "LOC"),), id=name, origin=Origin("melm")) for name in ("a", "b", "c")
)


def decide(file: Path, **verdicts: Sentence | None) -> None:
    """Write the files of a review: the accepted sentences and the rejected ones."""
    io.write([s for s in verdicts.values() if s is not None], file)
    lines = [io.reject_line(Reject(REJECTED_BY_HAND, MADE.by_id[id])) for id, s in verdicts.items() if s is None]
    rejects_of(file).write_text("".join(lines), "utf-8")


def test_labels_of_the_reviewer_replace_the_old_ones(tmp_path: Path) -> None:
    file = tmp_path / "checked.jsonl"
    right = MADE.by_id["b"].with_entities([Entity(0, 1, "PER")])
    decide(file, a=MADE.by_id["a"], b=right, c=None)
    result = nersery.select(MADE, "reviewed", Corpus(), file=str(file))
    assert [(s.id, s.labels) for s in result.corpus] == [("a", ((0, 1, "LOC"),)), ("b", ((0, 1, "PER"),))]
    assert result.tally.reasons == {"rejected by hand": 1}
    assert all(s.origin == Origin("melm") for s in result.corpus)


def test_accepted_sentences_lose_their_soft_labels(tmp_path: Path) -> None:
    """This holds for unchanged labels, too. The note of the reviewer is kept."""
    doubtful = replace(MADE.by_id["a"], soft_labels=(SoftLabel(0, "LOC", 0.6, 0.0), SoftLabel(0, "PER", 0.4, 0.0)))
    file = tmp_path / "checked.jsonl"
    decide(file, a=replace(MADE.by_id["a"], comments=("# review: sure",)))
    (accepted,) = nersery.select([doubtful], "reviewed", Corpus(), file=str(file)).corpus
    assert (accepted.labels, accepted.soft_labels) == (doubtful.labels, ())
    assert accepted.comments == ("# review: sure",)


def test_stops_until_every_sentence_has_a_decision(tmp_path: Path) -> None:
    output, checked = tmp_path / "out.jsonl", tmp_path / "out.checked.jsonl"
    with pytest.raises(DataError, match="3 of 3 sentences have no decision") as waiting:
        nersery.select(MADE, "reviewed", Corpus(), output=output, quiet=True)
    assert f"nersery label review {tmp_path}/out.to-review.jsonl {checked}" in str(waiting.value)
    assert [s.id for s in io.read(tmp_path / "out.to-review.jsonl")] == ["a", "b", "c"]
    assert not output.exists()
    assert "still open" not in str(waiting.value)
    review_folder(checked).mkdir()
    with pytest.raises(WaitingError, match="decisions of a review that is still open count when it ends"):
        nersery.select(MADE, "reviewed", Corpus(), output=output, quiet=True)
    decide(checked, a=MADE.by_id["a"], b=None)
    with pytest.raises(DataError, match="1 of 3"):
        nersery.select(MADE, "reviewed", Corpus(), output=output, quiet=True)
    decide(checked, a=MADE.by_id["a"], b=None, c=None)
    assert nersery.select(MADE, "reviewed", Corpus(), output=output, quiet=True).written == 1


@pytest.mark.parametrize("is_first", [True, False])
def test_each_worker_finds_the_decisions(is_first: bool, tmp_path: Path) -> None:
    decide(tmp_path / "out.checked.jsonl", a=MADE.by_id["a"], b=None, c=MADE.by_id["c"])
    stage = SelectStage("reviewed", candidates=MADE)
    runner = BatchRunner(WorkerTask(stage, folder=tmp_path / "out.training", is_first=is_first, quiet=True))
    assert runner.answer(MADE).tally.reasons == {"rejected by hand": 1}


def test_ignores_a_decision_about_other_words(tmp_path: Path) -> None:
    file = tmp_path / "checked.jsonl"
    decide(file, a=Sentence(("other", "words"), id="a"), b=None, c=None)
    result = nersery.select(MADE, "reviewed", Corpus(), file=str(file), wait=False)
    assert result.tally.reasons == {"not reviewed yet": 1, "rejected by hand": 2}


def test_refuses_invalid_settings(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="threshold is 2"):
        nersery.select(MADE, "reviewed", Corpus(), threshold=2.0)
    with pytest.raises(SettingsError, match="does not know where to write"):
        nersery.select(MADE, "reviewed", Corpus())
    with pytest.raises(MissingResourceError, match="does not exist"):
        nersery.select(MADE, "reviewed", Corpus(), file=str(tmp_path / "none.jsonl"))


def test_run_waits_for_the_review_and_reports_the_acceptance(
    tmp_path: Path, memory: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = write_recipe(tmp_path)
    recipe.write_text(recipe.read_text("utf-8").replace('["duplicates"]', '["duplicates", "reviewed"]'), "utf-8")
    first = call("run", str(recipe), "--out", "run")
    assert first.code == 3
    assert "note: one, seed 0 waits\n" in first.err
    assert "failed" not in first.err
    assert "waiting: run/seed-0/one/2-reviewed.to-review.jsonl: " in first.err
    assert "Fix: before you repeat this command, run nersery label review run/" in first.err
    folder = Path("run/seed-0/one")
    waiting = io.read(folder / "2-reviewed.to-review.jsonl")
    io.write(waiting[:1], folder / "2-reviewed.checked.jsonl")
    rejects = [io.reject_line(Reject(REJECTED_BY_HAND, sentence)) for sentence in waiting[1:]]
    rejects_of(folder / "2-reviewed.checked.jsonl").write_text("".join(rejects), "utf-8")
    again = call("run", str(recipe), "--out", "run")
    assert again.code == 0, again.err
    report = Path("run/report.md").read_text("utf-8")
    assert "Reviewed by people" in report
    assert f"| one | mention_replacement | 0 | {100 / len(waiting):.1f} | {len(waiting)} | 0 | 1.00 |" in report
    assert "Reviewed by people" in Path("run/report.html").read_text("utf-8")


def test_run_that_waits_names_the_commands_of_all_seeds(
    tmp_path: Path, memory: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = write_recipe(tmp_path)
    recipe.write_text(recipe.read_text("utf-8").replace('["duplicates"]', '["duplicates", "reviewed"]'), "utf-8")
    waiting = call("run", str(recipe), "--set", "seeds=[0, 1]", "--out", "run")
    assert "waiting: 2 issues:\n" in waiting.err
    for seed in (0, 1):
        assert f"nersery label review run/seed-{seed}/one/2-reviewed.to-review.jsonl" in waiting.err


def test_sweep_that_waits_names_the_commands_of_all_runs(
    tmp_path: Path, memory: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = write_recipe(tmp_path)
    recipe.write_text(recipe.read_text("utf-8").replace('["duplicates"]', '["duplicates", "reviewed"]'), "utf-8")
    waiting = call("run", str(recipe), "--set", "sweep.sizes=[8, 16]", "--out", "sweep")
    assert (waiting.code, "failed" in waiting.err) == (3, False)
    for size in (8, 16):
        assert f"note: {size}, one, seed 0 waits, the others continue" in waiting.err
        assert f"nersery label review sweep/{size}/seed-0/one/2-reviewed" in waiting.err.partition("waiting: ")[2]


def test_error_of_another_system_comes_before_those_that_wait() -> None:
    waiting, failed = WaitingError(Issue("undecided"), commands=["a"]), ValueError("no luck")
    assert first_failure([waiting, failed]) is failed
    both = pickle.loads(pickle.dumps(first_failure([waiting, WaitingError(Issue("open"), commands=["b"]), waiting])))
    assert str(both) == "2 issues:\nundecided\nopen\nFix: before you repeat this command, run a; b"


def test_another_file_of_that_name_is_kept(tmp_path: Path) -> None:
    mine = tmp_path / "out.to-review.jsonl"
    mine.write_text("mine", "utf-8")
    with pytest.raises(SettingsError, match="exists and has other sentences"):
        nersery.select(MADE, "reviewed", Corpus(), output=tmp_path / "out.jsonl", quiet=True)
    assert mine.read_text("utf-8") == "mine"


def test_names_in_the_command_are_quoted(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"label review '.*/my out\.to-review\.jsonl' '.*/my out\.checked\.jsonl'"):
        nersery.select(MADE, "reviewed", Corpus(), output=tmp_path / "my out.jsonl", quiet=True)


def test_a_file_without_ids_is_refused(tmp_path: Path) -> None:
    """Decisions are matched by id, so all sentences would wait forever."""
    io.write(MADE, tmp_path / "checked.conll")
    with pytest.raises(SettingsError, match=r"expected \.jsonl: other formats lose the ids"):
        nersery.select(MADE, "reviewed", Corpus(), file=str(tmp_path / "checked.conll"))
