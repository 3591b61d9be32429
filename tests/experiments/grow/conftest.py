"""A grow job with tiny encoders that has ended, once for all tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nersery.experiments.grow.harvest import Harvest
from tests.experiments.grow.tiny_jobs import grow, prepare


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: str) -> Path:
    """Files in a language that is said not to be English, and quick trainings of a tiny encoder."""
    return prepare(tmp_path, monkeypatch, tiny_model)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, tiny_model: str) -> tuple[Path, Harvest]:
    """A job that has ended, once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        folder = prepare(tmp_path_factory.mktemp("finished"), patch, tiny_model)
        return folder / "out", grow(minutes=10)


@pytest.fixture
def grown(folder: Path, finished: tuple[Path, Harvest]) -> Harvest:
    """That job in ``out``."""
    shutil.copytree(finished[0], folder / "out")
    return finished[1]
