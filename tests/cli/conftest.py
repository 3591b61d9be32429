"""The current folder and a tagger, for tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calls import call
from tests.standins import tiny, write_data


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with data files."""
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def tagger(tmp_path_factory: pytest.TempPathFactory, tiny_model: str) -> Path:
    """The folder of a trained tagger."""
    folder = tmp_path_factory.mktemp("tagger")
    write_data(folder)
    settings = [f"--set={line.replace(' = ', '=')}" for line in tiny(tiny_model).split("\n")]
    result = call("train", str(folder / "train.conll"), str(folder / "my-tagger"), *settings)
    assert result.code == 0
    return folder / "my-tagger"
