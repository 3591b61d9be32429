from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery import Entity, Sentence
from nersery.core.errors import DataError
from nersery.evaluate.error_analysis import CORRECT, KINDS, find_errors
from nersery.evaluate.scores import score

WORDS = tuple(f"w{number}" for number in range(12))


def labelled(*entities: tuple[int, int, str], id: str = "1") -> Sentence:
    return Sentence(WORDS, tuple(Entity(*entity) for entity in entities), id=id)


def kinds(gold: Sentence, predicted: Sentence) -> list[tuple[str, str]]:
    return [(mistake.kind, mistake.type) for mistake in find_errors([gold], [predicted]).mistakes]


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ([(0, 2, "PER")], [(0, 2, "PER")], []),
        ([(0, 2, "PER")], [(0, 3, "PER")], [("boundary", "PER")]),
        ([(0, 2, "PER")], [(1, 2, "PER")], [("boundary", "PER")]),
        ([(0, 2, "PER")], [(0, 2, "LOC")], [("type", "PER")]),
        ([(0, 2, "PER")], [(1, 4, "LOC")], [("both", "PER")]),
        ([(0, 2, "PER")], [], [("missed", "PER")]),
        ([], [(0, 2, "LOC")], [("spurious", "LOC")]),
        ([(0, 2, "PER")], [(2, 4, "PER")], [("missed", "PER"), ("spurious", "PER")]),
        # One prediction over two gold entities stands for one of them, two predictions over one likewise.
        ([(0, 2, "PER"), (2, 3, "PER")], [(0, 3, "PER")], [("boundary", "PER"), ("missed", "PER")]),
        ([(0, 3, "PER")], [(0, 1, "PER"), (1, 3, "PER")], [("boundary", "PER"), ("spurious", "PER")]),
        # The right words go before the right type, the right type before more words.
        ([(0, 3, "PER"), (3, 5, "LOC")], [(0, 3, "LOC"), (3, 4, "LOC")], [("type", "PER"), ("boundary", "LOC")]),
        ([(0, 2, "PER"), (2, 6, "LOC")], [(1, 6, "PER")], [("boundary", "PER"), ("missed", "LOC")]),
        ([(0, 2, "PER"), (2, 6, "LOC")], [(1, 6, "ORG")], [("missed", "PER"), ("both", "LOC")]),
    ],
)
def test_kinds_of_errors(gold, predicted, expected):
    assert kinds(labelled(*gold), labelled(*predicted)) == expected


@st.composite
def labellings(draw: st.DrawFn) -> Sentence:
    borders = sorted(draw(st.sets(st.integers(0, len(WORDS)), max_size=8)))
    pairs = list(zip(borders[::2], borders[1::2], strict=False))
    touching = [(end, other) for (_, end), (other, _) in pairwise(pairs) if draw(st.booleans())]
    return labelled(*((*span, draw(st.sampled_from(["PER", "LOC"]))) for span in sorted([*pairs, *touching])))


@given(labellings(), labellings())
def test_every_entity_is_in_exactly_one_kind(gold: Sentence, predicted: Sentence):
    errors = find_errors([gold], [predicted])
    right = [*({*gold.entities} & {*predicted.entities})]
    of_gold = [mistake.gold for mistake in errors.mistakes if mistake.gold]
    of_predicted = [mistake.predicted for mistake in errors.mistakes if mistake.predicted]
    assert sorted([*right, *of_gold]) == list(gold.entities)
    assert sorted([*right, *of_predicted]) == list(predicted.entities)
    assert errors.correct == Counter(entity.type for entity in right)
    for mistake in errors.mistakes:
        one, other = mistake.gold, mistake.predicted
        assert (mistake.kind == "missed") == (other is None)
        assert (mistake.kind == "spurious") == (one is None)
        if one and other:
            assert one.start < other.end
            assert other.start < one.end
            assert (mistake.kind in ("type", "both")) == (one.type != other.type)
            assert (mistake.kind == "type") == ((one.start, one.end) == (other.start, other.end))
    alone = [m.gold for m in errors.mistakes if m.kind == "missed"]
    extra = [m.predicted for m in errors.mistakes if m.kind == "spurious"]
    assert not any(one.overlaps(other) for one in alone for other in extra)


@given(labellings(), labellings())
def test_counts_agree_with_the_scores(gold: Sentence, predicted: Sentence):
    counts = find_errors([gold], [predicted]).per_type
    scores = score([gold], [predicted]).per_type
    for type_, row in counts.items():
        assert row[CORRECT] == scores[type_].correct
        assert sum(row.values()) - row["spurious"] == scores[type_].gold
    assert {type_ for type_, row in scores.items() if row.gold} <= counts.keys() <= scores.keys()
    total = Counter[str]()
    for row in counts.values():
        total.update(row)
    assert total.total() - total["missed"] == len(predicted.entities)


def test_examples_are_spread_over_each_kind():
    gold = [labelled((0, 2, "PER"), id=str(n)) for n in range(20)]
    predicted = [labelled((0, 2, "LOC"), id=str(n)) if n % 2 else labelled(id=str(n)) for n in range(20)]
    found = [(mistake.kind, mistake.truth.id) for mistake in find_errors(gold, predicted).examples(2)]
    assert found == [("type", "1"), ("type", "11"), ("missed", "0"), ("missed", "10")]


def test_an_example_has_both_labellings_of_the_sentence():
    gold = Sentence(("Ada", "slept"), (Entity(0, 1, "PER"),), id="a", language="en")
    (shown,) = find_errors([gold], [gold.with_entities([])]).as_dict(3)["examples"]
    person = {"start": 0, "end": 1, "type": "PER"}
    assert shown == {
        "kind": "missed", "id": "a", "words": ["Ada", "slept"], "language": "en",
        "gold": [person], "predicted": [], "gold_entity": person, "predicted_entity": None,
    }  # fmt: skip


def test_types_and_kinds_come_in_order():
    errors = find_errors([labelled((0, 2, "PER"))], [labelled((0, 2, "LOC"), (4, 5, "ART"))])
    assert [(type_, list(row)) for type_, row in errors.per_type.items()] == [
        ("ART", [CORRECT, *KINDS]), ("PER", [CORRECT, *KINDS])
    ]  # fmt: skip


def test_other_sentences_are_refused():
    with pytest.raises(DataError, match="no predicted sentence has this id"):
        find_errors([labelled(id="1"), labelled(id="2")], [labelled(id="1")])
