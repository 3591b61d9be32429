"""Where a test writes its recipe."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recipe.asking import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a recipe and gives its path."""

    def write(text: str) -> str:
        path = tmp_path / "recipe.toml"
        path.write_text(text, "utf-8")
        return str(path)

    return write
