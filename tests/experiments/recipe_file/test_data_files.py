from __future__ import annotations

import pytest

from nersery.experiments.recipe_file.data_files import DataFile, DataSettings
from nersery.io.base import LANGUAGE_TAG


@pytest.mark.parametrize("language", ["en", "hi", "EN", "ast", "zh-Hant", "sr-Latn-RS", "hi-x-translit"])
def test_accepts_language_tags(language: str) -> None:
    assert LANGUAGE_TAG.fullmatch(language)


@pytest.mark.parametrize(
    "language", ["", "e", "english", "path", "en_US", "en-", "-en", "en us", "हि", "en\n", "en/hi"]
)
def test_refuses_strings_that_are_not_language_tags(language: str) -> None:
    assert not LANGUAGE_TAG.fullmatch(language)


def test_the_order_of_languages_does_not_matter() -> None:
    one, other = ({"hi": "h", "en": "e", "de": "d"}, {"de": "d", "en": "e", "hi": "h"})
    expected = [DataFile("dev", "d", "de"), DataFile("dev", "e", "en"), DataFile("dev", "h", "hi")]
    assert DataSettings("a", "b", one).files("dev") == DataSettings("a", "b", other).files("dev") == expected


@pytest.mark.parametrize("dev", [None, ""])
def test_a_missing_split_has_no_files_and_no_issues(dev: str | None) -> None:
    settings = DataSettings("a", "b", dev)
    assert settings.files("dev") == settings.issues() == []


def test_reports_all_issues_at_once() -> None:
    settings = DataSettings({"en": "", "klingon": "k"}, "", {}, language="a\rb", repair=["x"])
    found = settings.issues()
    starts = [
        "data.test is empty",
        "data.train.en is ''",
        "data.train: 'klingon'",
        "data.dev is an empty table",
        'data: there is no repair "x"',
        "data: language is",
    ]
    assert len(found) == len(starts)
    assert all(issue.startswith(start) for issue, start in zip(found, starts, strict=True))


def test_a_file_name_with_a_placeholder_covers_all_languages() -> None:
    data = DataSettings("{language}/train.conll", test={"en": "test.conll"}, languages=["hi", "en"])
    assert [(file.language, file.name) for file in data.files("train")] == [
        ("en", "en/train.conll"),
        ("hi", "hi/train.conll"),
    ]
    assert [file.name for file in data.files("test")] == ["test.conll"]
    assert data.issues() == []


def test_a_placeholder_needs_languages() -> None:
    assert DataSettings("{language}/train.conll").issues() == [
        'data.train is "{language}/train.conll": name the languages, e.g. data.languages = ["en", "hi"]'
    ]
