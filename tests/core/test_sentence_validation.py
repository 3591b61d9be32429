"""Sentences cannot be built invalid."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery.core.errors import DataError
from nersery.core.sentence import Entity, Origin, Sentence, SoftLabel
from nersery.core.sentence_validation import edit_issue, identity_issue


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "at least one word"),
        (("",), "word 0 is empty"),
        (("a", ""), "word 1 is empty"),
        (("", "a"), "word 0 is empty"),
        (("a", "", "b"), "word 1 is empty"),
        (("a", "b\tc"), "word 1 is 'b\\\\tc'"),
        (("a\nb",), "word 0"),
        (("a\r",), "word 0"),
        ((" a",), "word 0"),
        (("a ", "b"), "word 0"),
        (("a", " b"), "word 1"),
        (("a", "b "), "word 1"),
        ((" ",), "word 0"),
        (("\ud800",), "lone surrogate"),
        (("a", 1), "word 1 is 1, expected a string"),
        (("a", None), "word 1 is None, expected a string"),
        ("abc", r"words is the string 'abc', expected a sequence of words, such as text\.split\(\)"),
        (("a", "b\x00c"), r"word 1 is 'b\\x00c': it holds the control character U\+0000$"),
        (("\x85",), r"word 0 is '\\x85': it holds the control character U\+0085$"),
        (("a", "b", "\x1b[1m", "\x07"), r"word 2 is .*U\+001B$"),
        (("New York", "a\x7f"), r"word 1 is .*U\+007F$"),
        (("aX", "b\tc"), "word 1 is 'b\\\\tc'"),
        (("a\x00", ""), "word 1 is empty"),
    ],
)
def test_refuses_invalid_words(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Sentence(words, id="x")


@pytest.mark.parametrize("kind", [tuple, list, iter])
@pytest.mark.parametrize("wrong", [(0, 1, "X"), "X", None], ids=str)
def test_reports_an_object_that_is_not_an_entity(wrong: Any, kind: Any) -> None:
    message = f"sentence x: entity 1 is {wrong!r}, expected an Entity"
    with pytest.raises(DataError, match=re.escape(message)):
        Sentence(("a", "b"), kind((Entity(0, 1, "X"), wrong)), id="x")


@given(st.lists(st.text("a \n\t\r\u2028", max_size=3), min_size=1, max_size=4))
def test_quick_check_of_all_words_agrees_with_a_check_of_each(words: list[str]) -> None:
    sound = all(word and word == word.strip(" ") and not set(word) & set("\t\n\r") for word in words)
    try:
        Sentence(tuple(words))
    except DataError:
        assert not sound
    else:
        assert sound


@pytest.mark.parametrize("word", ["New York", "\u00a0", "\u3000", "\u200b", "\u2028", "#", "क्\u200dष"])
def test_every_other_string_is_a_word(word: str) -> None:
    assert Sentence((word, word)).words == (word, word)


@pytest.mark.parametrize(
    ("entities", "message"),
    [
        ([(0, 0, "X")], "does not lie within the 3 words"),
        ([(2, 1, "X")], "does not lie within"),
        ([(-1, 1, "X")], "does not lie within"),
        ([(2, 4, "X")], "does not lie within"),
        ([(0, 2, "X"), (1, 3, "Y")], r"\[1, 3\) Y overlaps"),
        ([(0, 1, "X"), (0, 1, "X")], "overlaps"),
        ([(0, 1, "")], "type"),
        ([(0, 1, " X")], "type"),
        ([(0, 1, "X\u3000")], "type"),
        ([(0, 1, "X\tY")], "type"),
        ([(0, 1, "X\nY")], r"not 'X\\nY'$"),
        ([(0, 1, "X\rY")], r"not 'X\\rY'$"),
        ([(0, 1, "X", "high")], r"\[0, 1\) X: its score is 'high', not a number"),
        ([(0, 1, "X", True)], "its score is True"),
    ],
)
def test_refuses_invalid_entities(entities: list[tuple[Any, ...]], message: str) -> None:
    with pytest.raises(DataError, match=f"sentence x: .*{message}"):
        Sentence(("a", "b", "c"), tuple(Entity(*entity) for entity in entities), id="x")


def test_entities_come_in_the_order_of_the_words() -> None:
    sentence = Sentence(("a", "b", "c"), (Entity(2, 3, "Y"), Entity(0, 1, "X", 0.5)))
    assert sentence.labels == ((0, 1, "X"), (2, 3, "Y"))
    assert sentence.entities[0].score == 0.5


@pytest.mark.parametrize(
    ("words", "entities", "message"),
    [
        (("a",), (), None),
        (("a",), (Entity(0, 1, "X"),), None),
        (("a", ""), (), "word 1 is empty"),
        (("a", ""), (Entity(0, 3, "X"),), "word 1 is empty"),
        (("a",), (Entity(0, 2, "X"),), "entity [0, 2) X does not lie within the 1 words"),
    ],
)
def test_validates_edited_words_and_entities(
    words: tuple[str, ...], entities: tuple[Entity, ...], message: str | None
) -> None:
    assert edit_issue(words, entities) == message


@pytest.mark.parametrize(
    ("id", "origin", "message"),
    [
        ("a~1", Origin("x", ("a",), 1), None),
        (
            7,
            Origin("x"),
            "an id, language, document, comment, name of a score, or part of an origin is 7, expected a string",
        ),
        ("a~1", Origin("x", (), 0.5), "the copy of an origin is 0.5, not a whole number"),  # type: ignore[arg-type]
        ("a~1", Origin("x", ["a"]), "the parents of an origin must be a tuple, got ['a']"),  # type: ignore[arg-type]
    ],
)
def test_validates_id_and_origin_of_a_generated_sentence(id: Any, origin: Origin, message: str | None) -> None:
    assert identity_issue(id, origin) == message


def test_accepts_lists_for_words_and_entities() -> None:
    sentence = Sentence(["a"], [Entity(0, 1, "X")])  # type: ignore[arg-type]
    assert sentence == Sentence(("a",), (Entity(0, 1, "X"),))
    assert hash(sentence) == hash(Sentence(("a",), (Entity(0, 1, "X"),), scores={"x": 1}))


def test_accepts_lists_for_all_other_parts() -> None:
    parts: dict[str, Any] = {"columns": [["b"]], "comments": ["# c"], "origin": Origin("x", ["p"])}  # type: ignore[arg-type]
    sentence = Sentence(("a",), **parts)
    expected = Sentence(("a",), columns=(("b",),), comments=("# c",), origin=Origin("x", ("p",)))
    assert sentence == expected
    assert hash(sentence) == hash(expected)
    assert type(sentence.origin.parents) is tuple if sentence.origin else False


def test_columns_must_fit_the_words() -> None:
    with pytest.raises(DataError, match="an extra column does not have 2 values"):
        Sentence(("a", "b"), columns=(("x", "y"), ("x",)))


@pytest.mark.parametrize("value", ["a\tb", "a\n", "\ra"])
def test_refuses_tabs_and_line_breaks_in_a_column(value: str) -> None:
    with pytest.raises(DataError, match="an extra column has a tab or line break"):
        Sentence(("a", "b"), columns=(("", value),))


@pytest.mark.parametrize(
    "parts",
    [
        {"id": "\ud800"},
        {"language": "\ud800"},
        {"entities": (Entity(0, 1, "\ud800"),)},
        {"origin": Origin("\ud800")},
        {"origin": Origin("x", ("\ud800",))},
        {"scores": {"\ud800": 1.0}},
        {"columns": (("\ud800",),)},
        {"comments": ("# \ud800",)},
    ],
)
def test_no_text_holds_half_a_surrogate_pair(parts: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="holds a lone surrogate"):
        Sentence(("a",), **parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"comments": ("# a\nb",)}, "line break"),
        ({"comments": ("# a\rb",)}, "line break"),
        ({"id": 7}, "is 7, expected a string"),
        ({"scores": {"x": "high"}}, "the score x is 'high', not a number"),
        ({"scores": ["x"]}, "scores must be numbers by name"),
        ({"origin": Origin("x", (), 0.5)}, "the copy of an origin is 0.5"),  # type: ignore[arg-type]
        ({"origin": Origin("x", None)}, "is None, expected a string"),  # type: ignore[arg-type]
        ({"origin": Origin("x", (7,))}, "is 7, expected a string"),  # type: ignore[arg-type]
        ({"columns": ((7,),)}, "every value of an extra column must be a string"),
        ({"entities": (Entity(0.0, 1.0, "X"),)}, "must be whole numbers"),  # type: ignore[arg-type]
        ({"entities": (Entity(0, 1, None),)}, "its type a string"),  # type: ignore[arg-type]
    ],
)
def test_refuses_invalid_parts(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Sentence(("a",), **parts)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([(True, "X", 0.1, 0.1)], "the word of SoftLabel.* must be a whole number, and its type a string"),
        ([("0", "X", 0.1, 0.1)], "must be a whole number"),
        ([(0, 7, 0.1, 0.1)], "its type a string"),
        ([(0, "\ud800", 0.1, 0.1)], "its type a string"),
        ([(-1, "X", 0.1, 0.1)], "is outside the 2 words"),
        ([(2, "X", 0.1, 0.1)], "is outside the 2 words"),
        ([(0, "", 0.1, 0.1)], "a type is a name"),
        ([(0, " X", 0.1, 0.1)], "a type is a name"),
        ([(0, "X", 1.5, 0.0)], r"expected probabilities in \[0, 1\]"),
        ([(0, "X", 0.0, -0.1)], r"expected probabilities in \[0, 1\]"),
        ([(0, "X", True, 0.0)], r"expected probabilities in \[0, 1\]"),
        ([(0, "X", 0.5, None)], r"expected probabilities in \[0, 1\]"),
        ([(0, "X", 0.6, 0.6)], "soft labels of word 0 have probabilities that add up to 1.2, more than 1"),
        ([(0, "X", 0.2, 0.1), (1, "X", 0.5, 0.2), (1, "Y", 0.3, 0.1)], "of word 1 .* add up to 1.1,"),
        ([(0, "X", 0.5, 0.52)], "add up to 1.02,"),
    ],
)
def test_refuses_invalid_soft_labels(labels: list[tuple[Any, ...]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Sentence(("a", "b"), soft_labels=tuple(SoftLabel(*label) for label in labels))


def test_sorts_soft_labels_and_accepts_rounded_ones() -> None:
    labels = (SoftLabel(0, "X", 0, 1), SoftLabel(1, "X", 0.5, 0.25), SoftLabel(1, "Y", 0.2, 0.058))
    assert Sentence(("a", "b"), soft_labels=labels[::-1]).soft_labels == labels


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        (((0, 1),), "there are 1 offsets and 2 words"),
        (((0, 1), (1, 2), (2, 3)), "there are 3 offsets and 2 words"),
        (((0, 1), (2, True)), r"\(2, True\) is not a pair"),
        (((0, 1), ("2", 3)), "is not a pair"),
        (((0, 1), (2,)), r"\(2,\) is not a pair"),
        (((0, 1), (2, 3, 4)), "is not a pair"),
        (((-1, 1), (1, 2)), r"\(-1, 1\) is empty or overlaps"),
        (((0, 1), (1, 1)), r"\(1, 1\) is empty or overlaps"),
        (((0, 2), (1, 3)), r"\(1, 3\) is empty or overlaps"),
        (((5, 6), (1_000_005, 1_000_006)), "span 1,000,001 characters, expected at most 1,000,000"),
    ],
)
def test_refuses_invalid_offsets(offsets: tuple[Any, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Sentence(("a", "b"), offsets=offsets)


@pytest.mark.parametrize("offsets", [((0, 1), (1, 2)), ((5, 6), (1_000_004, 1_000_005))])
def test_offsets_may_touch_and_may_be_far_apart(offsets: tuple[tuple[int, int], ...]) -> None:
    assert Sentence(("a", "b"), offsets=offsets).offsets == offsets
    assert Sentence(("a", "b"), offsets=[[np.int64(at) for at in pair] for pair in offsets]).offsets == offsets  # type: ignore[arg-type]


def test_converts_numpy_scores_to_plain_numbers() -> None:
    sentence = Sentence(("a",), (Entity(0, 1, "X", np.float32(0.5)),), scores={"s": np.float32(0.25), "n": np.int64(2)})  # type: ignore[arg-type]
    assert (sentence.entities[0].score, sentence.scores) == (0.5, {"s": 0.25, "n": 2})
    assert {type(sentence.entities[0].score), *map(type, sentence.scores.values())} == {float, int}


def test_converts_integer_like_objects_to_plain_numbers() -> None:
    class Number:
        """A whole number, but no int."""

        def __init__(self, value: int) -> None:
            self.value = value

        def __index__(self) -> int:
            return self.value

    (entity,) = Sentence(("a",), (Entity(Number(0), Number(1), "X", 0.5),)).entities  # type: ignore[arg-type]
    assert (entity.start, entity.end, entity.score) == (0, 1, 0.5)
    assert {type(entity.start), type(entity.end)} == {int}
