"""Where the files that a recipe names lie."""

from __future__ import annotations

from pathlib import Path

from nersery.experiments.recipe_file.paths import located
from nersery.io.shipped import shipped


def test_an_example_comes_with_nersery():
    assert located("example:train.conll", Path("elsewhere")) == shipped("recipes/example") / "train.conll"
