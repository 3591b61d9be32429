from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from nersery import Entity, Sentence
from nersery.core.errors import DataError
from nersery.evaluate.annotator_agreement import agreement, kappa

WORDS = tuple(f"w{number}" for number in range(10))


def labelled(*entities: tuple[int, int, str], id: str = "1") -> Sentence:
    return Sentence(WORDS, tuple(Entity(*entity) for entity in entities), id=id)


def test_matches_a_calculation_by_hand():
    """Of ten words the first says PER to 3, LOC to 2; the second PER to 2 of the 3, LOC to 1 of the 2 and one more."""
    first = labelled((0, 3, "PER"), (5, 7, "LOC"))
    second = labelled((0, 2, "PER"), (6, 8, "LOC"))
    found = agreement([first], [second])
    # All words: alike are 2 PER, 1 LOC and 4 outside; by chance 3·2 + 2·2 + 5·6 = 40 of 100 pairs.
    assert (found.all_words.words, found.all_words.observed, found.all_words.expected) == (10, 0.7, 0.4)
    assert found.all_words.value == pytest.approx(0.5)
    # Six words are marked by one of them: alike 3; by chance PER 3·2, LOC 2·2, outside 1·2, so 12 of 36.
    assert (found.marked_words.words, found.marked_words.alike, found.marked_words.by_chance) == (6, 3, 12)
    assert found.marked_words.value == pytest.approx(0.25)
    assert found.entities.micro.f1 == 0.0


labels = st.lists(st.sampled_from(["", "PER", "LOC"]), min_size=10, max_size=10)


@given(labels, labels)
def test_kappa_equals_scikit_learn(first: list[str], second: list[str]):
    both = [
        labelled(*((place, place + 1, type_) for place, type_ in enumerate(types) if type_))
        for types in (first, second)
    ]
    found = agreement([both[0]], [both[1]])
    marked = [pair for pair in zip(first, second, strict=True) if any(pair)]
    for kappa_, pairs in ((found.all_words, zip(first, second, strict=True)), (found.marked_words, marked)):
        one, other = [*zip(*pairs, strict=True)] or ((), ())
        if len({*one, *other}) > 1:
            assert kappa_.value == pytest.approx(cohen_kappa_score(one, other))
        else:
            assert kappa_.value is None


def test_entity_borders_affect_only_the_agreement_on_entities():
    found = agreement([labelled((0, 4, "PER"))], [labelled((0, 2, "PER"), (2, 4, "PER"))])
    assert found.all_words.value == 1.0
    assert found.marked_words.value is None, "all marked words have one label"
    assert found.entities.micro.f1 == 0.0


def test_agreement_is_symmetric():
    first, second = labelled((0, 3, "PER"), (5, 7, "LOC")), labelled((0, 3, "PER"), (6, 8, "LOC"), (9, 10, "ORG"))
    one, other = agreement([first], [second]), agreement([second], [first])
    assert one.all_words == other.all_words
    assert one.marked_words == other.marked_words
    assert one.entities.micro.f1 == other.entities.micro.f1 == 2 / 5


def test_pools_all_sentences_in_any_order():
    first = [labelled((0, 2, "PER"), id="a"), labelled((4, 5, "LOC"), id="b")]
    second = [labelled((0, 2, "PER"), id="a"), labelled((4, 5, "ORG"), id="b")]
    found = agreement(first, second[::-1])
    assert (found.all_words.words, found.all_words.alike) == (20, 19)
    assert found.entities.micro.f1 == 0.5


def test_kappa_is_undefined_without_labels():
    found = agreement([labelled()], [labelled()]).as_dict()
    assert found["all_words"] == {"kappa": None, "words": 10, "observed": 1.0, "expected": 1.0}
    assert found["marked_words"] == {"kappa": None, "words": 0, "observed": 0.0, "expected": 0.0}


def test_kappa_of_chance_agreement_is_zero():
    counts = Counter(dict.fromkeys(product("ab", repeat=2), 1))
    assert kappa(counts).value == 0.0


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ([labelled(id="1")], "sentence 2: no second sentence has this id"),
        ([labelled(id="1"), labelled(id="2"), labelled(id="3")], "sentence 3: second, but not in first"),
        ([labelled(id="1"), Sentence(("x",), id="2")], "sentence 2: other words: word 0 is 'x' in second"),
        ([labelled(id="1"), labelled(id="2"), labelled(id="2")], "2 second sentences share the id '2'"),
    ],
)
def test_refuses_different_sentences(second: list[Sentence], message: str):
    with pytest.raises(DataError, match=message):
        agreement([labelled(id="1"), labelled(id="2")], second)
