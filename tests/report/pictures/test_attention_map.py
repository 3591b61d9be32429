from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from nersery import Entity, Sentence
from nersery.report.pictures.attention_map import MAX_LABEL_LENGTH, attention_map

SVG = "{http://www.w3.org/2000/svg}"
SENTENCE = Sentence(("the", "Jo", "Li", "film", "won"), (Entity(1, 3, "PER"),))
ATTENTION = np.array(
    [
        [9.0, 1.0, 1.0, 1.0, 4.0],
        [0.2, 5.0, 5.0, 0.8, 0.0],
        [0.2, 5.0, 5.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 2.0, 0.0],
        [1.0, 0.5, 0.5, 1.0, 0.3],
    ]
)


def parsed(sentence: Sentence, attention: np.ndarray, keywords: tuple[int, ...] = ()) -> ElementTree.Element:
    return ElementTree.fromstring(attention_map(sentence, attention, keywords))


def of_class(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [one for one in root.iter() if one.get("class") == kind]


def test_each_word_and_each_entity_has_a_row_and_a_column() -> None:
    root = parsed(SENTENCE, ATTENTION, (3,))
    heads = [(one.get("class"), one.text) for one in root.findall(f"{SVG}text")]
    units = [("word", "the"), ("entity", "Jo Li PER"), ("keyword", "film"), ("word", "won")]
    assert heads[:8] == units * 2


def test_shades_are_relative_to_the_highest_value_of_the_row() -> None:
    cells = of_class(parsed(SENTENCE, ATTENTION), "cell")
    shades = {one.find(f"{SVG}title").text: float(one.get("fill-opacity")) for one in cells}
    # the: 9, 2, 1, 4 of 4; Jo Li: .2, 10, .4, 0 of .4; film: only itself; won: 1, 1, 1, .3 of 1
    assert shades == {
        "the → the: 9.000": 1.0, "the → Jo Li PER: 2.000": 0.5, "the → film: 1.000": 0.25, "the → won: 4.000": 1.0,
        "Jo Li PER → the: 0.200": 0.5, "Jo Li PER → Jo Li PER: 10.000": 1.0, "Jo Li PER → film: 0.400": 1.0,
        "won → the: 1.000": 1.0, "won → Jo Li PER: 1.000": 1.0, "won → film: 1.000": 1.0, "won → won: 0.300": 0.3,
    }  # fmt: skip
    (first,) = [one for one in cells if one.find(f"{SVG}title").text.startswith("Jo Li PER → film")]
    assert (first.get("x"), first.get("y")) == ("40", "20")


def test_frames_the_keywords_an_entity_attends_to() -> None:
    frames = of_class(parsed(SENTENCE, ATTENTION, (0, 3)), "chosen")
    assert [(one.get("x"), one.get("y")) for one in frames] == [("1", "21"), ("41", "21")]


def test_is_self_contained_and_styled_for_light_and_dark() -> None:
    picture = attention_map(SENTENCE, ATTENTION, (3,))
    assert "prefers-color-scheme: dark" in picture
    assert not re.search(r"<script|href|url\(|@import", picture)
    root = ElementTree.fromstring(picture)
    used = {one.get("class") for one in root.iter()} - {None}
    style = root.find(f"{SVG}style").text
    light, dark = style.split("@media")
    for kind in used:
        assert f".{kind} {{" in light
        assert f".{kind} {{" in dark


@pytest.mark.parametrize(
    "word",
    ["<script>alert(1)</script>", "&amp;", '"x"', "]]>", "\ufffe", "\u202eabc", "{0}", "राम", "أحمد", "東京", "👩‍👩‍👧"],
)
def test_accepts_any_text_in_any_script(word: str) -> None:
    sentence = Sentence((word, "x", word), (Entity(0, 1, f"a {word}".strip()),))
    picture = attention_map(sentence, np.ones((3, 3)), (2,))
    assert "<script" not in picture
    assert "\u202e" not in picture
    labels = [one.text for one in ElementTree.fromstring(picture).findall(f"{SVG}text")]
    if word.isprintable():
        assert labels[2] == word


def test_shortens_long_mentions_but_keeps_the_type_and_the_full_title() -> None:
    mention = tuple(f"word{number}" for number in range(40))
    root = parsed(Sentence(mention, (Entity(0, 40, "ORG"),)), np.ones((40, 40)))
    head = root.find(f"{SVG}text")
    assert head.text.endswith("… ORG")
    assert len(head.text) == MAX_LABEL_LENGTH + len(" ORG")
    assert head.find(f"{SVG}title").text == " ".join(mention) + " ORG"


def test_refuses_attention_of_another_size() -> None:
    with pytest.raises(ValueError, match="between 5 words"):
        attention_map(SENTENCE, np.ones((4, 4)), ())
