from __future__ import annotations

import random
import tracemalloc
from fractions import Fraction

import pytest

from nersery import Entity, Origin, Sentence
from nersery.evaluate.diversity import Diversity, Mean, diversity
from tests.report.report_fixture import sentence as described


def gold(id: str, marked: str) -> Sentence:
    """Read ``[Ada Lovelace|PER] wrote``."""
    read = described(id, marked)
    return Sentence(tuple(read["words"]), tuple(Entity(**entity) for entity in read["entities"]), id=id)


def child(marked: str, *parents: str) -> Sentence:
    read = gold("", marked)
    return Sentence(read.words, read.entities, origin=Origin("method", parents, 1))


GOLD = [
    gold("a", "[Ada Lovelace|PER] wrote to [London|LOC]"),
    gold("b", "the [London|LOC] times"),
    gold("c", "nobody came"),
]
ORIGIN = Origin("method", ("c",), 1)


def figures(*generated: Sentence) -> tuple[float | None, float | None, float | None]:
    found = diversity(generated, GOLD)
    assert found.orphans == 0
    return found.entity.value, found.non_entity.value, found.length.value


def test_matches_a_calculation_by_hand():
    # Of the entity words Grace and Oslo are new, Ada is not; of the others nothing is.
    assert figures(child("[Ada Grace|PER] wrote to [Oslo|LOC]", "a")) == (pytest.approx(2 / 3), 0, 0)
    # today and again are new among four; one word more.
    assert figures(child("today [Ada|PER] wrote to [London|LOC] again", "a")) == (0, 0.5, 1)


def test_a_copy_has_nothing_new():
    assert figures(child("[Ada Lovelace|PER] wrote to [London|LOC]", "a")) == (0, 0, 0)


def test_percentages_are_averaged_over_sentences_not_words():
    one, many = child("[Grace|PER] came", "c"), child("[London London London|LOC] times", "b")
    assert figures(one, many) == (0.5, 0, 0.5)  # words together would have 1 of 4


def test_ignores_sentences_without_words_of_the_kind():
    new, without = child("[Grace|PER]", "b"), child("nobody left", "c")
    assert figures(new, without) == (1, 0.5, 1)
    assert figures(without)[0] is None
    assert figures(new)[1] is None


def test_a_word_in_a_new_role_is_new():
    assert figures(child("the [times|CW] London", "b")) == (1, 0.5, 0)


def test_frequency_of_a_word_does_not_matter():
    assert figures(child("the the [London London|LOC]", "b")) == (0, 0, 1)


def test_shorter_and_longer_sentences_count_alike():
    longer, shorter = child("the [London|LOC] times is here", "b"), child("[London|LOC]", "b")
    assert figures(longer, shorter)[2] == 2
    assert figures(longer)[2] == figures(shorter)[2]


@pytest.mark.parametrize("word", ["LONDON", "london", "Lo\u200bndon"])
def test_ignores_case(word: str):
    assert figures(child(f"the [{word}|LOC] times", "b"))[0] == float("\u200b" in word)


def test_ignores_the_unicode_form_of_accents():
    parent, new = gold("x", "[Zo\u00eb|PER] STRASSE"), child("[zoe\u0308|PER] straße", "x")
    assert diversity([new], [parent]).entity.value == diversity([new], [parent]).non_entity.value == 0


def test_compares_with_the_words_of_both_parents():
    mixed = child("the [Ada|PER] wrote [Paris|LOC]", "a", "b")
    assert figures(mixed) == (0.5, 0, (1 + 1) / 2)  # four words, of parents with five and three
    assert figures(child("the [Ada|PER] wrote [Paris|LOC]", "a"))[:2] == (0.5, 0.5)


@pytest.mark.parametrize(
    "orphan",
    [
        child("[Ada|PER] came", "z"),
        child("[Ada|PER] came"),
        child("[Ada|PER] came", "a", "z"),
        gold("a", "[Ada|PER] came"),
    ],
    ids=["unknown", "no name", "one of two", "no origin"],
)
def test_a_sentence_without_known_parents_counts_only_as_an_orphan(orphan: Sentence):
    known = child("[Grace|PER] came", "c")
    found = diversity([orphan, known, orphan], GOLD)
    assert (found.sentences, found.orphans) == (1, 2)
    assert found == diversity([known], GOLD) + Diversity(orphans=2)
    assert diversity([orphan], GOLD).as_dict() == {
        "entity": None, "non_entity": None, "length": None, "sentences": 0, "orphans": 1,
    }  # fmt: skip


def test_parts_add_up_without_rounding_in_any_order():
    rng = random.Random(0)
    words = [f"w{number}" for number in range(30)]
    pool = [Sentence(tuple(rng.choices(words, k=7)), (Entity(0, 3, "A"),), id=str(n)) for n in range(20)]
    new = [
        Sentence(tuple(rng.choices(words, k=size)), (Entity(0, size // 2, "A"),), origin=Origin("m", (str(n % 20),), 1))
        for n in range(60)
        for size in [rng.randint(2, 23)]
    ]
    whole = diversity(new, pool)
    assert 0 < (whole.entity.value or 0) < 1
    assert diversity(new[:25], pool) + diversity(new[25:], pool) == whole
    rng.shuffle(new)
    assert diversity(new, pool) == whole


def test_memory_does_not_grow_with_a_stream():
    def peak(count: int) -> int:
        words = ([f"{number} {place}" * 40 for place in range(100)] for number in range(count))
        tracemalloc.start()
        try:
            assert diversity((Sentence(tuple(each), origin=ORIGIN) for each in words), GOLD).sentences == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(60) < 2 * peak(3)


def test_empty_input():
    assert diversity([], []) == Diversity()
    assert Mean().value is None
    assert (Mean(Fraction(1, 3), 1) + Mean(Fraction(2, 3), 2)).value == pytest.approx(1 / 3)
