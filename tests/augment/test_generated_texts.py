"""The texts of generated sentences: nersery reads its own exports of them, and no words run into each other."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import nersery
from nersery import Corpus, Entity, Sentence
from nersery.core.text.spacing import spaces_in
from nersery.io.annotation_tools.standoff import layout

TEXTS = (
    ("the [Oslo]-based [(AI)] firm", "LOC", "ORG"),
    ("pro-[Paris] voters of a [Bern]-born poet", "LOC", "LOC"),
    ("[Yahoo!]'s €30m deal (approx.) with [AT&T], not $3.50.", "ORG", "ORG"),
    ("5 mg/kg of [1,4-dioxane] (wet) at −78°C, ~2%", "CHEM"),
    ("in [NaCl (aq)]: 10 km/h [non-polar] “gas” [sic]", "CHEM", "CHEM", "X"),
    ("the [U.S.]-led [Acme Inc.]", "LOC", "ORG"),
)
"""Texts with hyphens, brackets, units and currency, mentions in brackets, and their types."""
SYNONYMS = "deal\thuge deal\nfirm\tcompany\n-\tminus\nwith\t–\n(\tor\nbased\t€\nkg\tpound\n"
METHODS = {
    "mention_replacement": {"rate": 1.0},
    "label_wise_token_replacement": {"rate": 0.5},
    "shuffle_within_segments": {"rate": 1.0},
    "eda": {"rate": 0.5, "operations": ["synonyms", "insertion", "shuffle", "swap", "deletion"]},
}


def labelled(marked: str, *types: str) -> Sentence:
    """A text with mentions in square brackets, split at each sign."""
    parts = marked.replace("]", "[").split("[")
    (sentence,) = Corpus.from_texts(["".join(parts)], split="signs")
    ends = [sum(map(len, parts[:number])) for number in range(len(parts) + 1)]
    first, last = ({o[side]: n for n, o in enumerate(sentence.offsets)} for side in (0, 1))
    places = zip(ends[1:-1:2], ends[2::2], types, strict=True)
    return replace(sentence, entities=tuple(Entity(first[a], last[b] + 1, type_) for a, b, type_ in places), id=marked)


GOLD = Corpus([labelled(*text) for text in TEXTS])


@pytest.fixture(params=METHODS)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Corpus:
    settings: dict[str, Any] = METHODS[request.param]
    if request.param == "eda":
        (tmp_path / "synonyms.tsv").write_text(SYNONYMS, encoding="utf-8")
        settings = {**settings, "table": tmp_path / "synonyms.tsv"}
    return nersery.augment(GOLD, request.param, copies=40, **settings).corpus


def test_mentions_of_another_language_keep_their_own_spacing() -> None:
    texts = {"en": ("in [1,4-dioxane (wet)]", "[THF]'s smell"), "de": ("aus [Al-Ni]-Pulver", "bei [NaCl (aq)].")}
    gold = Corpus([replace(labelled(text, "CHEM"), language=lang) for lang, both in texts.items() for text in both])
    made = nersery.augment(gold, "code_mixing", similarity="random", copies=9).corpus
    assert {layout(sentence)[0] for sentence in made} == {
        "in Al-Ni", "in NaCl (aq)", "Al-Ni's smell", "NaCl (aq)'s smell",
        "aus 1,4-dioxane (wet)-Pulver", "aus THF-Pulver", "bei 1,4-dioxane (wet).", "bei THF.",
    }  # fmt: skip


def text_and_labels(sentence: Sentence) -> tuple[str, list[tuple[int, int, str]]]:
    text, offsets = layout(sentence)
    return text, [(offsets[start][0], offsets[end - 1][1], type_) for start, end, type_ in sentence.labels]


def test_exports_are_read_back(made: Corpus, tmp_path: Path) -> None:
    expected = [*map(text_and_labels, made)]
    assert len(expected) > 100
    nersery.write(made, tmp_path / "brat", format="brat")
    back = nersery.read(tmp_path / "brat", split="signs")
    assert [sentence.words for sentence in back] == [sentence.words for sentence in made]
    assert [*map(text_and_labels, back)] == expected
    nersery.write(made, tmp_path / "spans.jsonl", format="spans")
    assert [*map(text_and_labels, nersery.read(tmp_path / "spans.jsonl"))] == expected


def test_no_letters_or_digits_meet_that_did_not_in_the_texts(made: Corpus) -> None:
    known = {pair for sentence in GOLD for pair in touching(sentence)}
    assert {pair for sentence in made for pair in touching(sentence)} <= known


def touching(sentence: Sentence) -> set[tuple[str, str]]:
    """The neighbours that meet in a letter or digit, without a space."""
    pairs = zip(pairwise(sentence.words), spaces_in(sentence.offsets), strict=True)
    return {(a, b) for (a, b), space in pairs if not space and a[-1].isalnum() and b[0].isalnum()}
