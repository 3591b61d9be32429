"""The loop that runs an aligner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

import nersery
from nersery import Corpus, Sentence
from nersery.core.alignments import Link
from nersery.core.errors import ContractError, MethodError
from nersery.core.outcome import Reject
from nersery.crosslingual.aligners.base import Aligner, Alignment, Pair, checked_alignments

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


@pytest.mark.parametrize("answer", ["0-0", 5, [(0, 0)], (Link(0, 9, 0.5),), (Link(-1, 0, 0.5),)])
def test_answers_that_are_no_links_between_the_words_are_an_error(answer: Any) -> None:
    @dataclass
    class Wrong(Aligner):
        def align(self, pairs: Sequence[Pair]) -> Any:
            return [answer] * len(pairs)

    with pytest.raises(MethodError, match=r"Wrong answered with .*, expected links such as \(Link\(0, 0, 0\.8\),\)"):
        checked_alignments(Wrong(), [Pair(("a", "b"), ("c",), "1")])
