"""Which systems a grow job considers for which data."""

from __future__ import annotations

from typing import Any

import pytest

from nersery.core.sentence import Sentence
from nersery.experiments.data.text_profile import TextProfile, profile
from nersery.experiments.grow.candidates import models_for, other_encoder, systems_for
from nersery.experiments.systems import folder_name

ENGLISH = profile([Sentence(("The", "man", "of", "the", "Year"))])
LOWER_CASE = profile([Sentence(("the", "man", "of", "the", "year"))])
HINDI = profile([Sentence(("राम", "दिल्ली", "में", "रहता", "है"))])


def systems(text: TextProfile, models: list[str], **sizes: int) -> dict[str, dict[str, Any]]:
    other = other_encoder(text, models, has_english=True)
    found = systems_for(text, ["PER"], models, other=other, **{"gold": 100, "raw": 100, "stage_steps": 50, **sizes})
    return {entry["name"]: entry for entry in found}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ENGLISH, ["bundled", "bundled-multilingual"]),
        (LOWER_CASE, ["bundled", "bundled-multilingual"]),
        (HINDI, ["bundled-multilingual"]),
    ],
)
def test_encoders_suit_the_text(text: TextProfile, expected: list[str]) -> None:
    assert models_for(text) == expected
    assert models_for(text, "mine") == [expected[0], "mine", *expected[1:]]


def test_questions_on_other_languages_use_the_multilingual_model() -> None:
    assert systems(HINDI, ["bundled-multilingual"])["questions"]["model"] == "bundled-multilingual"
    assert "model" not in systems(ENGLISH, ["bundled"])["questions"]
    assert "questions" not in systems(HINDI, ["mine"])


def test_questions_on_cased_english_use_the_multilingual_model() -> None:
    first = ["bundled-multilingual"]
    assert systems(ENGLISH, first)["questions"]["model"] == "bundled-multilingual"
    assert "model" not in systems(LOWER_CASE, first)["questions"]
    assert "model" not in systems(ENGLISH, ["bundled", *first])["questions"]


def test_two_encoders_take_turns_to_relabel_english() -> None:
    found = systems(LOWER_CASE, ["bundled", "bundled-multilingual"], are_names=True)
    other, back = found["questions, other encoder"], found["questions, other encoder and back"]
    assert (other["base"], other["tagger_settings"]) == ("questions", {"model": "bundled-multilingual-ner"})
    assert (back["base"], back["tagger_settings"]) == (other["name"], {"model": "bundled-ner"})
    assert found["questions, relabelled"]["base"] == "questions"
    assert not any("other" in name for name in systems(LOWER_CASE, ["bundled"]))
    assert not any("other" in name for name in systems(HINDI, ["bundled-multilingual"]))


def test_the_english_encoder_takes_turns_only_on_uncased_text() -> None:
    found = systems(LOWER_CASE, ["bundled-multilingual"], are_names=True)
    assert found["self-training, other encoder"]["tagger_settings"] == {"model": "bundled-ner"}
    assert found["self-training, other encoder and back"]["tagger_settings"] == {"model": "bundled-multilingual-ner"}
    assert not any("other" in name for name in systems(ENGLISH, ["bundled-multilingual"]))
    assert other_encoder(LOWER_CASE, ["bundled-multilingual"], has_english=False) == ""


def test_without_raw_text_nothing_is_labelled() -> None:
    methods = {entry.get("method") for entry in systems(ENGLISH, ["bundled"], raw=0).values()}
    assert methods == {"melm", "mention_replacement"}


def test_encoder_names_become_valid_unique_folder_names() -> None:
    others = ["a\\b", "ünï/" + 200 * "x", "one/same", "two/same", "mine ", "..."]
    names = [name for name in systems(ENGLISH, ["bundled", *others]) if name.startswith("gold")]
    assert names[0] == "gold, b"
    assert len(names) == len(others)
    assert all(map(folder_name, names))


def test_taggers_for_names_start_from_bundled_taggers() -> None:
    found = systems(ENGLISH, ["bundled", "mine", "bundled-multilingual"], are_names=True)
    starts = {name: entry["tagger_settings"]["model"] for name, entry in found.items()}
    assert starts["gold, bundled-ner"] == starts["questions"] == starts["melm + agreement"] == "bundled-ner"
    assert starts["gold, mine"] == starts["questions, mine"] == "mine"
    assert starts["gold, bundled-multilingual"] == "bundled-multilingual-ner"
