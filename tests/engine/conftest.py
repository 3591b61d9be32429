"""What a worker sets for its process is undone where it is no process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nersery.progress import NO_NOTES


@pytest.fixture(autouse=True)
def notes() -> Iterator[None]:
    token = NO_NOTES.set(False)
    yield
    NO_NOTES.reset(token)
