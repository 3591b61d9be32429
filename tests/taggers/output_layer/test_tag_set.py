from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery.core.errors import MissingResourceError
from nersery.core.sentence import Entity
from nersery.taggers.output_layer.tag_set import TagSet


@st.composite
def labels(draw):
    length = draw(st.integers(1, 12))
    entities, position = [], 0
    while position < length:
        start = draw(st.integers(position, length))
        if start == length:
            break
        end = draw(st.integers(start + 1, length))
        entities.append(Entity(start, end, draw(st.sampled_from(["A", "B-C", "व्यक्ति"]))))
        position = end
    return length, entities


@given(labels(), st.sampled_from(["IOB2", "BIOES"]))
def test_entities_survive_a_round_trip_through_tags(case, scheme) -> None:
    length, entities = case
    tags = TagSet.of(["A", "B-C", "व्यक्ति"], scheme)
    indices = tags.indices(entities, length)
    assert tags.entities(indices, [1.0] * length) == entities
    assert tags.allowed_start[indices[0]]
    assert tags.allowed_end[indices[-1]]
    assert all(tags.allowed[a, b] for a, b in itertools.pairwise(indices))


def test_an_inside_of_another_type_is_forbidden() -> None:
    tags = TagSet.of(["A", "B"])
    index = {name: number for number, name in enumerate(tags.names)}
    assert not tags.allowed[index["B-A"], index["I-B"]]
    assert not tags.allowed[index["O"], index["I-A"]]
    assert not tags.allowed_start[index["I-A"]]


def test_decodes_tags_of_models_without_begin_tags() -> None:
    tags = TagSet(("O", "I-PER", "I-LOC"))
    assert [e.type for e in tags.entities([1, 1, 2, 0], [1.0] * 4)] == ["PER", "LOC"]


@pytest.mark.parametrize("strict", [True, False])
def test_adjacent_entities_of_one_type_stay_separate(strict: bool) -> None:
    tags = TagSet(("O", "B-PER", "I-PER"), strict=strict)
    assert tags.indices([Entity(0, 1, "PER"), Entity(1, 3, "PER")], 3) == [1, 1, 2]


def test_refuses_a_model_whose_labels_are_not_tags() -> None:
    with pytest.raises(MissingResourceError, match="NEGATIVE"):
        _ = TagSet(("NEGATIVE", "POSITIVE")).parts
