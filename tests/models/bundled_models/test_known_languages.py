from __future__ import annotations

import pytest

from nersery.models.bundled_models.known_languages import MASKED_LANGUAGES, SCRIPTS, UNTRAINED_SCRIPTS, warn_if_unsuited

ADVICE = "Name another, e.g. {}"


@pytest.mark.parametrize(
    ("words", "example"),
    [
        (["ལྷ་ས་", "2026", "in", "བོད་"], "one with words in the Tibetan script"),
        (["Москва"], "bundled-multilingual (extra multilingual), xlm-roberta-base or google/muril-base-cased"),
        (["2026", "!"], "bundled-multilingual (extra multilingual), xlm-roberta-base or google/muril-base-cased"),
    ],
)
def test_suggests_only_models_with_words_in_the_script(
    words: list[str], example: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert warn_if_unsuited("bundled", "100 % of the words are unknown to it", [""], ADVICE, words=words)
    assert capsys.readouterr().err.strip().endswith(f"Name another, e.g. {example}")


SWAHILI = "Rais wa nchi alitembelea mji huo kwa siku mbili na kuzungumza na watu wengi".split() * 10
ENGLISH = "the president of the country visited this town for two days and spoke to people".split() * 10


@pytest.mark.parametrize(
    ("name", "words", "languages", "is_unsuited"),
    [
        ("bundled", SWAHILI, [""], True),
        ("bundled", SWAHILI[:28], [""], True),
        ("bundled", SWAHILI[:5], [""], False),
        ("bundled", ENGLISH, [""], False),
        ("bundled", SWAHILI, ["en"], False),
        ("bundled-multilingual", SWAHILI, [""], False),
        ("someone/model", SWAHILI, [""], False),
    ],
)
def test_recognizes_other_languages_than_english_unless_one_is_named(
    name: str, words: list[str], languages: list[str], is_unsuited: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert warn_if_unsuited(name, "", languages, ADVICE, words=words) == is_unsuited
    assert ("covers only English, and this does not look like English" in capsys.readouterr().err) == is_unsuited


@pytest.mark.parametrize(
    ("words", "languages", "is_unsuited"),
    [("ภู เ ก็ ต".split(), [""], True), ("東 京".split(), [""], False), ("ภู เ ก็ ต".split(), ["en"], False)],
)
def test_recognizes_a_script_in_which_the_bundled_model_has_not_learnt_to_fill_gaps(
    words: list[str], languages: list[str], is_unsuited: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    found = warn_if_unsuited("bundled-multilingual", "", languages, ADVICE, words=words, fills_gaps=True)
    assert found == is_unsuited
    expected = "in 36 languages, but not in the Thai script. Name another, e.g. xlm-roberta-base\n"
    assert capsys.readouterr().err.endswith(expected if is_unsuited else "")
    assert not warn_if_unsuited("bundled-multilingual", "", languages, ADVICE, words=words)


def test_advises_no_bundled_model_that_has_not_learnt_to_fill_gaps_in_the_script(
    capsys: pytest.CaptureFixture[str],
) -> None:
    warn_if_unsuited("bundled", "all are unknown", [""], ADVICE, words=["ไท"], fills_gaps=True)
    assert "bundled-multilingual" not in capsys.readouterr().err


def test_the_36_languages_are_written_in_all_other_scripts() -> None:
    of_one_script = {
        "hy": "ARMENIAN", "am": "ETHIOPIC", "ka": "GEORGIAN", "km": "KHMER", "lo": "LAO", "my": "MYANMAR",
        "or": "ORIYA", "th": "THAI",
    }  # fmt: skip
    assert sorted(of_one_script.values()) == UNTRAINED_SCRIPTS.split()
    assert not of_one_script.keys() & {*MASKED_LANGUAGES.split()}
    assert {*UNTRAINED_SCRIPTS.split()} < {*SCRIPTS.split()}
