"""Zero-shot questions before any training, and whether mentions are names."""

from __future__ import annotations

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.experiments.grow.zero_shot import are_names, sentences_to_ask


@pytest.mark.parametrize(("mentions", "drawn"), [(40, 40), (29, 0)])
def test_questions_are_not_tested_with_few_mentions(mentions: int, drawn: int) -> None:
    with_entity = [Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),), id=str(n)) for n in range(mentions)]
    assert len(sentences_to_ask(Corpus(with_entity))) == drawn
    assert (
        len(sentences_to_ask(Corpus([*with_entity, *(Sentence(("He", "wrote"), id=f"x{n}") for n in range(9999))])))
        == 0
    )


@pytest.mark.parametrize(
    ("text", "entity", "expected"),
    [
        ("Ada Lovelace lives in Paris .", Entity(0, 2, "WRITER"), True),
        ("he has acute hepatitis .", Entity(2, 4, "X"), False),
    ],
)
def test_mentions_are_names_if_the_bundled_tagger_finds_most_of_them(text: str, entity: Entity, expected: bool) -> None:
    without_entities = [Sentence(("he", "wrote"), id=f"x{number}") for number in range(100)]
    gold = [*without_entities, *(Sentence(tuple(text.split()), (entity,), id=str(number)) for number in range(6))]
    assert are_names("bundled-ner", Corpus(gold)) == expected
