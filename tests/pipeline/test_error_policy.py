"""Items that cannot be processed are rejected and named, one by one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import pytest

from nersery import Entity, Sentence
from nersery.core.errors import (
    ContractError,
    DataError,
    DiskError,
    FormatError,
    Issue,
    JobFailedError,
    MethodError,
    SettingsError,
)
from nersery.core.outcome import Outcome, Reject
from nersery.pipeline import error_policy
from nersery.pipeline.error_policy import ErrorPolicy, failure, one_for_each, outcome_of, reason_of, sentence_in

ADA = Sentence(("Ada",), (Entity(0, 1, "PER", 0.5),), id="a", scores={"s": 0.5})


def fails(*bad: Any, error: type[Exception] = ValueError) -> Any:
    """A step that fails for batches with these items."""

    def to_step(batch: Sequence[Any]) -> list[Outcome]:
        for item in batch:
            if item in bad:
                raise error(f"odd {item}")
        return [ADA for _ in batch]

    return to_step


def test_finds_the_sentence_of_a_task() -> None:
    assert sentence_in(ADA) is ADA
    assert sentence_in((ADA, 1)) is ADA
    assert [sentence_in(item) for item in ((1, ADA), (), "Ada", None, [ADA])] == [None] * 5


def test_a_reason_is_one_line_and_not_too_long() -> None:
    assert reason_of(ValueError("one\ntwo\x1b[2J")) == "failed: ValueError: one\\ntwo\\x1b[2J"
    of_one = DataError([Issue("no word", "a.conll", 3, "s7"), Issue("odd")], fix="write another")
    assert reason_of(of_one) == "failed: DataError: no word; odd", "equal for all sentences of the kind"
    fits = "x" * (200 - len("ValueError: "))
    assert reason_of(ValueError(fits)) == f"failed: ValueError: {fits}"
    assert reason_of(ValueError(fits + "yz")) == f"failed: ValueError: {fits}…"


@pytest.mark.parametrize("error", [SettingsError, FormatError, ContractError, JobFailedError, DiskError])
def test_raises_errors_that_every_item_would_raise(error: type[Exception]) -> None:
    with pytest.raises(error, match="odd 1"):
        ErrorPolicy(fails(1, error=error))([0, 1])
    with pytest.raises(error, match="x"):
        failure(error("x"))


def test_a_failure_is_a_reject_with_its_sentence_and_error() -> None:
    error = ValueError("x")
    reject = failure(error, ADA)
    assert (reject.reason, reject.sentence, reject.error) == ("failed: ValueError: x", ADA, error)


def test_a_failed_item_is_shown_by_its_sentence() -> None:
    outcomes = ErrorPolicy(fails((ADA, 1)))([(ADA, 0), (ADA, 1), 2])
    assert [isinstance(outcome, Reject) for outcome in outcomes] == [False, True, False]
    assert isinstance(outcomes[1], Reject)
    assert outcomes[1].sentence is ADA
    assert isinstance(outcomes[1].error, ValueError)
    (shown,) = ErrorPolicy(fails(1), lambda item: Sentence((f"item {item}",)))([1])
    assert isinstance(shown, Reject)
    assert shown.sentence == Sentence(("item 1",))


def test_retries_each_half_of_a_failed_batch_without_repeating_success() -> None:
    batches: list[list[int]] = []

    def to_step(batch: Sequence[int]) -> list[Outcome]:
        batches.append([*batch])
        return fails(2)(batch)

    ErrorPolicy(to_step)(range(5))
    assert batches == [[0, 1, 2, 3, 4], [0, 1], [2, 3, 4], [2], [3, 4]]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_wrong_number_of_outcomes_is_a_contract_error(count: int) -> None:
    with pytest.raises(ContractError, match=f"was given 2 items and answered with {count} outcomes"):
        ErrorPolicy(lambda batch: [ADA] * count)([1, 2])


def test_an_answer_that_is_not_a_list_is_a_contract_error() -> None:
    with pytest.raises(ContractError, match=r"m answered with None, expected a list of outcomes, one for each item"):
        one_for_each("m", [1], None)  # type: ignore[arg-type]


@pytest.mark.parametrize("code", [0, None, "bye"])
def test_sys_exit_in_a_method_rejects_only_its_item(code: object) -> None:
    def step(batch: Sequence[int]) -> list[Outcome]:
        if 2 in batch:
            sys.exit(code)  # type: ignore[arg-type]
        return [ADA for _ in batch]

    policy = ErrorPolicy(step)
    ada, reject, other = policy([1, 2, 3])
    assert ada == other == ADA
    assert isinstance(reject, Reject)
    assert reject.reason.endswith(f"called sys.exit({code!r}) instead of raising an error")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "m answered with None, expected a Sentence or Reject"),
        ((ADA,), r"m answered with \(Sentence"),
        (Reject(""), "m answered with a Reject whose reason is '', expected a short text"),
        (Reject(5), "m answered with a Reject whose reason is 5, expected"),  # type: ignore[arg-type]
    ],
)
def test_error_about_a_wrong_outcome_names_method_and_sentence(answer: object, expected: str) -> None:
    with pytest.raises(MethodError, match=f"^sentence a: {expected}") as caught:
        outcome_of("m", ADA, answer)
    assert caught.value.exit_code == 1


def test_reasons_of_methods_are_escaped() -> None:
    assert outcome_of("m", ADA, Reject("odd\n\ud800")) == Reject("odd\\n\\ud800")
    assert outcome_of("m", ADA, ADA) is ADA


def test_the_first_error_is_raised_if_nothing_succeeded() -> None:
    policy = ErrorPolicy(fails(1, 2, 3))
    policy.check()
    policy([2, 1])
    with pytest.raises(ValueError, match="odd 2"):
        policy.check()
    policy([0])
    policy.check()


def test_rejects_of_a_method_count_as_failures_only_with_their_error() -> None:
    answers = ErrorPolicy[int](lambda batch: [Reject("not well"), failure(ValueError("x"))])
    answers([1, 2])
    answers.check()
    failed = ErrorPolicy[int](lambda batch: [failure(ValueError("x"))])
    failed([1])
    with pytest.raises(ValueError, match="x"):
        failed.check()


def test_too_many_failures_end_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_policy, "MAX_FAILED", 2)
    policy = ErrorPolicy(fails(1, 2, 3))
    policy([1, 2])
    with pytest.raises(
        JobFailedError, match=r"more than 2 items failed, the last for this reason: failed: ValueError: odd 3"
    ):
        policy([3])


def test_rejects_sentences_that_the_format_cannot_hold() -> None:
    def encode(sentence: Sentence) -> str:
        if sentence is ADA:
            raise DataError("no")
        return "written"

    def encode_reject(reject: Reject) -> str:
        if reject.sentence is not None and reject.sentence.scores:
            raise DataError("no numbers")
        return f"{reject.reason} {reject.sentence and (reject.sentence.labels, reject.sentence.entities[0].score)}"

    policy = ErrorPolicy(fails())
    (made,) = policy([0])
    line, outcome = policy.encoded(made, encode, encode_reject)
    assert line == "failed: DataError: no (((0, 1, 'PER'),), None)"
    assert isinstance(outcome, Reject)
    with pytest.raises(DataError, match="no"):  # nothing was written at all
        policy.check()
    other = Sentence(("b",))
    assert policy.encoded(other, encode, encode_reject) == ("written", other)
    line, outcome = policy.encoded(Reject("dull", ADA), encode, encode_reject)
    assert line == "failed: DataError: no numbers (((0, 1, 'PER'),), None)"
    (made,) = policy([0])
    policy.check()


def test_each_item_that_the_format_cannot_hold_takes_one_success_back() -> None:
    def encode(sentence: Sentence) -> str:
        raise DataError("no")

    policy = ErrorPolicy(fails())
    first, second = policy([0, 1])
    policy.encoded(first, encode, str)
    policy.check()
    policy.encoded(second, encode, str)
    with pytest.raises(DataError, match="no"):
        policy.check()


def test_an_item_that_fails_and_cannot_be_written_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def encode_reject(reject: Reject) -> str:
        if reject.sentence is not None and reject.sentence.scores:
            raise DataError("no numbers")
        return reject.reason

    monkeypatch.setattr(error_policy, "MAX_FAILED", 1)
    policy = ErrorPolicy[Sentence](fails(ADA))
    (failed,) = policy([ADA])
    assert policy.encoded(failed, str, encode_reject)[0] == "failed: DataError: no numbers"


def test_a_reject_that_cannot_be_written_needs_no_sentence() -> None:
    def encode_reject(reject: Reject) -> str:
        if reject.reason == "dull":
            raise DataError("no")
        return reject.reason

    line, outcome = ErrorPolicy(fails()).encoded(Reject("dull"), str, encode_reject)
    assert line == "failed: DataError: no"
    assert isinstance(outcome, Reject)
    assert outcome.sentence is None


def test_a_format_error_that_every_item_would_raise_ends_the_job() -> None:
    def encode(sentence: Sentence) -> str:
        raise FormatError("no such column")

    with pytest.raises(FormatError, match="no such column"):
        ErrorPolicy(fails()).encoded(ADA, encode, str)
