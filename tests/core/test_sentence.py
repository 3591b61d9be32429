"""The nouns: they cannot be built invalid, and editing text moves the labels with their words."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery.core.errors import DataError, Issue, printable
from nersery.core.sentence import UNKNOWN_COLUMN, Corpus, Entity, Origin, Sentence, SoftLabel
from tests.io.strategies import sentences


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
        (("a", 1), "every word must be a string"),
        (("a", None), "every word must be a string"),
        ("abc", r"words is a string, expected a sequence of words, such as 'abc'\.split\(\)"),
    ],
)
def test_words_that_cannot_be(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Sentence(words, id="x")


@pytest.mark.parametrize("kind", [tuple, list, iter])
@pytest.mark.parametrize("wrong", [(0, 1, "X"), "X", None], ids=str)
def test_what_is_no_entity_is_named(wrong: Any, kind: Any) -> None:
    message = f"sentence x: entity 1 is {wrong!r}, expected an Entity"
    with pytest.raises(DataError, match=re.escape(message)):
        Sentence(("a", "b"), kind((Entity(0, 1, "X"), wrong)), id="x")


@given(st.lists(st.text("a \n\t\r\u2028", max_size=3), min_size=1, max_size=4))
def test_the_quick_look_at_all_words_sees_what_a_look_at_each_would(words: list[str]) -> None:
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
        ([(0, 1, "X", "high")], r"\[0, 1\) X: its score is 'high', not a number"),
        ([(0, 1, "X", True)], "its score is True"),
    ],
)
def test_entities_that_cannot_be(entities: list[tuple[Any, ...]], message: str) -> None:
    with pytest.raises(DataError, match=f"sentence x: .*{message}"):
        Sentence(("a", "b", "c"), tuple(Entity(*entity) for entity in entities), id="x")


def test_entities_come_in_the_order_of_the_words() -> None:
    sentence = Sentence(("a", "b", "c"), (Entity(2, 3, "Y"), Entity(0, 1, "X", 0.5)))
    assert sentence.labels == ((0, 1, "X"), (2, 3, "Y"))
    assert sentence.entities[0].score == 0.5


def test_lists_are_taken_for_words_and_entities() -> None:
    sentence = Sentence(["a"], [Entity(0, 1, "X")])  # type: ignore[arg-type]
    assert sentence == Sentence(("a",), (Entity(0, 1, "X"),))
    assert hash(sentence) == hash(Sentence(("a",), (Entity(0, 1, "X"),), scores={"x": 1}))


def test_lists_are_taken_for_everything_else_too() -> None:
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
def test_a_value_of_a_column_has_no_tab_and_no_line_break(value: str) -> None:
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
        ({"id": 7}, "is no string"),
        ({"scores": {"x": "high"}}, "the score x is 'high', not a number"),
        ({"scores": ["x"]}, "scores must be numbers by name"),
        ({"origin": Origin("x", (), 0.5)}, "the copy of an origin is 0.5"),  # type: ignore[arg-type]
        ({"origin": Origin("x", None)}, "is no string"),  # type: ignore[arg-type]
        ({"origin": Origin("x", (7,))}, "is no string"),  # type: ignore[arg-type]
        ({"columns": ((7,),)}, "every value of an extra column must be a string"),
        ({"entities": (Entity(0.0, 1.0, "X"),)}, "must be whole numbers"),  # type: ignore[arg-type]
        ({"entities": (Entity(0, 1, None),)}, "its type a string"),  # type: ignore[arg-type]
    ],
)
def test_parts_that_cannot_be(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Sentence(("a",), **parts)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([(True, "X", 0.1, 0.1)], "the word of SoftLabel.* must be a whole number, and its type a string"),
        ([("0", "X", 0.1, 0.1)], "must be a whole number"),
        ([(0, 7, 0.1, 0.1)], "its type a string"),
        ([(0, "\ud800", 0.1, 0.1)], "its type a string"),
        ([(-1, "X", 0.1, 0.1)], "is not at one of the 2 words"),
        ([(2, "X", 0.1, 0.1)], "is not at one of the 2 words"),
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
def test_soft_labels_that_cannot_be(labels: list[tuple[Any, ...]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Sentence(("a", "b"), soft_labels=tuple(SoftLabel(*label) for label in labels))


def test_soft_labels_come_in_the_order_of_the_words_and_may_be_rounded() -> None:
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
def test_offsets_that_cannot_be(offsets: tuple[Any, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Sentence(("a", "b"), offsets=offsets)


@pytest.mark.parametrize("offsets", [((0, 1), (1, 2)), ((5, 6), (1_000_004, 1_000_005))])
def test_offsets_may_touch_and_may_be_far_apart(offsets: tuple[tuple[int, int], ...]) -> None:
    assert Sentence(("a", "b"), offsets=offsets).offsets == offsets
    assert Sentence(("a", "b"), offsets=[[np.int64(at) for at in pair] for pair in offsets]).offsets == offsets  # type: ignore[arg-type]


def test_scores_of_numpy_become_plain_ones() -> None:
    sentence = Sentence(("a",), (Entity(0, 1, "X", np.float32(0.5)),), scores={"s": np.float32(0.25), "n": np.int64(2)})  # type: ignore[arg-type]
    assert (sentence.entities[0].score, sentence.scores) == (0.5, {"s": 0.25, "n": 2})
    assert {type(sentence.entities[0].score), *map(type, sentence.scores.values())} == {float, int}


def test_numbers_like_those_of_numpy_become_plain_ones() -> None:
    class Number:
        """A whole number, but no int."""

        def __init__(self, value: int) -> None:
            self.value = value

        def __index__(self) -> int:
            return self.value

    (entity,) = Sentence(("a",), (Entity(Number(0), Number(1), "X", 0.5),)).entities  # type: ignore[arg-type]
    assert (entity.start, entity.end, entity.score) == (0, 1, 0.5)
    assert {type(entity.start), type(entity.end)} == {int}


def test_sentences_do_not_change() -> None:
    sentence = Sentence(("a",))
    with pytest.raises(FrozenInstanceError):
        sentence.id = "x"  # type: ignore[misc]
    assert sentence.with_scores(certainty=1.0).with_scores(certainty=0.5, other=2).scores == {
        "certainty": 0.5,
        "other": 2,
    }
    assert sentence.scores == {}
    assert sentence.with_entities([Entity(0, 1, "X")]).labels == ((0, 1, "X"),)


def test_views() -> None:
    sentence = Sentence(("in", "New York", "City"), (Entity(1, 3, "LOC"),))
    assert (len(sentence), sentence.text) == (3, "in New York City")
    assert sentence.mention(sentence.entities[0]) == ("New York", "City")


def test_types_are_renamed_in_soft_labels_too() -> None:
    soft = (SoftLabel(0, "A", 0.1, 0.0), SoftLabel(0, "B", 0.2, 0.0), SoftLabel(1, "C", 0.3, 0.0))
    sentence = Sentence(("a", "b"), (Entity(0, 1, "A", 0.5), Entity(1, 2, "C")), "1", soft_labels=soft)
    renamed = sentence.with_types({"A": "Z", "C": ""})
    assert renamed.soft_labels == (SoftLabel(0, "B", 0.2, 0.0), SoftLabel(0, "Z", 0.1, 0.0))
    assert (renamed.entities, renamed.entities[0].score, renamed.id) == ((Entity(0, 1, "Z"),), 0.5, "1")
    assert sentence.with_types({}) == sentence


def test_places_of_words_and_entities() -> None:
    plain = Sentence(("in", "New York", "on", "Sunday"), (Entity(1, 2, "LOC"), Entity(2, 4, "TIME")))
    assert plain.places == ((0, 2), (3, 11), (12, 14), (15, 21))
    assert plain.spans == ((3, 11, "LOC"), (12, 21, "TIME"))
    assert [plain.text[start:end] for start, end in plain.places] == list(plain.words)
    assert (plain.inside, plain.outside) == ({1, 2, 3}, [0])
    known = Sentence(("a", "b"), (Entity(0, 2, "X"),), offsets=((7, 8), (10, 11)))
    assert (known.places, known.spans) == (((7, 8), (10, 11)), ((7, 11, "X"),))


def test_reordered_words_take_their_columns_along_and_all_else_stays() -> None:
    sentence = Sentence(
        ("a", "b", "c"), (Entity(0, 2, "X", 0.5),), "1", "en", Origin("m"), {"s": 1.0},
        (("1", "2", "3"), ("x", "y", "z")), ("# c",), (SoftLabel(1, "X", 0.1, 0.0),), "d", ((0, 1), (2, 3), (4, 5)),
    )  # fmt: skip
    moved = sentence.reordered([2, 0, 1])
    assert (moved.words, moved.columns) == (("c", "a", "b"), (("3", "1", "2"), ("z", "x", "y")))
    kept = [field.name for field in fields(sentence) if field.name not in ("words", "columns")]
    assert [getattr(moved, name) for name in kept] == [getattr(sentence, name) for name in kept]


def test_edited_words_have_no_place_in_the_document_any_more() -> None:
    sentence = Sentence(
        ("a", "b"), (Entity(0, 1, "X", 0.5),), "1", "en", Origin("m"), {"s": 1.0}, (), ("# c",),
        (SoftLabel(1, "X", 0.1, 0.0),), "d", ((0, 1), (2, 3)),
    )  # fmt: skip
    edited = sentence.replace_span(1, 2, ["c"])
    assert (edited.document, edited.offsets, edited.soft_labels) == ("", (), ())
    kept = ("entities", "id", "language", "origin", "scores", "columns", "comments")
    assert [getattr(edited, name) for name in kept] == [getattr(sentence, name) for name in kept]
    same = sentence.replace_spans([])
    assert (same.document, same.offsets, same.soft_labels) == ("d", ((0, 1), (2, 3)), ())
    assert sentence.with_entities([Entity(1, 2, "Y")]).soft_labels == ()
    with pytest.raises(DataError, match=r"sentence 1: cannot edit words \[1, 3\)"):
        sentence.replace_span(1, 3, ["c"])
    with pytest.raises(DataError, match=r"^sentence 2: cannot edit words \[0, 2\): they cut through the entity"):
        Sentence(("a", "b", "c"), (Entity(1, 2, "X"),), "2").replace_span(0, 2, ["c"])
    with pytest.raises(DataError, match=r"^cannot edit words \[0, 2\): they cut through the entity \[0, 1\) X"):
        Sentence(("a", "b"), (Entity(0, 1, "X"),)).replace_span(0, 2, ["c"])


PARENT = Sentence(
    ("a", "b", "c", "d", "e"), (Entity(1, 3, "X", 0.5), Entity(4, 5, "Y")), columns=(("1", "2", "3", "4", "5"),)
)


@pytest.mark.parametrize(
    ("start", "end", "words", "text", "entities"),
    [
        (1, 3, ["x"], "a x d e", ((1, 2, "X"), (3, 4, "Y"))),
        (1, 3, ["x", "y", "z"], "a x y z d e", ((1, 4, "X"), (5, 6, "Y"))),
        (2, 3, ["x", "y"], "a b x y d e", ((1, 4, "X"), (5, 6, "Y"))),
        (0, 1, [], "b c d e", ((0, 2, "X"), (3, 4, "Y"))),
        (3, 4, ["x", "y"], "a b c x y e", ((1, 3, "X"), (5, 6, "Y"))),
        (0, 4, ["x"], None, None),
        (1, 1, ["x"], "a x b c d e", ((2, 4, "X"), (5, 6, "Y"))),
        (2, 2, ["x"], "a b x c d e", ((1, 4, "X"), (5, 6, "Y"))),
        (3, 3, ["x"], "a b c x d e", ((1, 3, "X"), (5, 6, "Y"))),
        (5, 5, ["x"], "a b c d e x", ((1, 3, "X"), (4, 5, "Y"))),
        (0, 2, ["x"], None, None),
        (2, 4, ["x"], None, None),
        (1, 3, [], None, None),
        (4, 6, ["x"], None, None),
        (-1, 1, ["x"], None, None),
        (0, 1, [""], None, None),
    ],
)
def test_replacing_one_span(
    start: int, end: int, words: list[str], text: str | None, entities: tuple[tuple[int, int, str], ...] | None
) -> None:
    if text is None:
        with pytest.raises(DataError):
            PARENT.replace_span(start, end, words)
        return
    child = PARENT.replace_span(start, end, words)
    assert (child.text, child.labels) == (text, entities)
    assert child.entities[0].score == 0.5
    assert child.columns == ((*PARENT.columns[0][:start], *[UNKNOWN_COLUMN] * len(words), *PARENT.columns[0][end:]),)


def test_a_generated_sentence_has_the_content_and_what_is_said_about_it() -> None:
    origin = Origin("m", ("a",), 2)
    source = Sentence(
        ("Ada", "wrote"), (Entity(0, 1, "PER", 0.5),), "a", "en", scores={"s": 1.0}, columns=(("x", "y"),),
        comments=("# a",), soft_labels=(SoftLabel(1, "PER", 0.1, 0.0),), document="d", offsets=((0, 3), (4, 9)),
    )  # fmt: skip
    made = source.generated("b", origin)
    expected = Sentence(source.words, (Entity(0, 1, "PER"),), "b", "en", origin, columns=source.columns)
    assert made == expected
    assert made.entities[0].score is None
    assert [getattr(made, field.name) for field in fields(made)] == [getattr(expected, f.name) for f in fields(made)]
    for id_, wrong in (("\ud800", origin), ("b", Origin("m", ("\ud800",)))):
        with pytest.raises(DataError, match=f"^{re.escape(f'sentence {printable(id_)}: ')}.* lone surrogate"):
            source.generated(id_, wrong)


def test_without_edits_a_sentence_stays_the_same() -> None:
    plain = Sentence(("a", "b"), offsets=((0, 1), (2, 3)), document="d")
    assert plain.replace_spans([]) is plain
    soft = Sentence(("a",), soft_labels=(SoftLabel(0, "PER", 0.1, 0.0),))
    assert soft.replace_spans([]).soft_labels == ()


def test_edits_of_one_place_come_in_the_order_of_their_ends() -> None:
    insertion, change = (3, 3, ["x"]), (3, 4, ["y"])
    assert PARENT.replace_spans([change, insertion]).text == "a b c x y e"
    assert PARENT.replace_spans([insertion, change]).text == "a b c x y e"


def test_spans_may_not_overlap() -> None:
    with pytest.raises(DataError, match="overlapping"):
        PARENT.replace_spans([(0, 1, ["x"]), (0, 1, ["y"])])


@given(sentences(columns=1), st.data())
def test_after_any_edits_each_word_stands_under_the_label_it_had(sentence: Sentence, data: st.DataObject) -> None:
    """The words say their label themselves, so that a drift shows whatever the edits were."""
    said = [""] * len(sentence)
    for entity in sentence.entities:
        said[entity.start : entity.end] = [entity.type] * (entity.end - entity.start)
    sentence = Sentence(
        tuple(f"{index}.{type_}" for index, type_ in enumerate(said)), sentence.entities, columns=(tuple(said),)
    )
    edits, inserted = [], 0
    for index, type_ in enumerate(said):
        if data.draw(st.booleans()):
            new = [f"new.{type_}"] * data.draw(st.integers(1, 3))
            edits.append((index, index + 1, new))
            inserted += len(new) - 1
    child = sentence.replace_spans(data.draw(st.permutations(edits)))
    labels = [""] * len(child)
    for entity in child.entities:
        for index in range(entity.start, entity.end):
            labels[index] = entity.type
    assert [word.partition(".")[2] for word in child.words] == labels
    assert len(child) == len(sentence) + inserted
    assert [entity.type for entity in child.entities] == [entity.type for entity in sentence.entities]


def test_a_corpus_gives_ids_and_keeps_order() -> None:
    corpus = Corpus([Sentence(("a",)), Sentence(("b",), (Entity(0, 1, "X"),), "x"), Sentence(("c",))])
    assert [sentence.id for sentence in corpus] == ["1", "x", "3"]
    assert corpus.by_id["x"].text == "b"
    assert corpus[1] in corpus
    assert Sentence(("a",), id="x") not in corpus
    assert "x" not in corpus
    assert corpus.types == ("X",)
    assert (len(corpus), corpus[-1].text, corpus[1:].sentences) == (3, "c", corpus.sentences[1:])
    assert corpus[:1] + corpus[1:] == corpus
    assert hash(corpus[:1] + corpus[1:]) == hash(corpus)
    assert repr(corpus) == "Corpus(3 sentences, types: X)"


def test_the_types_of_a_corpus_are_sorted_and_each_is_there_once() -> None:
    names = [f"T{number:02}" for number in range(20)]
    backwards = [Sentence(("a", "b"), (Entity(0, 1, name), Entity(1, 2, "T07"))) for name in reversed(names)]
    assert Corpus(backwards).types == tuple(names)


def test_two_sentences_may_not_share_an_id() -> None:
    with pytest.raises(DataError, match="2 sentences share the id 'x'"):
        Corpus([Sentence(("a",), id="x"), Sentence(("b",), id="x")])
    with pytest.raises(DataError, match="share the id '2'"):
        Corpus([Sentence(("a",), id="2"), Sentence(("b",))])


def test_an_empty_corpus() -> None:
    assert (len(Corpus()), Corpus().types, repr(Corpus())) == (0, (), "Corpus(0 sentences, types: none)")


def test_a_message_says_nothing_to_the_terminal_but_text() -> None:
    error = DataError([Issue("\x1b[2J\nFix: x", "a\r", 7, "\u202eb\x9b")], fix="the folder has a\nb")
    assert str(error) == "a\\r:7 (sentence \\u202eb\\x9b): \\x1b[2J\\nFix: x\nFix: the folder has a\\nb"


@pytest.mark.parametrize("text", ["क्\u200dष", "می\u200cخواهم", "👩\u200d👧", "a\u00a0b\u3000c", "\u200fא", "é"])
def test_a_message_keeps_the_characters_of_every_script(text: str) -> None:
    assert str(Issue(text)) == text


@pytest.mark.parametrize("character", ["\x00", "\x07", "\x1b", "\x1c", "\x7f", "\x85"])
def test_control_characters_are_refused_with_their_place(character: str) -> None:
    with pytest.raises(DataError, match=rf"word 1 is .*the control character U\+{ord(character):04X}"):
        Sentence(("a", f"b{character}c"))
