from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel
from rapidfuzz.process import extract

from nersery import Origin, Sentence
from nersery.publish.groups import groups


def sentence(id: str, text: str, *parents: str) -> Sentence:
    return Sentence(tuple(text.split()), id=id, origin=Origin("m", parents, 1) if parents else None)


def ids(sentences: list[Sentence], similarity: float = 0.8) -> list[list[str]]:
    return [[sentences[number].id for number in group] for group in groups(sentences, similarity)]


def test_groups_sentences_that_differ_in_case_or_unicode_form():
    made = [sentence("a", "Caf\u00e9 au lait"), sentence("b", "x"), sentence("c", "cafe\u0301 AU lait")]
    assert ids(made, 1) == [["a", "c"], ["b"]]


def test_groups_near_duplicates_transitively():
    words = "one two three four five six seven eight nine ten".split()
    chain = [sentence(str(n), " ".join(words[n:] + ["x"] * n)) for n in range(4)]
    assert Indel.normalized_similarity(chain[0].words, chain[3].words) < 0.8
    assert ids(chain) == [["0", "1", "2", "3"]]
    assert ids(chain, 1) == [["0"], ["1"], ["2"], ["3"]]


def test_a_sentence_that_is_like_two_others_joins_them():
    """Not only the one that is most similar."""
    left = sentence("l", "a b c d e f g h x y")
    right = sentence("r", "a b c d e f g h v w")
    between = sentence("m", "a b c d e f g h x w")
    assert ids([left, right], 0.85) == [["l"], ["r"]]
    assert ids([left, right, between], 0.85) == [["l", "r", "m"]]


def test_children_stay_with_their_parents_and_each_other():
    made = [
        sentence("1", "first parent"),
        sentence("2", "another one"),
        sentence("3", "child here", "1"),
        sentence("4", "mixed words", "2", "gone"),
        sentence("5", "of something absent", "gone"),
        sentence("6", "grand child", "3"),
        sentence("7", "alone"),
    ]
    assert ids(made) == [["1", "3", "6"], ["2", "4", "5"], ["7"]]


def test_groups_grandchildren_whose_parents_are_missing():
    made = [sentence("1", "first"), sentence("1~melm-1~eda-2", "far away", "1~melm-1"), sentence("1~lwtr-1", "other")]
    assert ids(made) == [["1", "1~melm-1~eda-2", "1~lwtr-1"]]


@pytest.mark.parametrize("large", [1, 3, 100])
@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), max_size=15), st.sampled_from([0.6, 0.8, 1.0])
)
def test_no_two_groups_have_sentences_that_are_alike(large: int, texts: list[list[str]], similarity: float):
    made = [sentence(str(n), " ".join(text)) for n, text in enumerate(texts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nersery.publish.groups.LARGE", large)
        found = [[made[number] for number in group] for group in groups(made, similarity)]
    assert sorted(s.id for group in found for s in group) == sorted(s.id for s in made)
    for one, other in combinations(found, 2):
        for a in one:
            assert all(Indel.normalized_similarity(a.words, b.words) < similarity for b in other)
    for group in found:
        reached = {group[0].id}
        for _ in group:
            near = [s for s in group if s.id in reached]
            reached |= {
                s.id for s in group for n in near
                if Indel.normalized_similarity(s.words, n.words) >= similarity - 1e-6
            }  # fmt: skip
        assert len(reached) == len(group)


def test_sentences_of_one_template_are_not_all_compared(monkeypatch: pytest.MonkeyPatch):
    compared = 0

    def counting(text: Sequence[str], others: Sequence[Sequence[str]], **options: Any) -> Any:
        nonlocal compared
        compared += len(others)
        return extract(text, others, **options)

    monkeypatch.setattr("rapidfuzz.process.extract", counting)
    made = [sentence(str(n), f"the company number {n} was founded in the city of town{n % 7} .") for n in range(1000)]
    assert len(groups(made, 0.8)) == 1
    assert compared < 100 * len(made)


@pytest.mark.parametrize("similarity", [0.8, 1.0])
def test_no_sentences_make_no_groups(similarity: float):
    assert groups([], similarity) == []
