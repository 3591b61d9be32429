"""Masked language models on which tests run."""

from __future__ import annotations

from pathlib import Path

import pytest

from nersery.models.masked.masked_lm import MaskedLM
from tests.models.masked_texts import KINDS, opened


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest, tiny_masked_lms: dict[str, Path]) -> MaskedLM:
    return opened(tiny_masked_lms[request.param])


@pytest.fixture
def fresh(tiny_masked_lm: str) -> MaskedLM:
    """A model that a test may train."""
    return opened(tiny_masked_lm)
