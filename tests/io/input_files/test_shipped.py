"""The location of the files that are shipped with nersery."""

from __future__ import annotations

from pathlib import Path

import pytest

from nersery.core.errors import SettingsError
from nersery.io.input_files.shipped import example, located, shipped


def test_an_example_comes_with_nersery():
    assert located("example:train.conll", Path("elsewhere")) == shipped("recipes/example") / "train.conll"


def test_example_refuses_a_name_that_is_not_text():
    with pytest.raises(
        SettingsError, match=r"the example file is None, expected its name; known: example:.*train\.conll"
    ):
        example(None)
