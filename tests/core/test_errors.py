"""Messages about many issues."""

from __future__ import annotations

import numpy as np
import pytest

import nersery
from nersery.core.errors import SHOWN_ISSUES, DataError, Issue, SettingsError, shown
from nersery.core.sentence import Sentence


def test_shows_each_message_once_if_there_are_many_issues() -> None:
    alike = [Issue("no label", "a.json", line) for line in range(1, 81)]
    text = str(DataError([*alike[:40], Issue("no text", "a.json", 99), *alike[40:]]))
    assert text.splitlines() == ["81 issues:", "a.json:1: no label; also in 79 other places", "a.json:99: no text"]
    others = [Issue(f"odd {number}", "a.json", number) for number in range(SHOWN_ISSUES + 3)]
    assert str(DataError(others)).endswith("… and 3 more issues")
    few = str(DataError([*others[:SHOWN_ISSUES], others[0]]))
    assert few.splitlines()[1].endswith("; also in 1 other place")
    assert str(DataError(others[:-2])).endswith("… and 1 more issue")


def test_all_of_few_issues_are_shown() -> None:
    assert str(DataError([Issue("no label", "a", 1), Issue("no label", "a", 2)])).count("no label") == 2


def test_message_names_no_place_for_a_sentence_without_an_id() -> None:
    with pytest.raises(DataError) as error:
        Sentence(("a", "b")).replace_span(1, 3, ["c"])
    assert str(error.value) == "cannot edit words [1, 3): outside the sentence or overlapping"


def test_shows_that_a_value_was_cut() -> None:
    assert (shown("a" * 60), shown("a" * 58)) == (f"'{'a' * 59} …", f"'{'a' * 58}'")
    with pytest.raises(SettingsError, match=rf"size is '{'a' * 59} …, expected a whole number"):
        nersery.sample([], "a" * 100)  # type: ignore[arg-type]


def test_shows_values_that_python_does_not_write_on_one_line() -> None:
    assert shown(np.zeros((2, 2))) == "array([[0., 0.], [0., 0.]])"
    with pytest.raises(SettingsError, match="seed is <int>, expected a whole number from 0"):
        nersery.sample([], 1, seed=10**5000)
