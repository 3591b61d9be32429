"""The loop that runs an aligner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

import nersery
from nersery import Corpus, Sentence
from nersery.core.errors import ContractError
from nersery.core.outcome import Reject
from nersery.crosslingual.aligners.base import Aligner, Alignment, Pair

TEXT = Corpus([Sentence(("a", "b")), Sentence(("c",))])


@dataclass
class Failing(Aligner):
    """Rejects each pair."""

    error: Exception | None = None

    def align(self, pairs: Sequence[Pair]) -> list[Reject]:
        return [Reject("too bad", error=self.error) for _ in pairs]


@dataclass
class Short(Aligner):
    """Leaves out the last pair."""

    def align(self, pairs: Sequence[Pair]) -> list[Alignment]:
        return [() for _ in pairs[1:]]


def test_a_reject_shows_the_target() -> None:
    assert nersery.align(TEXT, TEXT, Failing()) == [Reject("too bad", sentence) for sentence in TEXT]


def test_a_job_raises_the_error_if_every_pair_fails() -> None:
    with pytest.raises(RuntimeError, match="broken"):
        nersery.align(TEXT, TEXT, Failing(RuntimeError("broken")))


def test_an_aligner_must_answer_for_each_pair() -> None:
    with pytest.raises(ContractError, match="Short was given 2 items and answered with 1 alignments"):
        nersery.align(TEXT, TEXT, Short())
