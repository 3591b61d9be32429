"""Recipes to start from, and helpers that return why a recipe is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nersery.core.errors import SettingsError
from nersery.experiments.recipe import load

GOOD = """
name = "mine"
[data]
train = "train.conll"
test = "test.conll"
[[systems]]
method = "mention_replacement"
"""
NAMED = """
name = "mine"
[data]
train = "train.conll"
test = "test.conll"
[[systems]]
name = "first, v1.5"
method = "mention_replacement"
[[systems]]
method = "mention_replacement"
[[systems]]
name = "other 🚀"
method = "shuffle_within_segments"
"""
CHAIN = """
name = "chain"
[data]
train = "train.conll"
test = "test.conll"
[[systems]]
name = "a"
method = "mention_replacement"
[[systems]]
name = "b"
base = "a"
method = "shuffle_within_segments"
[[systems]]
name = "c"
base = "b"
method = "label_wise_token_replacement"
"""

Write = Callable[[str], str]


def issues(recipe: str, *overrides: str) -> list[str]:
    """Issues for which a recipe is refused, in order; checks that they are numbered."""
    with pytest.raises(SettingsError) as caught:
        load(recipe, overrides)
    head, *lines = str(caught.value).split("\n  ")
    numbers, messages = zip(*(line.split(". ", 1) for line in lines), strict=True)
    assert list(numbers) == [str(number) for number in range(1, len(lines) + 1)]
    noun = "issue" if len(lines) == 1 else "issues"
    assert head == f"{recipe}: {len(lines)} {noun} in the recipe"
    return list(messages)


def issue(recipe: str, *overrides: str) -> str:
    """The only issue for which a recipe is refused."""
    (only,) = issues(recipe, *overrides)
    return only
