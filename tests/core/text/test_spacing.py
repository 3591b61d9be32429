"""The white space between words of edited and generated sentences, which exports of text show."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery.core.sentence import Entity, Origin, Sentence
from nersery.core.sentence_validation import MAX_SENTENCE_LENGTH, issue_in
from nersery.core.text.spacing import is_space_usual, spaces_in
from nersery.io.annotation_tools.standoff import layout
from tests.io.strategies import sentences, texts

ORIGIN = Origin("m", ("a",), 1)


def read(text: str, words: str, *entities: tuple[int, int]) -> Sentence:
    """A sentence with the offsets of its words, which are separated by spaces, in the text."""
    offsets, end = [], 0
    for word in words.split():
        start = text.index(word, end)
        end = start + len(word)
        offsets.append((start, end))
    labels = tuple(Entity(*entity, "X") for entity in entities)
    return Sentence(tuple(words.split()), labels, "a", document="d", offsets=tuple(offsets))


def written(sentence: Sentence) -> str:
    """The text of a sentence in exports, at the offsets of the sentence."""
    text, offsets = layout(sentence)
    assert tuple(offsets) == sentence.offsets
    assert tuple(text[start:end] for start, end in sentence.offsets) == sentence.words
    assert issue_in(sentence) is None
    return text


@pytest.mark.parametrize(
    ("start", "end", "words", "text"),
    [
        (2, 5, ["Bonn"], "lives in Bonn (since “1999”)."),
        (2, 5, ["Rio", "(", "BR", ")"], "lives in Rio (BR) (since “1999”)."),
        (8, 9, ["May", ",", "2020"], "lives in Aix-en (since “May, 2020”)."),
        (5, 6, [], "lives in Aix-en since “1999”)."),
        (6, 9, [], "lives in Aix-en (”)."),
        (0, 1, [], "in Aix-en (since “1999”)."),
        (10, 12, [], "lives in Aix-en (since “1999”"),
        (12, 12, ["Really", "?"], "lives in Aix-en (since “1999”). Really?"),
        (10, 10, ["or", "so"], "lives in Aix-en (since “1999” or so)."),
        (0, 0, ["Ada", ":"], "Ada: lives in Aix-en (since “1999”)."),
        (0, 12, ["Ada"], "Ada"),
    ],
)
def test_edited_words_are_spaced_as_people_write(start: int, end: int, words: list[str], text: str) -> None:
    sentence = read("  lives  in Aix-en (since “1999”).", "lives in Aix - en ( since “ 1999 ” ) .")
    edited = sentence.replace_span(start, end, words)
    assert (written(edited), edited.document) == (text, "")


@pytest.mark.parametrize(
    ("start", "end", "words", "text"),
    [
        (1, 2, ["the"], "Oslo the based (AI) firm, 5mg."),
        (1, 2, ["–"], "Oslo–based (AI) firm, 5mg."),
        (3, 4, ["near"], "Oslo-based near AI) firm, 5mg."),
        (4, 5, ["all", "of"], "Oslo-based (all of) firm, 5mg."),
        (5, 6, ["or", "–"], "Oslo-based (AI or – firm, 5mg."),
        (7, 8, ["("], "Oslo-based (AI) firm (5mg."),
        (0, 1, ["Yahoo!"], "Yahoo!-based (AI) firm, 5mg."),
        (0, 1, ["-"], "- -based (AI) firm, 5mg."),
        (8, 9, ["7"], "Oslo-based (AI) firm, 7 mg."),
        (9, 10, ["%"], "Oslo-based (AI) firm, 5%."),
        (2, 9, ["5"], "Oslo-5mg."),
    ],
)
def test_new_words_do_not_take_over_the_spacing_of_words_of_another_kind(
    start: int, end: int, words: list[str], text: str
) -> None:
    sentence = read("Oslo-based (AI) firm, 5mg.", "Oslo - based ( AI ) firm , 5 mg .")
    assert written(sentence.replace_span(start, end, words)) == text


def test_neighbouring_new_words_are_compared_with_those_in_whose_place_they_are() -> None:
    sentence = read("Oslo-based (AI)", "Oslo - based ( AI )")
    edited = sentence.replace_spans([(0, 1, ["Rome"]), (1, 2, ["to"]), (2, 3, ["Bonn"]), (3, 4, ["["]), (5, 6, ["]"])])
    assert written(edited) == "Rome to Bonn [AI]"
    assert written(sentence.replace_spans([(0, 1, ["Rome"]), (1, 2, ["/"]), (2, 3, [])])) == "Rome/ (AI)"


def test_new_words_are_spaced_as_stated() -> None:
    edited = read("in Oslo.", "in Oslo .").replace_spans([(1, 2, ["R", "$", "30"])], {("R", "$", "30"): [False, True]})
    assert written(edited) == "in R$ 30."


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("王 在 上 海 。", "王在上海。"),
        ("ไป จ . ตรัง", "ไปจ. ตรัง"),
        ("in Oslo , at 5 % ( or so ) !", "in Oslo, at 5% (or so)!"),
        ("¿ Dónde ? « Oui »", "¿Dónde? «Oui»"),
        ("नमस्ते । in .NET", "नमस्ते। in .NET"),
        ("三星電子는 國會 會長은 釜山 서울特別市 ( 中 )", "三星電子는 國會 會長은 釜山 서울特別市 (中)"),
        ("ᠮᠣᠩᠭᠣᠯ ᠂ ᠤᠯᠤᠰ ᠃", "ᠮᠣᠩᠭᠣᠯ᠂ ᠤᠯᠤᠰ᠃"),
        ("ߞߊ߲߫ ߸ ᐃᓗᐊᓂ ᙮ ᱨᱮ ᱾ ꯂꯩ ꯫ ܒܢ ܀ ነው ፧ ", "ߞߊ߲߫߸ ᐃᓗᐊᓂ᙮ ᱨᱮ᱾ ꯂꯩ꯫ ܒܢ܀ ነው፧"),
    ],
)
def test_words_of_a_model_are_spaced_as_usual(words: str, text: str) -> None:
    made = Sentence(tuple(words.split())).generated("b", ORIGIN, read("Oslo.", "Oslo ."))
    assert written(made) == text


def test_a_generated_sentence_is_spaced_like_its_parent() -> None:
    parent = read("1,4-dioxane at 7 °C.", "1 , 4 - dioxane at 7 ° C .", (0, 5), (6, 9))
    moved = parent.reordered([5, 0, 1, 2, 3, 4, 6, 7, 8, 9]).generated("b", ORIGIN, parent)
    assert written(moved) == "at 1,4-dioxane 7 °C."
    assert written(parent.generated("b", ORIGIN, parent)) == "1,4-dioxane at 7 °C."
    assert parent.generated("b", ORIGIN).offsets == ()
    assert parent.generated("b", ORIGIN, replace(parent, offsets=())).offsets == ()


def test_characters_of_a_generated_sentence_are_those_in_its_text() -> None:
    parent = read("in (Oslo).", "in ( Oslo ) .", (2, 3))
    made = parent.replace_span(2, 3, ["Rio"]).generated("b", ORIGIN, parent)
    ((start, end, _),) = made.character_spans
    assert (written(made), made.text[start:end]) == ("in (Rio).", "Rio")


def test_a_text_that_would_be_too_long_has_no_offsets() -> None:
    start = MAX_SENTENCE_LENGTH - 1
    parent = Sentence(("a", "b"), document="d", offsets=((0, 1), (start, start + 1)))
    assert written(parent.replace_span(0, 1, ["c"])) == "c b"
    long = parent.replace_span(0, 1, ["c" * MAX_SENTENCE_LENGTH])
    assert long.offsets == long.generated("b", ORIGIN, parent).offsets == ()


@st.composite
def placed(draw: st.DrawFn) -> Sentence:
    """A sentence with offsets, which need not be as long as the words."""
    sentence = draw(sentences())
    offsets, end = [], 0
    for word in sentence.words:
        start = end + draw(st.integers(0, 3))
        end = start + draw(st.sampled_from([len(word), 1, 5]))
        offsets.append((start, end))
    return replace(sentence, document="d", offsets=tuple(offsets))


@given(placed(), st.data())
def test_words_that_stay_together_keep_their_spacing(sentence: Sentence, data: st.DataObject) -> None:
    """Words and labels never get out of step with the text, whatever the edits."""
    edits = []
    inside = {place for entity in sentence.entities for place in range(entity.start, entity.end)}
    for place in range(len(sentence)):
        kind = data.draw(st.sampled_from(["keep", "replace", "insert", "delete"]))
        if kind == "insert":
            edits.append((place, place, data.draw(st.lists(texts(), min_size=1, max_size=2))))
        elif kind == "replace":
            edits.append((place, place + 1, data.draw(st.lists(texts(), min_size=1, max_size=3))))
        elif kind == "delete" and place not in inside and place + 1 < len(sentence):
            edits.append((place, place + 1, []))
    edited = sentence.replace_spans(edits)
    made = edited.generated("b", ORIGIN, sentence)
    assert edited.labels == replace(sentence, offsets=()).replace_spans(edits).labels
    assert [made.words, made.labels] == [edited.words, edited.labels]
    if not edits:
        return
    text = written(edited)
    assert (written(made), made.offsets) == (text, edited.offsets)
    for start, end, _ in edited.labels:
        first, last = edited.offsets[start][0], edited.offsets[end - 1][1]
        assert "".join(text[first:last].split()) == "".join("".join(edited.words[start:end]).split())
    before, after = spaces_in(sentence.offsets), spaces_in(edited.offsets)
    together = {pair for pair, space in zip(pairwise(sentence.words), before, strict=True) if not space}
    for pair, space in zip(pairwise(edited.words), after, strict=True):
        meet_in_letters = pair[0][-1].isalnum() and pair[1][0].isalnum()
        assert space or not (meet_in_letters and is_space_usual(*pair)) or pair in together
    touched = {place for start, end, _ in edits for place in (start, end)}
    for place, space in enumerate(before):
        position = place + sum(len(new) - (end - start) for start, end, new in edits if end <= place)
        if not {place, place + 1} & touched:
            assert after[position] == space
