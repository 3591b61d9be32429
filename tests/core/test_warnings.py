from __future__ import annotations

import io
import sys

import pytest

from nersery.core.progress import print_line
from nersery.core.warnings import advise, collected_notes, note, warn, without_advice, without_notes


def test_what_is_not_told_within_is_told_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    with without_notes():
        warn("the text is short")
    assert capsys.readouterr().err == ""
    warn("the text is short")
    warn("the text is short")
    assert capsys.readouterr().err == "note: the text is short\n"


def test_advice_is_silent_where_it_cannot_be_followed(capsys: pytest.CaptureFixture[str]) -> None:
    with without_advice():
        advise("another model is better")
        warn("the text is short")
    assert capsys.readouterr().err == "note: the text is short\n"
    advise("another model is better")
    assert capsys.readouterr().err == "note: another model is better\n"


def test_what_cannot_be_told_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unread(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Unread())
    note("the text is short")
    print_line("predict: 1/2")


def test_what_was_told_before_is_still_heard(capsys: pytest.CaptureFixture[str]) -> None:
    warn("the text is short")
    with collected_notes() as messages, without_notes():
        warn("the text is short")
        warn("there is no verb")
    warn("the text is short")
    assert messages == ["the text is short", "there is no verb"]
    assert capsys.readouterr().err == "note: the text is short\n" * 2
