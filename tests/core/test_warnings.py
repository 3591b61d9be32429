from __future__ import annotations

import pytest

from nersery.core.warnings import warn, without_notes


def test_what_is_not_told_within_is_told_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    warn.cache_clear()
    with without_notes():
        warn("the text is short")
    assert capsys.readouterr().err == ""
    warn("the text is short")
    warn("the text is short")
    assert capsys.readouterr().err == "note: the text is short\n"
