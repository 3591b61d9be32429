"""Files of undisturbed jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline import shard_jobs
from tests.pipeline.fakes import answers
from tests.pipeline.jobs import ITEMS, files, job, step


@pytest.fixture
def undisturbed(tmp_path: Path) -> dict[str, bytes]:
    """The files of an undisturbed job."""
    folder = tmp_path / "undisturbed"
    folder.mkdir()
    job(folder).run(ITEMS, step)
    return files(folder)


@pytest.fixture
def undisturbed_shards(tmp_path: Path) -> dict[str, bytes]:
    """The files of an undisturbed job over shards."""
    folder = tmp_path / "undisturbed"
    shard_jobs.job(folder).run(shard_jobs.ROWS, answers)
    return files(folder / "out")
