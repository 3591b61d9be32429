"""What a worker sets for its process is undone where it is no process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nersery.core.warnings import NO_NOTES
from tests.pipeline.jobs import ITEMS, files, job, step


@pytest.fixture(autouse=True)
def notes() -> Iterator[None]:
    token = NO_NOTES.set(False)
    yield
    NO_NOTES.reset(token)


@pytest.fixture
def undisturbed(tmp_path: Path) -> dict[str, bytes]:
    """The files of a job that nothing has disturbed."""
    folder = tmp_path / "undisturbed"
    folder.mkdir()
    job(folder).run(ITEMS, step)
    return files(folder)


@pytest.fixture
def always_save(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the journal after every batch, however quick."""
    monkeypatch.setattr("nersery.pipeline.job.CHECKPOINT_SECONDS", 0.0)
