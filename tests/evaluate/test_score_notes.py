"""Notes on files whose scores may be low for other reasons than a poor tagger."""

from __future__ import annotations

import pytest

from nersery.evaluate.score_notes import note_of_scores
from nersery.evaluate.scores import Counts, Scores

RENAME = "; if two mean the same, rename them: nersery dataset convert --type OLD=NEW"


def note(gold: dict[str, int], predicted: dict[str, int]) -> str:
    """The note on files with so many entities of each type."""
    types = sorted({*gold, *predicted})
    scores = Scores({type_: Counts(0, predicted.get(type_, 0), gold.get(type_, 0)) for type_ in types})
    return note_of_scores(scores.as_dict(), "g.conll", "p.conll")


@pytest.mark.parametrize("name", ["per", "Person", "PERS", "HUMAN"])
def test_names_a_type_with_another_spelling(name: str) -> None:
    assert note({"PER": 6, "LOC": 3}, {name: 5, "LOC": 3}) == (
        f"types that only one file has count as errors: PER (6) in g.conll, {name} (5) in p.conll{RENAME}"
        " (an empty NEW leaves one out)"
    )


def test_names_a_rare_type_with_the_same_beginning() -> None:
    assert "PERSON (1) in p.conll" in note({"PER": 1, "LOC": 3}, {"PERSON": 1, "LOC": 3})
    assert not note({"EVENT": 1, "LOC": 3}, {"PRODUCT": 1, "LOC": 3}), "both are rare, and merely missed or wrong"


def test_names_a_type_missing_in_gold_unless_it_is_rare() -> None:
    assert "errors: DATE (5) in p.conll" in note({"LOC": 3}, {"LOC": 3, "DATE": 5})
    assert not note({"LOC": 3}, {"LOC": 3, "DATE": 4})


@pytest.mark.parametrize("count", [1, 9])
def test_types_that_predictions_merely_miss_are_not_named(count: int) -> None:
    assert not note({"LOC": 3, "PER": count}, {"LOC": 3})
    assert not note({"PER": 3, "PERpart": count}, {"PER": 3})


def test_types_that_both_have_are_not_named() -> None:
    assert not note({"LOC": 3, "PER": 2}, {"LOC": 1, "PER": 9})


def test_names_files_without_a_common_type_or_without_entities() -> None:
    assert note({"PER": 1}, {"LOC": 1}) == f"no type is in both g.conll and p.conll{RENAME}"
    assert note({}, {}) == "neither g.conll nor p.conll has an entity, so there is nothing to score"
    for gold, predicted, empty in (({"PER": 1}, {}, "p.conll"), ({}, {"PER": 1}, "g.conll")):
        expected = f"no sentence of {empty} has an entity, so F1 is 0: expected labels in both files"
        assert note(gold, predicted) == expected
