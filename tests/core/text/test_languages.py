from __future__ import annotations

from stopwordsiso import langs

from nersery.core.text.languages import TWO_LETTERS, canonical, primary
from nersery.models.bundled_models.known_languages import LANGUAGES, MASKED_LANGUAGES


def test_every_known_language_has_a_three_letter_code() -> None:
    known = {*LANGUAGES.split(), *MASKED_LANGUAGES.split(), *langs()}
    assert known <= {*TWO_LETTERS.values()}
    assert {primary(code.upper()) for code in TWO_LETTERS} == {primary(code) for code in TWO_LETTERS.values()}


def test_codes_of_one_language_are_equal() -> None:
    assert canonical("ibo") == canonical("IG")
    assert canonical("bod") == canonical("tib") == "bo"
    assert canonical("tgk-Cyrl") == "tg-cyrl"
    assert canonical("iw") == "he"
    assert [canonical(code) for code in ("haw", "tlh", "ber", "mul", "yue")] == ["haw", "tlh", "ber", "mul", "yue"]
