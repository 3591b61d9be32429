"""Many short texts in little memory."""

import pickle
import tracemalloc

import numpy as np

from nersery.crosslingual.hmm.texts import UNKNOWN, SymbolTable, Texts


def test_numbers_are_those_of_a_dictionary():
    words = [f"w{number * number % 5000:x}" for number in range(9000)] + ["", "दिल्ली", "東京", "\ud800", "É"]
    numbers, expected = SymbolTable(), {}
    for word in words:
        assert numbers.find(word) == expected.get(word, UNKNOWN)
        assert numbers.add(word) == expected.setdefault(word, len(expected))
    assert list(numbers) == list(expected)
    assert len(numbers) == len(expected)
    assert [numbers.find(word) for word in expected] == list(expected.values())
    assert [numbers[number] for number in expected.values()] == list(expected)
    assert pickle.loads(pickle.dumps(numbers)).find("東京") == expected["東京"]


def test_lengths_of_texts_are_known():
    texts = Texts()
    for text in ("abc", "", "x" * 300):
        texts.append(text)
    assert texts.lengths(np.array([2, 0, 1])).tolist() == [300, 3, 0]
    assert [texts[number] for number in range(len(texts))] == ["abc", "", "x" * 300]


def test_a_text_takes_little_memory():
    tracemalloc.start()
    try:
        numbers = SymbolTable(f"word{number:x}" for number in range(20_000))
        assert tracemalloc.get_traced_memory()[0] < 35 * len(numbers)
    finally:
        tracemalloc.stop()
