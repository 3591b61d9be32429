"""A finished grow job with tiny encoders, once for all tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nersery.experiments.grow.grow_result import GrowResult
from tests.conftest import TINY, build_tokenizer
from tests.experiments.grow.tiny_jobs import grow, prepare


@pytest.fixture(scope="session")
def one_layer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An encoder with one layer, because these tests train it often."""
    import torch
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("one-layer")
    build_tokenizer("wordpiece", folder)
    torch.manual_seed(0)
    BertModel(BertConfig(**{**TINY, "vocab_size": 500, "num_hidden_layers": 1})).save_pretrained(folder)
    return str(folder)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_layer: str) -> Path:
    """Files whose language is declared not to be English, and quick trainings of a tiny encoder."""
    return prepare(tmp_path, monkeypatch, one_layer)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, one_layer: str) -> tuple[Path, GrowResult]:
    """A finished job, once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        folder = prepare(tmp_path_factory.mktemp("finished"), patch, one_layer)
        return folder / "out", grow(minutes=10)


@pytest.fixture
def grown(folder: Path, finished: tuple[Path, GrowResult]) -> GrowResult:
    """That job in ``out``."""
    shutil.copytree(finished[0], folder / "out")
    return finished[1]
