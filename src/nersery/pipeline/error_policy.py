"""The error policy of every stage: an item that cannot be processed is rejected and named, and the others continue."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import replace
from typing import Any, Generic, TypeVar

from nersery.core.errors import (
    ContractError,
    DataError,
    DiskError,
    FormatError,
    Issue,
    JobFailedError,
    MethodError,
    MissingResourceError,
    NerseryError,
    SettingsError,
    UnfittedError,
    ended_by_exit,
    printable,
    shown,
)
from nersery.core.outcome import BatchFunction, Outcome, Reject
from nersery.core.sentence import Entity, Sentence

Item = TypeVar("Item")
Answered = TypeVar("Answered")

FAILED = "failed: "
"""The reason of an item that raised an exception starts with this."""
MAX_REASON_LENGTH = 200
MAX_FAILED = 1000
"""If more items fail, the method or the machine is probably broken; it is not just a few unusual items."""
STOPPING = (SettingsError, MissingResourceError, DiskError, FormatError, ContractError, UnfittedError, JobFailedError)
"""Errors that stop the job, because every other item would raise them too."""


def reason_of(error: Exception) -> str:
    """The reason for rejecting an item, on one line and without its location, so that equal reasons can be counted."""
    message: object = error.text if isinstance(error, NerseryError) else error
    if isinstance(error, DataError):
        message = "; ".join(issue.message for issue in error.issues)
    text = printable(f"{type(error).__name__}: {message}")
    return FAILED + (text if len(text) <= MAX_REASON_LENGTH else f"{text[:MAX_REASON_LENGTH]}…")


def failure(error: Exception, sentence: Sentence | None = None) -> Reject:
    """The reject for an item that raised an exception, for methods that process items one by one.

    Raises:
        NerseryError: The error itself, if every other item would raise it too.
    """
    if isinstance(error, STOPPING):
        raise error
    return Reject(reason_of(error), sentence, error)


def one_for_each(
    name: str, items: Sequence[Any], answers: Sequence[Answered], what: str = "outcomes"
) -> Sequence[Answered]:
    """Return the answers of a method. Raises `ContractError` unless there is one for each item."""
    if not isinstance(answers, Sized):
        raise ContractError(f"{name} answered with {shown(answers)}, expected a list of {what}, one for each item")
    if len(answers) != len(items):
        raise ContractError(f"{name} was given {len(items)} items and answered with {len(answers)} {what}")
    return answers


def outcome_of(name: str, sentence: Sentence, answer: Any) -> Outcome:
    """A method's checked answer. Raises `MethodError` if it is neither a sentence nor a reject with a reason."""
    if isinstance(answer, Sentence):
        return answer
    if not isinstance(answer, Reject):
        raise MethodError(
            Issue(f"{name} answered with {shown(answer)}, expected a Sentence or Reject", sentence=sentence.id)
        )
    if not isinstance(answer.reason, str) or not answer.reason:
        message = f"{name} answered with a Reject whose reason is {shown(answer.reason)}, expected a short text"
        raise MethodError(Issue(message, sentence=sentence.id))
    reason = printable(answer.reason)
    return answer if reason == answer.reason else replace(answer, reason=reason)


def sentence_in(item: Any) -> Sentence | None:
    """The sentence to show in a reject: the item itself, or the first element of a tuple."""
    first = item[0] if isinstance(item, tuple) and item else item
    return first if isinstance(first, Sentence) else None


class ErrorPolicy(Generic[Item]):
    """Wraps a function over batches so that it continues after items that it cannot process.

    If it fails for a batch, each half is tried alone, down to single items. Halves that succeed are not repeated.

    Args:
        function: Turns a batch of items into one outcome each.
        sentence_of: Returns the sentence to show in the reject of an item.
    """

    def __init__(
        self, function: BatchFunction[Item], sentence_of: Callable[[Any], Sentence | None] = sentence_in
    ) -> None:
        self._function, self._sentence_of = function, sentence_of
        self._succeeded = self._failed = 0
        self._first: Exception | None = None

    def __call__(self, batch: Sequence[Item]) -> Sequence[Outcome]:
        """Return one outcome for each item, in order.

        Raises:
            JobFailedError: If more than `MAX_FAILED` items have failed.
            NerseryError: If every other item would raise the error too, see `STOPPING`.
        """
        try:
            outcomes = one_for_each("a method", batch, self._function(batch))
        except STOPPING:
            raise
        except (Exception, SystemExit) as raised:
            error = NerseryError(ended_by_exit(raised)) if isinstance(raised, SystemExit) else raised
            self._first = self._first or error
            if len(batch) == 1:
                return [self._count(Reject(reason_of(error), self._sentence_of(batch[0]), error))]
        else:
            return [self._count(outcome) for outcome in outcomes]
        half = len(batch) // 2  # bisection: a failing item costs about log2(batch) more calls, not one call per item
        return [*self(batch[:half]), *self(batch[half:])]

    def _count(self, outcome: Outcome) -> Outcome:
        error = outcome.error if isinstance(outcome, Reject) else None
        if error is None:
            self._succeeded += 1
            return outcome
        self._first = self._first or error
        self._failed += 1
        if self._failed > MAX_FAILED:
            raise JobFailedError(
                f"more than {MAX_FAILED:,} items failed, the last for this reason: {reason_of(error)}. Fix the method "
                "or its input, then repeat the command"
            )
        return outcome

    def encoded(
        self, outcome: Outcome, encode: Callable[[Any], str], encode_reject: Callable[[Reject], str]
    ) -> tuple[str, Outcome]:
        """Encode an outcome. A sentence that the format cannot represent becomes a reject."""
        try:
            return encode_reject(outcome) if isinstance(outcome, Reject) else encode(outcome), outcome
        except STOPPING:
            raise
        except NerseryError as error:
            has_failed = isinstance(outcome, Reject) and outcome.error is not None  # then it is already counted
            self._succeeded -= not isinstance(outcome, Reject)
            sentence = outcome.sentence if isinstance(outcome, Reject) else outcome
            if isinstance(sentence, Sentence):  # without its numbers, which may be the cause of the error
                sentence = replace(sentence, scores={}, entities=tuple(Entity(*label) for label in sentence.labels))
            else:
                sentence = None
            reject = Reject(reason_of(error), sentence, error)
        if not has_failed:
            self._count(reject)
        return encode_reject(reject), reject

    def check(self) -> None:
        """Raise the first error if every item failed."""
        if self._first is not None and not self._succeeded:
            raise self._first
