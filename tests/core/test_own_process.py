from __future__ import annotations

import os

import pytest

from nersery.core import own_process


@pytest.mark.parametrize(
    ("given", "expected"), [({}, "2000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, None)]
)
def test_waiting_threads_sleep_soon_unless_the_user_says_otherwise(
    given: dict[str, str], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_process.gc, "set_threshold", lambda *_: None)
    monkeypatch.setattr(own_process, "_owned", [])
    monkeypatch.setattr(os, "environ", dict(given))
    own_process.own_this_process()
    assert os.environ.get("GOMP_SPINCOUNT") == expected
