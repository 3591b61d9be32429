from __future__ import annotations

import pytest

from nersery.models.known_languages import warn_if_unsuited

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
