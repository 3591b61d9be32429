"""Sentences and corpora: edits move the labels with their words."""

from __future__ import annotations

import dataclasses
import pickle
import re
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery.core.errors import DataError, Issue, SettingsError, printable
from nersery.core.outcome import Result, Tally
from nersery.core.sentence import UNKNOWN_COLUMN, Corpus, Entity, Origin, Sentence, SoftLabel, types_in
from tests.io.strategies import sentences


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


def test_an_edited_sentence_is_like_any_other() -> None:
    edited = Sentence(("a", "b"), (Entity(0, 1, "X"),), "1").replace_span(0, 1, ["c"])
    assert type(edited) is Sentence
    assert edited == Sentence(("c", "b"), (Entity(0, 1, "X"),), "1") == pickle.loads(pickle.dumps(edited))
    assert replace(edited, id="2").id == "2"
    with pytest.raises(FrozenInstanceError):
        edited.id = "x"  # type: ignore[misc]


def test_an_order_of_another_length_is_refused() -> None:
    sentence = Sentence(("a", "b"), (Entity(0, 2, "X"),), "1", columns=(("1", "2"),))
    with pytest.raises(DataError, match="expected each of 0 to 1 once"):
        sentence.reordered([0])
    with pytest.raises(DataError, match="expected each of 0 to 1 once"):
        sentence.reordered([])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["\ud800"], "lone surrogate"),
        ([""], "word 1 is empty"),
        ([1], "word 1 is 1, expected a string"),
        (["\t"], "word 1 is"),
    ],
)
def test_edits_with_words_that_no_sentence_can_have_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Sentence(("a", "b"), (Entity(0, 1, "X"),), "1").replace_span(1, 2, words)


def test_edit_positions_may_be_numpy_numbers() -> None:
    edited = Sentence(("a", "b"), (Entity(1, 2, "X"),), "1").replace_span(np.int64(0), np.int64(1), [])
    assert (edited.labels, type(edited.entities[0].start)) == (((0, 1, "X"),), int)


def test_refuses_a_string_as_new_words() -> None:
    """Each character would become a word."""
    with pytest.raises(DataError, match=r"the new words are the string 'Grace', expected a list of words"):
        Sentence(("Ada", "wrote")).replace_span(0, 1, "Grace")


@pytest.mark.parametrize("edits", [None, 3, [3], [()], [("a", 1, ["b"])], [(0, 0.5, ["b"])], [(0, 1, None)]], ids=str)
def test_refuses_edits_of_another_form(edits: Any) -> None:
    with pytest.raises(DataError, match=r"sentence x: the edits are .*, expected \(start, end, \[word, …\]\) for each"):
        Sentence(("Ada", "wrote"), id="x").replace_spans(edits)


@pytest.mark.parametrize("order", [None, 3, "ab", [0, None], [0.0, 1.0]], ids=str)
def test_refuses_an_order_of_another_form(order: Any) -> None:
    with pytest.raises(DataError, match=re.escape(f"the order is {order!r}, expected each of 0 to 1 once")):
        Sentence(("Ada", "wrote")).reordered(order)
    assert Sentence(("Ada", "wrote")).reordered(iter([1, 0])).words == ("wrote", "Ada")  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [None, 3], ids=str)
def test_refuses_other_values_for_entities_types_and_ids(wrong: Any) -> None:
    sentence = Sentence(("Ada", "wrote"), (Entity(0, 1, "PER"),))
    with pytest.raises(DataError, match=f"entities is {wrong}, expected a sequence"):
        sentence.with_entities(wrong)
    with pytest.raises(SettingsError, match=f"the names of types are {{'PER': {wrong}}}, expected new names"):
        sentence.with_types({"PER": wrong})
    with pytest.raises(DataError, match=f"an id, .* is {wrong}, expected a string"):
        sentence.generated(wrong, Origin("m", (), 1))
    with pytest.raises(DataError, match=f"a soft label is {wrong}, expected a SoftLabel"):
        Sentence(("Ada", "wrote"), soft_labels=(wrong,))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"entities": None}, "entities is None, expected a sequence"),
        ({"columns": 5}, "columns is 5, expected a sequence"),
        ({"id": 5}, "an id, .* is 5, expected a string"),
        ({"origin": "melm"}, "origin is 'melm', expected an Origin"),
        ({"scores": 5}, "scores must be numbers by name, got 5"),
    ],
)
def test_reports_a_part_of_the_wrong_type(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Sentence(("Ada",), **parts)


def test_length_text_and_mentions() -> None:
    sentence = Sentence(("in", "New York", "City"), (Entity(1, 3, "LOC"),))
    assert (len(sentence), sentence.text) == (3, "in New York City")
    assert sentence.mention(sentence.entities[0]) == ("New York", "City")


def test_entities_overlap_if_they_share_a_word() -> None:
    one = Entity(1, 3, "PER")
    others = [Entity(0, 1, "X"), Entity(0, 2, "X"), Entity(2, 3, "X"), Entity(0, 5, "X"), Entity(3, 4, "X")]
    assert [one.overlaps(other) for other in others] == [False, True, True, True, False]
    assert [other.overlaps(one) for other in others] == [not {*one.positions}.isdisjoint(o.positions) for o in others]


def test_types_are_renamed_in_soft_labels_too() -> None:
    soft = (SoftLabel(0, "A", 0.1, 0.0), SoftLabel(0, "B", 0.2, 0.0), SoftLabel(1, "C", 0.3, 0.0))
    sentence = Sentence(("a", "b"), (Entity(0, 1, "A", 0.5), Entity(1, 2, "C")), "1", soft_labels=soft)
    renamed = sentence.with_types({"A": "Z", "C": ""})
    assert renamed.soft_labels == (SoftLabel(0, "B", 0.2, 0.0), SoftLabel(0, "Z", 0.1, 0.0))
    assert (renamed.entities, renamed.entities[0].score, renamed.id) == ((Entity(0, 1, "Z"),), 0.5, "1")
    assert sentence.with_types({}) == sentence


def test_characters_of_words_and_entities() -> None:
    plain = Sentence(("in", "New York", "on", "Sunday"), (Entity(1, 2, "LOC"), Entity(2, 4, "TIME")))
    assert plain.character_offsets == ((0, 2), (3, 11), (12, 14), (15, 21))
    assert plain.character_spans == ((3, 11, "LOC"), (12, 21, "TIME"))
    assert [plain.text[start:end] for start, end in plain.character_offsets] == list(plain.words)
    assert (plain.inside, plain.outside) == ({1, 2, 3}, [0])
    known = Sentence(("a", "b"), (Entity(0, 2, "X"),), offsets=((7, 8), (10, 11)))
    assert (known.character_offsets, known.character_spans) == (((7, 8), (10, 11)), ((7, 11, "X"),))


def test_reordered_words_keep_columns_but_lose_document_and_offsets() -> None:
    sentence = Sentence(
        ("a", "b", "c"), (Entity(0, 2, "X", 0.5),), "1", "en", Origin("m"), {"s": 1.0},
        (("1", "2", "3"), ("x", "y", "z")), ("# c",), (SoftLabel(1, "X", 0.1, 0.0),), "d", ((0, 1), (2, 3), (4, 5)),
    )  # fmt: skip
    moved = sentence.reordered([2, 0, 1])
    assert (moved.words, moved.columns) == (("c", "a", "b"), (("3", "1", "2"), ("z", "x", "y")))
    assert (moved.document, moved.offsets, moved.soft_labels) == ("", (), ())
    kept = ("entities", "id", "language", "origin", "scores", "comments")
    assert [getattr(moved, name) for name in kept] == [getattr(sentence, name) for name in kept]


@pytest.mark.parametrize("order", [[0], [0, 0, 1], [0, 1, 7], [-1, 0, 1]])
def test_refuses_an_order_that_is_not_a_permutation(order: list[int]) -> None:
    with pytest.raises(DataError, match="expected each of 0 to 2 once"):
        Sentence(("a", "b", "c")).reordered(order)


def test_edited_words_lose_document_and_position_in_it() -> None:
    sentence = Sentence(
        ("a", "b"), (Entity(0, 1, "X", 0.5),), "1", "en", Origin("m"), {"s": 1.0}, (), ("# c",),
        (SoftLabel(1, "X", 0.1, 0.0),), "d", ((7, 8), (9, 10)),
    )  # fmt: skip
    edited = sentence.replace_span(1, 2, ["c"])
    assert (edited.document, edited.offsets, edited.soft_labels) == ("", ((0, 1), (2, 3)), ())
    kept = ("entities", "id", "language", "origin", "scores", "columns", "comments")
    assert [getattr(edited, name) for name in kept] == [getattr(sentence, name) for name in kept]
    same = sentence.replace_spans([])
    assert (same.document, same.offsets, same.soft_labels) == ("d", ((7, 8), (9, 10)), sentence.soft_labels)
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


def test_a_generated_sentence_has_only_the_content_and_its_origin() -> None:
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
    assert soft.replace_spans([]) is soft


def test_edits_at_one_position_are_ordered_by_their_ends() -> None:
    insertion, change = (3, 3, ["x"]), (3, 4, ["y"])
    assert PARENT.replace_spans([change, insertion]).text == "a b c x y e"
    assert PARENT.replace_spans([insertion, change]).text == "a b c x y e"


def test_spans_may_not_overlap() -> None:
    with pytest.raises(DataError, match="overlapping"):
        PARENT.replace_spans([(0, 1, ["x"]), (0, 1, ["y"])])


@given(sentences(columns=1), st.data())
def test_words_keep_their_labels_after_any_edits(sentence: Sentence, data: st.DataObject) -> None:
    """Each word contains its label, so that any drift shows."""
    tags = [""] * len(sentence)
    for entity in sentence.entities:
        tags[entity.start : entity.end] = [entity.type] * (entity.end - entity.start)
    sentence = Sentence(
        tuple(f"{index}.{type_}" for index, type_ in enumerate(tags)), sentence.entities, columns=(tuple(tags),)
    )
    edits, inserted = [], 0
    for index, type_ in enumerate(tags):
        if data.draw(st.booleans()):
            new = [f"new.{type_}"] * data.draw(st.integers(1, 3))
            edits.append((index, index + 1, new))
            inserted += len(new) - 1
    child = sentence.replace_spans(data.draw(st.permutations(edits)))
    labels = [""] * len(child)
    for entity in child.entities:
        for index in entity.positions:
            labels[index] = entity.type
    assert [word.partition(".")[2] for word in child.words] == labels
    assert len(child) == len(sentence) + inserted
    assert [entity.type for entity in child.entities] == [entity.type for entity in sentence.entities]


def test_a_corpus_gives_ids_and_keeps_order() -> None:
    corpus = Corpus([Sentence(("a",)), Sentence(("b",), (Entity(0, 1, "X"),), "x"), Sentence(("c",))])
    assert [sentence.id for sentence in corpus] == ["1", "x", "3"]
    assert corpus.by_id["x"].text == "b"
    with pytest.raises(TypeError):
        corpus.by_id["y"] = corpus[0]  # type: ignore[index]
    assert corpus[1] in corpus
    assert Sentence(("a",), id="x") not in corpus
    assert "x" not in corpus
    assert corpus.types == ("X",)
    assert (len(corpus), corpus[-1].text, corpus[1:].sentences) == (3, "c", corpus.sentences[1:])
    assert corpus[:1] + corpus[1:] == corpus
    assert hash(corpus[:1] + corpus[1:]) == hash(corpus)
    assert repr(corpus) == "Corpus(3 sentences, types: X)"


def test_types_of_a_corpus_are_sorted_and_unique() -> None:
    names = [f"T{number:02}" for number in range(20)]
    backwards = [Sentence(("a", "b"), (Entity(0, 1, name), Entity(1, 2, "T07"))) for name in reversed(names)]
    assert Corpus(backwards).types == tuple(names)


def test_a_position_is_a_whole_number() -> None:
    corpus = Corpus([Sentence(("a",), id="x")])
    assert corpus[np.int64(0)] is corpus.by_id["x"]
    for wrong in ("x", 0.0, None, [0]):
        with pytest.raises(SettingsError, match=r"the position is .*, expected a whole number.*by_id"):
            corpus[wrong]  # type: ignore[call-overload]


def test_fix_for_joining_corpora_with_equal_ids_works() -> None:
    first, second = Corpus([Sentence(("a",), id="x")]), Corpus([Sentence(("b",), id="x")])
    with pytest.raises(DataError, match="2 sentences share the id 'x'") as caught:
        first + second
    others = eval(
        caught.value.fix.partition(" use ")[2], {"Corpus": Corpus, "dataclasses": dataclasses, "second": second}
    )
    assert [s.id for s in first + others] == ["x", "b:x"]


def test_the_error_for_a_corpus_added_to_itself_is_short() -> None:
    corpus = Corpus([Sentence(("a",))] * 1500)
    with pytest.raises(DataError, match="share 1,500 ids: '1', '2', '3' and 1,497 more\nFix: leave out sentences that"):
        corpus + corpus


def test_two_sentences_may_not_share_an_id() -> None:
    with pytest.raises(DataError, match="2 sentences share the id 'x'"):
        Corpus([Sentence(("a",), id="x"), Sentence(("b",), id="x")])
    with pytest.raises(DataError, match="share the id '2'"):
        Corpus([Sentence(("a",), id="2"), Sentence(("b",))])


def test_types_in_sentences_are_those_of_all_entities() -> None:
    sentences = [Sentence(("Ada", "Oslo"), (Entity(0, 1, "PER"), Entity(1, 2, "LOC"))), Sentence(("x",))]
    assert types_in(sentences) == {"LOC", "PER"}


def test_an_empty_corpus() -> None:
    assert (len(Corpus()), Corpus().types, repr(Corpus())) == (0, (), "Corpus(0 sentences, types: none)")


def test_a_message_cannot_control_the_terminal() -> None:
    error = DataError([Issue("\x1b[2J\nFix: x", "a\r", 7, "\u202eb\x9b")], fix="the folder has a\nb")
    assert str(error) == "a\\r:7 (sentence \\u202eb\\x9b): \\x1b[2J\\nFix: x\nFix: the folder has a\\nb"


@pytest.mark.parametrize("text", ["क्\u200dष", "می\u200cخواهم", "👩\u200d👧", "a\u00a0b\u3000c", "\u200fא", "é"])
def test_a_message_keeps_the_characters_of_every_script(text: str) -> None:
    assert str(Issue(text)) == text


@pytest.mark.parametrize("character", ["\x00", "\x07", "\x1b", "\x1c", "\x7f", "\x85"])
def test_control_characters_are_refused_with_their_place(character: str) -> None:
    with pytest.raises(DataError, match=rf"word 1 is .*the control character U\+{ord(character):04X}"):
        Sentence(("a", f"b{character}c"))


def test_adds_anything_with_sentences_to_a_corpus() -> None:
    corpus, other = Corpus([Sentence(("a",), id="1")]), Sentence(("b",), id="2")
    made = Result(Corpus([other]), (), Tally(1, 1))
    assert repr(made) == f"Result({made.corpus!r}, read 1, wrote 1, rejected 0)"
    for added in (Corpus([other]), made, [other], iter([other])):
        assert [sentence.id for sentence in corpus + added] == ["1", "2"]
    assert [sentence.id for sentence in made + corpus] == ["2", "1"]
    with pytest.raises(DataError, match="1"):
        corpus + iter(corpus)


def test_refuses_to_add_other_objects_to_a_corpus() -> None:
    corpus = Corpus([Sentence(("Ada",))])
    with pytest.raises(SettingsError, match=r"what is added is Tally\(.*, expected sentences"):
        corpus + Tally()  # type: ignore[operator]  # what a call with an output returns
    with pytest.raises(SettingsError, match="item 1 of what is added is 'Ada', expected a Sentence"):
        corpus + iter(["Ada"])  # type: ignore[arg-type]
