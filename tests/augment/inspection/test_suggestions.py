from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from nersery import Corpus, Entity, Sentence
from nersery.augment.base import Suggester
from nersery.augment.inspection.suggestions import (
    Suggestion,
    blanks_of,
    choose_sentences,
    compare_suggestions,
    create_suggester,
    suggester_names,
    suggestions,
)
from nersery.core import registry
from nersery.core.errors import DataError, SettingsError, UnfittedError
from nersery.core.training_context import Training
from tests.evaluate.test_novelty import oracle_of, sentence
from tests.standins import sentences

CORPUS = Corpus(
    [sentence("nobody came"), sentence("[Rock & Roll|CW] lives in [Oslo|LOC]"), sentence("[!!!|GRP] met [Ada|PER]")]
)
ROCK, OSLO, SIGNS, ADA = blanks_of(CORPUS)


class Listing:
    """Suggests the position and the rank as words."""

    def suggest(self, sentences: Sequence[Sentence], positions: Sequence[Sequence[int]], top_k: int) -> Any:
        ranks = range(1, top_k + 1)
        return [[[(f"{position}.{rank}", 0.5**rank) for rank in ranks] for position in at] for at in positions]


# --- blanks ---------------------------------------------------------------------------------------------------------


def test_words_without_letter_or_digit_are_not_hidden():
    assert [blank.positions for blank in (ROCK, OSLO, SIGNS, ADA)] == [(0, 2), (5,), (), (2,)]
    assert blanks_of([sentence("[दिल्ली ।|LOC] [२०२४|DATE] [👩‍👩‍👧|X]")])[0].positions == (0,)
    assert [b.positions for b in blanks_of([sentence("[۲|A] [हाँ|B] [東京|C] [👩‍👩‍👧|D]")])] == [(0,), (1,), (2,), ()]


def test_suggestions_are_whole_mentions_by_rank():
    made = suggestions(Listing(), [ROCK, SIGNS, OSLO], 2)
    assert made == [
        [Suggestion(("0.1", "&", "2.1"), (0.5, 0.5)), Suggestion(("0.2", "&", "2.2"), (0.25, 0.25))],
        [],
        [Suggestion(("5.1",), (0.5,)), Suggestion(("5.2",), (0.25,))],
    ]
    assert made[0][1].probability == 0.0625


def test_nothing_is_suggested_if_there_is_nothing_to_hide():
    assert suggestions(Listing(), [SIGNS], 3) == [[]]
    assert suggestions(Listing(), [], 3) == []


# --- comparing ------------------------------------------------------------------------------------------------------


def test_the_oracle_judges_borders_and_type():
    oracle = oracle_of("[0.1 & 2.1|CW]", "[0.2 &|CW]", "[5.1|PER]", "[lives|LOC]", "[Oslo|LOC]")
    blanks = [ROCK, OSLO, SIGNS]
    comparison = compare_suggestions(blanks, {"a": suggestions(Listing(), blanks, 2)}, oracle)
    verdicts = [
        [comparison.verdict(b, s.words) for s in made] for b, made in zip(blanks, comparison.columns["a"], strict=True)
    ]
    assert verdicts == [["CW", None], ["PER", None], []]
    assert comparison.verdict(OSLO, ("Oslo",)) == "LOC"
    assert comparison.agreeing("a") == (1, 4)


def test_a_comparison_can_be_written_as_json():
    described = compare_suggestions(
        [ROCK, OSLO], {"a": suggestions(Listing(), [ROCK, OSLO], 1)}, oracle_of("[5.1|LOC]")
    ).as_dict()
    (one,) = described["sentences"]
    assert (one["id"], one["words"]) == (ROCK.sentence.id, list(ROCK.sentence.words))
    assert one["mentions"][0] == {
        "start": 0, "end": 3, "type": "CW", "words": ["Rock", "&", "Roll"], "hidden": [0, 2], "oracle": None,
        "agrees": False, "suggestions": {"a": [{"words": ["0.1", "&", "2.1"], "probability": 0.25,
                                                "probabilities": [0.5, 0.5], "oracle": None, "agrees": False}]},
    }  # fmt: skip
    assert one["mentions"][1]["suggestions"]["a"][0]["agrees"]


def test_without_an_oracle_nothing_is_judged():
    comparison = compare_suggestions([OSLO], {"a": suggestions(Listing(), [OSLO], 1)})
    assert comparison.verdicts == {}
    assert comparison.as_dict()["sentences"][0]["mentions"][0].keys() == {
        "start", "end", "type", "words", "hidden", "suggestions",
    }  # fmt: skip


def test_the_same_words_in_two_mentions_are_judged_separately():
    same = Sentence(("Lima", "Lima"), (Entity(0, 1, "LOC"), Entity(1, 2, "PER")), id="1")
    blanks = blanks_of([same])
    comparison = compare_suggestions(blanks, {}, oracle_of("[Lima|LOC]"))
    assert [comparison.verdict(blank, ("Lima",)) == blank.entity.type for blank in blanks] == [True, False]


# --- choosing sentences ---------------------------------------------------------------------------------------------


def test_chooses_the_first_sentences_with_an_entity():
    assert [s.id for s in choose_sentences(CORPUS, [], 1, "f")] == ["2"]
    assert [s.id for s in choose_sentences(CORPUS, [], 9, "f")] == ["2", "3"]


def test_chooses_by_id_in_the_given_order():
    assert [s.id for s in choose_sentences(CORPUS, ["3", "2", "3"], 1, "f")] == ["3", "2"]


def test_all_ids_that_cannot_be_shown_are_reported_together():
    corpus = Corpus(Sentence(("a",), (Entity(0, 1, "A"),) if n else (), id=f"train:{n}") for n in range(30))
    with pytest.raises(SettingsError) as error:
        choose_sentences(corpus, ["train:0", "tran:7", "train:3"], 1, "f")
    first, second = str(error.value).split("\n")
    assert first == 'the sentence "train:0" has no entity, so there is nothing to guess; e.g. "train:1" has one'
    assert second.startswith('no sentence has the id "tran:7"; did you mean "train:7"? Known: train:7, ')
    assert second.endswith(" …")
    assert second.count("train:") == 9
    with pytest.raises(SettingsError, match=r"known: train:1, train:2, .*, train:8 …$"):
        choose_sentences(corpus, ["zzzz"], 1, "f")


def test_refuses_a_file_without_entities():
    with pytest.raises(DataError, match=r"f: no sentence of 1 has an entity[^\n]*\nFix: .*`tag_column`"):
        choose_sentences(Corpus([sentence("nobody came")]), [], 1, "f")


# --- methods --------------------------------------------------------------------------------------------------------


def test_the_error_of_a_method_without_suggestions_names_those_with():
    assert {"masked_entity", "melm"} <= set(suggester_names())
    with pytest.raises(SettingsError, match=r"^mention_replacement cannot suggest words.*Methods that do:.* melm"):
        create_suggester("mention_replacement", {})
    with pytest.raises(SettingsError, match=r"^code_mixing cannot suggest words"):  # not that it lacks a setting
        create_suggester("code_mixing", {})
    with pytest.raises(SettingsError, match='did you mean "melm"'):
        create_suggester("mlem", {})


def on(model: str, name: str, **settings: Any) -> Any:
    """Create a method on a tiny model, which learns little and has no room for long definitions."""
    known = {field.name for field in dataclasses.fields(registry.get("augment", name))}
    short = {"epochs": 1, "definitions": {"PER": "named person", "LOC": "place", "PROD": "type"}}
    return create_suggester(name, {"model": model, **{key: short[key] for key in short.keys() & known}, **settings})


@pytest.mark.parametrize("name", suggester_names())
class TestMethods:
    """Requirements for every method with `suggest`."""

    def test_each_position_has_its_words_with_the_best_first(self, name: str, tiny_masked_lm: str):
        method = on(tiny_masked_lm, name)
        assert isinstance(method, Suggester)
        method.fit(sentences(8), Training(seed=1))
        corpus = sentences(6, 30)
        blanks = blanks_of(corpus)
        made = method.suggest([b.sentence for b in blanks], [b.positions for b in blanks], 4)
        assert [len(positions) for positions in made] == [len(blank.positions) for blank in blanks]
        for guesses in (guesses for positions in made for guesses in positions):
            assert len({word for word, _ in guesses}) == 4
            chances = [chance for _, chance in guesses]
            assert chances == sorted(chances, reverse=True)
            assert 0 < sum(chances) < 1
        more = method.suggest([blanks[0].sentence], [blanks[0].positions], 6)
        assert [guesses[:4] for guesses in more[0]] == made[0]

    def test_hidden_words_do_not_affect_suggestions(self, name: str, tiny_masked_lm: str):
        method = on(tiny_masked_lm, name)
        method.fit(sentences(8))
        first = sentence("[Grace Hopper|PER] wrote a program in [Boston|LOC]")
        other = first.replace_span(0, 2, ["Linus", "Oslo"])
        assert method.suggest([first], [(0, 1)], 5) == method.suggest([other], [(0, 1)], 5)
        seen = first.replace_span(6, 7, ["Oslo"])
        assert method.suggest([first], [(0, 1)], 5) != method.suggest([seen], [(0, 1)], 5)

    def test_suggests_words_for_a_type_that_is_not_in_gold(self, name: str, tiny_masked_lm: str):
        method = on(tiny_masked_lm, name)
        method.fit(sentences(8))
        assert len(method.suggest([sentence("the [wrote|PROD] came")], [(1,)], 3)[0][0]) == 3

    def test_refuses_to_suggest_before_fit(self, name: str, tiny_masked_lm: str):
        with pytest.raises(UnfittedError, match="is not fitted"):
            on(tiny_masked_lm, name).suggest([OSLO.sentence], [OSLO.positions], 1)


@pytest.mark.parametrize(("settings", "uses_type"), [({}, True), ({"linearize": False}, False)])
def test_melm_uses_the_type_if_it_linearizes(settings: dict[str, Any], uses_type: bool, tiny_masked_lm: str):
    method = on(tiny_masked_lm, "melm", **settings)
    method.fit(sentences(8))
    as_place = sentence("[Lima|LOC] won")
    as_person = as_place.with_entities([Entity(0, 1, "PER")])
    differ = method.suggest([as_place], [(0,)], 5) != method.suggest([as_person], [(0,)], 5)
    assert differ == uses_type
