"""Where the files that come with nersery lie."""

from __future__ import annotations

from pathlib import Path

from nersery.io.shipped import located, shipped


def test_an_example_comes_with_nersery():
    assert located("example:train.conll", Path("elsewhere")) == shipped("recipes/example") / "train.conll"
