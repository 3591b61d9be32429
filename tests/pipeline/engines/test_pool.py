from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nersery import Sentence
from nersery.core.errors import JobFailedError, MissingResourceError
from nersery.core.outcome import Reject, Tally
from nersery.pipeline.engines import pool as pools
from nersery.pipeline.engines.base import Answer, WorkerDiedError
from nersery.pipeline.engines.pool import Pool
from nersery.pipeline.engines.worker import BatchRunner, WorkerTask
from nersery.pipeline.shards import batches
from nersery.pipeline.stage import Stage
from tests.pipeline.fakes import Capitals, Inline, InlineWorker, expected, rows


def run(
    sentences: list[Any], *, workers: int = 2, batch_size: int = 4, seed: int = 0, stage: Stage[Any, Any] | None = None
) -> tuple[Answer, Inline, list[str]]:
    """Everything through a pool, as one answer; the engine; and the messages."""
    engine, messages, tally = Inline(seed), list[str](), Tally()
    with Pool(engine, WorkerTask(stage or Capitals()), workers, messages.append) as pool:
        answers = [*pool.answers(batches(sentences, 10**9, batch_size))]
    assert engine.closed
    assert all(worker.stopped for worker in engine.started)
    for answer in answers:
        tally.include(answer.tally)
    output, rejects = (b"".join(getattr(answer, part) for answer in answers) for part in ("output", "rejects"))
    return Answer(sum(answer.rows for answer in answers), output, rejects, tally), engine, messages


def throw(error: Exception) -> Any:
    raise error


def reasons(answer: Answer) -> dict[str, str]:
    lines = map(json.loads, answer.rejects.decode().splitlines())
    return {line.get("id", ""): line["reason"] for line in lines}


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(1, 5), st.integers(1, 7), st.integers(0, 999))
def test_answers_come_in_order_whoever_is_first(count: int, workers: int, batch_size: int, seed: int) -> None:
    answer, engine, messages = run(rows(count, at7="reject"), workers=workers, batch_size=batch_size, seed=seed)
    assert answer.output == expected(rows(count, at7="reject"))
    assert answer.rows == answer.tally.read == count
    assert len(engine.started) <= workers
    assert not messages


def test_starts_no_worker_without_work() -> None:
    assert not run([])[1].started


def test_reads_no_more_batches_ahead_than_workers_need() -> None:
    taken = 0

    def endless() -> Any:
        nonlocal taken
        while True:
            taken += 1
            yield rows(1)

    engine = Inline()
    with Pool(engine, WorkerTask(Capitals()), 3, print) as pool:
        answers = pool.answers(endless())
        for number in range(50):
            next(answers)
            assert taken - number <= 3 * pools.AHEAD + 2
    assert max(worker.most_waiting for worker in engine.started) == pools.AHEAD
    assert len(engine.started) == 3


def test_the_first_worker_is_ready_before_others_start(tmp_path: Path) -> None:
    """It trains, and the others start from its training."""
    engine = Inline()
    with Pool(engine, WorkerTask(Capitals()), 3, print) as pool:
        list(pool.answers([rows(1)] * 20))
    first, *others = [worker.task for worker in engine.started]
    assert first.is_first
    assert not any(task.is_first for task in others)


def test_starts_no_more_workers_than_waiting_batches() -> None:
    engine = Inline()
    with Pool(engine, replace(WorkerTask(Capitals()), is_first=False), 99, print) as pool:
        list(pool.answers([rows(1)] * 2))
    assert 1 <= len(engine.started) <= 2


class TestRowsThatFail:
    def test_rejects_only_the_failing_rows(self) -> None:
        sentences = rows(40, at3="fail", at4="fail", at30="nan")
        answer, engine, _ = run(sentences, batch_size=16)
        assert answer.output == expected(sentences)
        assert answer.tally.read == 40
        failed = reasons(answer)
        assert failed["s3"] == failed["s4"] == "failed: ValueError: a poisoned row"
        assert failed["s30"].startswith("failed: DataError: a score is NaN")
        assert len(failed) == 3
        assert len(engine.started) <= 2

    def test_a_reject_that_cannot_be_written_loses_its_scores(self) -> None:
        odd = Reject("odd", Sentence(("a",), id="s0", scores={"odd": float("nan")}))
        answer = BatchRunner(WorkerTask(Capitals())).answer([odd])
        assert json.loads(answer.rejects)["words"] == ["a"]
        assert answer.tally == Tally(1, 0, answer.tally.reasons)

    def test_too_many_stop_the_job(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pools, "MAX_FAILED", 3)
        assert run(rows(9, at1="fail", at2="fail", at8="fail"))[0].tally.rejected == 3
        with pytest.raises(JobFailedError, match=r"more than 3 rows failed.*a poisoned row"):
            run(rows(9, at1="fail", at2="fail", at3="fail", at8="fail"))

    def test_passes_on_the_rejects_of_the_reader(self) -> None:
        answer, _, _ = run([*rows(3), Reject("broken", Sentence(("x",), id="r"))])
        assert answer.tally.read == 4
        assert reasons(answer) == {"r": "broken"}

    def test_wrong_settings_and_missing_models_stop_the_job(self) -> None:
        with pytest.raises(MissingResourceError, match="there is no model"):
            run(rows(5), stage=Capitals(missing="model"))


class TestWorkersThatDie:
    def test_retries_the_rows_after_a_chance_death(self, tmp_path: Path) -> None:
        sentences = rows(40, at13="kill-once")
        answer, engine, messages = run(sentences, stage=Capitals(str(tmp_path)))
        assert answer.output == expected(sentences)
        assert answer.tally.rejected == 0
        assert len(engine.started) == 3
        assert messages == ["a worker died at 4 rows starting with s12: killed; they are retried"]

    @pytest.mark.parametrize("workers", [1, 3])
    @pytest.mark.parametrize("batch_size", [1, 5, 16, 100])
    def test_a_row_that_kills_is_found_and_rejected(self, workers: int, batch_size: int) -> None:
        sentences = rows(40, at0="kill", at17="kill", at18="kill", at39="reject")
        answer, _, messages = run(sentences, workers=workers, batch_size=batch_size)
        assert answer.output == expected(sentences)
        assert answer.rows == answer.tally.read == 40
        died = "failed: a worker died of it: killed"
        assert reasons(answer) == {"s0": died, "s17": died, "s18": died, "s39": "asked for"}
        assert sum(line.endswith("it is rejected") for line in messages) == 3

    def test_retries_each_row_separately_after_a_death(self, tmp_path: Path) -> None:
        """A worker that runs out of memory, at whichever row, costs no good row."""
        sentences = rows(16, **{f"at{number}": "kill-once" for number in range(16)})
        answer, _, _ = run(sentences, batch_size=16, stage=Capitals(str(tmp_path)))
        assert answer.output == expected(sentences)

    def test_batches_that_a_dead_worker_had_not_begun_are_not_suspect(self) -> None:
        sentences = rows(40, at0="kill")
        _, engine, messages = run(sentences, workers=1)
        deaths = [line.split(":")[0] for line in messages]
        assert deaths == [
            "a worker died at 4 rows starting with s0", "a worker died at 4 rows starting with s0",
            "a worker died at 2 rows starting with s0", "a worker died at s0",
            "2 workers died at s0",
        ]  # fmt: skip
        assert len(engine.started) == 6

    def test_too_many_stop_the_job(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pools, "MAX_DEATHS", 3)
        with pytest.raises(JobFailedError, match="3 workers died, the last one at 2 rows starting with s0: killed"):
            run(rows(9, at0="kill"))

    def test_workers_that_die_with_their_node_are_not_failed_starts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        left, receive = [WorkerDiedError("its node died", with_its_node=True)] * 5, InlineWorker.receive
        monkeypatch.setattr(InlineWorker, "receive", lambda worker: throw(left.pop()) if left else receive(worker))
        answer, engine, messages = run(rows(9))
        assert answer.output == expected(rows(9))
        assert len(engine.started) > 5
        assert messages == ["a worker died before it was ready: its node died; another one replaces it"] * 5

    def test_too_many_failed_starts_stop_the_job(self) -> None:
        with pytest.raises(
            JobFailedError, match="3 workers in a row died before they were ready, the last one: killed"
        ):
            run(rows(9), stage=Capitals(missing="life"))


class Lines(Capitals):
    """Writes text, a line for each row."""

    extension, blank = "txt", "\n"

    def encode(self, made: Any) -> str:
        return f"{made.text}\n"


def test_a_reject_leaves_a_blank_line_if_every_row_has_a_line() -> None:
    answer, _, _ = run(rows(6, at1="reject", at3="kill", at4="fail"), stage=Lines())
    assert answer.output.decode().split("\n") == ["WORD HERE", "", "WORD HERE", "", "", "WORD HERE", ""]
    assert answer.tally.written == 3


@settings(deadline=None)
@given(st.lists(st.sampled_from(["here", "fail", "kill", "reject", "nan"]), max_size=30), st.integers(0, 99))
def test_no_row_is_lost_or_duplicated(words: list[str], seed: int) -> None:
    sentences = [Sentence(("word", word), id=f"s{number}") for number, word in enumerate(words)]
    size = random.Random(seed).randint(1, 9)
    answer, _, _ = run(sentences, workers=3, batch_size=size, seed=seed)
    assert answer.output == expected(sentences)
    ids = [s.id for s in sentences if s.words[1] != "here"]
    assert [json.loads(line)["id"] for line in answer.rejects.splitlines()] == ids
    assert answer.tally.read == len(sentences) == answer.tally.written + answer.tally.rejected
