from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery import Entity, Sentence
from nersery.augment.linearized.linearization import language_token, linearize, tag_token
from nersery.augment.linearized.parsing import (
    EMPTY_WORD,
    ILLEGAL,
    LEFT_OVER,
    LOST,
    NEAR_COPY,
    NO_WORDS,
    UNBALANCED,
    UNKNOWN_TAG,
    UNSTORABLE,
    WITHOUT_WORD,
    child_of,
    has_mentions,
    is_near_copy,
    mentions_outside,
    parse,
)
from nersery.core import registry
from nersery.core.errors import SettingsError
from nersery.core.outcome import Reject
from nersery.core.sentence import UNKNOWN_COLUMN
from nersery.models.tokens import TOKEN_PREFIX
from tests.io.strategies import sentences

TYPES = ("PER", "LOC", "creative work", "a:b", "<b-PER>", "x>", "b-PER", "व्यक्ति", "per")
B_PER, I_PER, B_LOC, I_LOC = (tag_token(type_, begins=begins) for type_ in ("PER", "LOC") for begins in (True, False))
MASK, UNKNOWN_TYPE = TOKEN_PREFIX + "<mask>", tag_token("NEW", begins=True)


def one_sided(sentence: Sentence) -> list[str]:
    """Put the tag token of each word of an entity only before it."""
    tags = {
        place: tag_token(entity.type, begins=place == entity.start)
        for entity in sentence.entities
        for place in entity.positions
    }
    return [part for place, word in enumerate(sentence.words) for part in (tags.get(place, ""), word) if part]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], NO_WORDS),
        (["a", ""], EMPTY_WORD),
        (["a", "  "], EMPTY_WORD),
        ([B_PER, B_PER, "a"], WITHOUT_WORD),
        ([B_PER, "", B_PER], EMPTY_WORD),
        (["a", "b c "], UNSTORABLE),
        (["a", "b\nc"], UNSTORABLE),
        (["a", "\ud800"], UNSTORABLE),
        ([B_PER], UNBALANCED),
        ([B_PER, "a"], UNBALANCED),
        ([B_PER, "a", "b", B_PER], UNBALANCED),
        ([B_PER, "a", I_PER], UNBALANCED),
        ([B_PER, "a", B_LOC], UNBALANCED),
        ([B_PER, I_PER, "a", I_PER, B_PER], UNBALANCED),
        (["a", B_PER], UNBALANCED),
        ([UNKNOWN_TYPE, "a", UNKNOWN_TYPE], UNKNOWN_TAG),
        ([tag_token("per", begins=True), "a", tag_token("per", begins=True)], UNKNOWN_TAG),
        ([I_PER, "a", I_PER], ILLEGAL),
        ([B_PER, "a", B_PER, I_LOC, "b", I_LOC], ILLEGAL),
        ([B_PER, "a", B_PER, "b", I_PER, "c", I_PER], ILLEGAL),
        (["a", MASK], LEFT_OVER),
        ([B_PER, MASK, B_PER], LEFT_OVER),
        ([TOKEN_PREFIX], LEFT_OVER),
        ([language_token("hi"), B_PER, "a", B_PER], LEFT_OVER),
    ],
)
def test_malformed_text_is_rejected_with_its_reason(words: list[str], reason: str) -> None:
    assert parse(words, ("PER", "LOC")) == Reject(reason)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([B_PER, I_PER, "a"], WITHOUT_WORD),
        ([B_PER, B_PER, "a"], WITHOUT_WORD),
        (["a", B_PER], WITHOUT_WORD),
        ([I_PER, "a"], ILLEGAL),
        ([B_PER, "a", "b", I_PER, "c"], ILLEGAL),
        ([B_PER, "a", I_LOC, "b"], ILLEGAL),
        ([B_PER, MASK], LEFT_OVER),
    ],
)
def test_malformed_text_with_one_sided_tags_has_the_same_reasons(words: list[str], reason: str) -> None:
    assert parse(words, ("PER", "LOC"), closed=False) == Reject(reason)


def test_reasons_are_distinct() -> None:
    reasons = [
        NO_WORDS,
        LOST,
        NEAR_COPY,
        EMPTY_WORD,
        UNSTORABLE,
        UNBALANCED,
        WITHOUT_WORD,
        UNKNOWN_TAG,
        ILLEGAL,
        LEFT_OVER,
    ]
    assert len(set(reasons)) == len(reasons)


def test_neighbours_of_the_same_type_stay_separate() -> None:
    words = [B_PER, "a", B_PER, B_PER, "b", B_PER, I_PER, "c", I_PER, "d"]
    parsed = parse(words, ("PER",))
    assert isinstance(parsed, Sentence)
    assert parsed.labels == ((0, 1, "PER"), (1, 3, "PER"))


def test_text_that_looks_like_a_tag_token_is_text() -> None:
    parsed = parse(["<b-PER>", "a", "<b-PER>", "[MASK]"], ("PER",))
    assert parsed == Sentence(("<b-PER>", "a", "<b-PER>", "[MASK]"))


@given(sentences(), st.sampled_from([True, False]))
def test_linearized_sentences_are_read_back(sentence: Sentence, closed: bool) -> None:
    words = linearize(sentence, closed=closed).words
    assert closed or list(words) == one_sided(sentence)
    parsed = parse(words, {entity.type for entity in sentence.entities}, closed=closed)
    assert isinstance(parsed, Sentence)
    assert (parsed.words, parsed.labels) == (sentence.words, sentence.labels)


TOKENS = [tag_token(type_, begins=begins) for type_ in TYPES for begins in (True, False)]
SOUP = st.lists(
    st.one_of(
        st.sampled_from(TOKENS[:4]),
        st.sampled_from([*TOKENS, UNKNOWN_TYPE, MASK, TOKEN_PREFIX, "", "<b-PER>", "दिल्ली"]),
        st.sampled_from("abc"),
        st.text(st.characters(exclude_categories=()), max_size=4),
    ),
    max_size=12,
)


@given(SOUP, st.sampled_from([True, False]))
def test_random_tokens_raise_nothing_and_invent_no_label(words: list[str], closed: bool) -> None:
    parsed = parse(words, TYPES, closed=closed)
    if isinstance(parsed, Reject):
        assert parsed.sentence is None
        return
    assert list(linearize(parsed).words if closed else one_sided(parsed)) == words


@given(sentences(), st.data())
def test_changed_tokens_are_rejected_or_read_as_written(sentence: Sentence, data: st.DataObject) -> None:
    """Some models drop, repeat or swap a word."""
    words = list(linearize(sentence).words)
    place = data.draw(st.integers(0, len(words) - 1))
    words[place : place + 2] = data.draw(st.sampled_from(list(_changes(words[place : place + 2]))))
    parsed = parse(words, {entity.type for entity in sentence.entities})
    assert isinstance(parsed, Reject) or list(linearize(parsed).words) == words


def _changes(pair: list[str]) -> Iterator[list[str]]:
    yield pair[1:]
    yield [pair[0], *pair]
    yield pair[::-1]


# --- what a sentence must keep --------------------------------------------------------------------------------------

PARENT = Sentence(
    ("Jo", "Li", "saw", "Oslo", "."),
    (Entity(0, 2, "PER"), Entity(3, 4, "LOC")),
    language="no",
    columns=(("N", "N", "V", "N", "."),),
)
MENTIONS = [(("Jo", "Li"), "PER"), (("Oslo",), "LOC")]


@pytest.mark.parametrize(
    ("words", "entities", "kept"),
    [
        ("Jo Li saw Oslo", [(0, 2, "PER"), (3, 4, "LOC")], True),
        ("Oslo saw Jo Li", [(0, 1, "LOC"), (2, 4, "PER")], True),
        ("Oslo saw Jo Li and Ann", [(0, 1, "LOC"), (2, 4, "PER"), (5, 6, "PER")], True),
        ("Jo Li saw", [(0, 2, "PER")], False),
        ("Jo Li saw Oslo", [(0, 2, "PER")], False),
        ("Jo Li saw Oslo", [(0, 2, "LOC"), (3, 4, "PER")], False),
        ("Jo Li saw Oslo", [(0, 1, "PER"), (1, 2, "PER"), (3, 4, "LOC")], False),
        ("jo Li saw Oslo", [(0, 2, "PER"), (3, 4, "LOC")], False),
    ],
)
def test_entities_of_the_template_must_be_there(words: str, entities: list[tuple[int, int, str]], kept: bool):
    sentence = Sentence(tuple(words.split()), tuple(Entity(*entity) for entity in entities))
    assert has_mentions(sentence, MENTIONS) == kept


def test_a_mention_that_is_required_twice_must_occur_twice() -> None:
    assert not has_mentions(PARENT, [MENTIONS[1], MENTIONS[1]])


@pytest.mark.parametrize(
    ("text", "similarity", "near"),
    [
        ("JO Li saw Oslo .", 1.0, True),
        ("Jo Li saw Oslo !", 1.0, False),
        ("Jo Li saw Oslo !", 0.8, True),
        ("Jo Li saw Oslo !", 0.81, False),
        ("Jo Li saw Oslo . again and again and again", 0.66, True),
        (". Oslo saw Li Jo", 0.3, False),
    ],
)
def test_near_copies_are_recognized(text: str, similarity: float, near: bool) -> None:
    sentence = Sentence(tuple(text.split()))
    assert is_near_copy(sentence, [PARENT], similarity) == near
    assert is_near_copy(sentence, [Sentence(("x",)), PARENT], similarity) == near


def test_accents_are_equal_however_they_are_encoded() -> None:
    composed, decomposed = Sentence(("é",)), Sentence(("e\u0301",))
    assert is_near_copy(composed, [decomposed], 1.0)


def test_a_word_with_a_space_equals_two_words() -> None:
    assert is_near_copy(Sentence(("Hà", "Nội", "won")), [Sentence(("hà nội", "won"))], 1.0)


def test_without_parents_everything_is_new() -> None:
    assert not is_near_copy(PARENT, [], 0.1)


@pytest.mark.parametrize("similarity", [0.0, 1.1, float("nan")])
def test_a_similarity_is_checked(similarity: float) -> None:
    with pytest.raises(SettingsError, match="similarity"):
        registry.create("augment", "aclm", {"similarity": similarity})


def test_a_child_has_the_language_and_columns_of_its_parent() -> None:
    child = child_of(PARENT, Sentence(("a", "b"), (Entity(0, 1, "PER"),)))
    assert child == Sentence(
        ("a", "b"), (Entity(0, 1, "PER"),), language="no", columns=((UNKNOWN_COLUMN, UNKNOWN_COLUMN),)
    )
    assert child_of(replace(PARENT, columns=()), child).columns == ()


def test_spellings_of_a_mention_with_and_without_punctuation_are_one() -> None:
    """Otherwise, the order of a set, which differs between processes, would decide which of them counts."""
    unlabelled = Sentence(("Yahoo", "won"))
    spellings = [("Yahoo!",), ("Yahoo",)]
    assert mentions_outside([unlabelled], spellings) == mentions_outside([unlabelled], spellings[::-1])
    assert mentions_outside([unlabelled], spellings[:1]) == mentions_outside([unlabelled], spellings[1:]) != frozenset()
