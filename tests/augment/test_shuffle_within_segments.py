import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nersery import Entity, Sentence
from nersery.augment.shuffle_within_segments import ShuffleWithinSegments
from nersery.augment.words.segments import shuffled

SENTENCE = Sentence(
    tuple("abcdefgh"), (Entity(2, 4, "PER"), Entity(4, 6, "PER")), columns=(tuple("ABCDEFGH"), tuple("12345678"))
)
SEGMENTS = ((0, 2), (2, 4), (4, 6), (6, 8))


@given(st.randoms(use_true_random=False), st.floats(0, 1))
def test_each_segment_keeps_its_words_and_their_columns(rng: random.Random, rate: float):
    new = ShuffleWithinSegments(rate).generate(SENTENCE, rng)
    assert new.entities == SENTENCE.entities
    for start, end in SEGMENTS:
        assert sorted(new.words[start:end]) == sorted(SENTENCE.words[start:end])
    assert new.columns[0] == tuple(word.upper() for word in new.words)
    assert new.columns[1] == tuple(str("abcdefgh".index(word) + 1) for word in new.words)


def test_all_orders_are_equally_likely():
    sentence = Sentence(("a", "b", "c"))
    rng = random.Random(0)
    counts = Counter(ShuffleWithinSegments(1.0).generate(sentence, rng).text for _ in range(6000))
    assert len(counts) == 6
    assert all(count / 6000 == pytest.approx(1 / 6, abs=0.02) for count in counts.values())


def test_rate_is_the_share_of_segments_shuffled():
    sentence = Sentence(tuple(str(number) for number in range(30)), (Entity(10, 20, "PER"),))
    rng = random.Random(0)
    changed = [
        new.words[start : start + 10] != sentence.words[start : start + 10]
        for new in (ShuffleWithinSegments(0.3).generate(sentence, rng) for _ in range(2000))
        for start in (0, 10, 20)
    ]
    assert sum(changed) / len(changed) == pytest.approx(0.3, abs=0.02)


@given(st.integers(1, 12), st.integers(0, 2**64))
def test_segments_are_shuffled_as_the_standard_library_does(length: int, seed: int) -> None:
    words = [f"w{number}" for number in range(length)]
    expected = [*words]
    random.Random(seed).shuffle(expected)
    assert list(shuffled(Sentence(tuple(words)), [(0, length)], random.Random(seed)).words) == expected
