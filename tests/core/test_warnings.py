from __future__ import annotations

import io
import re
import sys
import warnings

import pytest

from nersery.core.progress import Progress, print_line
from nersery.core.warnings import advise, collected_notes, counted_warnings, note, warn, without_advice, without_notes


def test_shows_a_note_after_the_context_that_suppressed_it(capsys: pytest.CaptureFixture[str]) -> None:
    with without_notes():
        warn("the text is short")
    assert capsys.readouterr().err == ""
    warn("the text is short")
    warn("the text is short")
    assert capsys.readouterr().err == "note: the text is short\n"


def test_without_advice_suppresses_only_advice(capsys: pytest.CaptureFixture[str]) -> None:
    with without_advice():
        advise("another model is better")
        warn("the text is short")
    assert capsys.readouterr().err == "note: the text is short\n"
    advise("another model is better")
    assert capsys.readouterr().err == "note: another model is better\n"


def test_ignores_a_closed_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unread(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Unread())
    note("the text is short")
    print_line("predict: 1/2")


def test_prints_nothing_without_a_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a service; notes must not mix with results on standard output."""
    monkeypatch.setattr(sys, "stderr", None)
    note("the text is short")
    with Progress("predict", total=1) as progress:
        progress.advance()
    assert capsys.readouterr().out == ""


def test_collects_notes_that_were_shown_before(capsys: pytest.CaptureFixture[str]) -> None:
    warn("the text is short")
    with collected_notes() as messages, without_notes():
        warn("the text is short")
        warn("there is no verb")
    warn("the text is short")
    assert messages == ["the text is short", "there is no verb"]
    assert capsys.readouterr().err == "note: the text is short\n" * 2


@pytest.mark.filterwarnings("always")
def test_prints_the_first_warning_of_python_from_each_line_and_counts_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = warnings.showwarning
    with counted_warnings():
        for number in range(1200):
            warnings.warn(f"sentence {number} is \x1b[2Jodd", stacklevel=1)
        warnings.warn("the text is short", FutureWarning, stacklevel=1)
        first, other = capsys.readouterr().err.splitlines()
    assert warnings.showwarning is before
    assert re.fullmatch(r"warning: .*test_warnings\.py:\d+: UserWarning: sentence 0 is \\x1b\[2Jodd", first)
    assert re.fullmatch(r"warning: .*test_warnings\.py:\d+: FutureWarning: the text is short", other)
    place, _, text = first.partition(": UserWarning")
    assert capsys.readouterr().err == f"{place}: 1,199 more, the first was UserWarning{text}\n"
