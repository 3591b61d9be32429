"""Sentences of all lengths are decoded in batches, whose memory does not grow with one long sentence."""

from __future__ import annotations

import torch

from nersery.taggers.output_layer import decoding


def test_decodes_a_long_sentence_separately_from_short_ones(monkeypatch) -> None:
    monkeypatch.setattr(decoding, "MAX_DECODED", 300)
    lengths = [3, 100, 2, 20, 3, 3]
    found = list(decoding._padded([torch.rand(length, 2, 5) for length in lengths]))
    assert [numbers for numbers, *_ in found] == [[2, 0, 4, 5], [3], [1]]
    assert [tuple(padded.shape) for _, padded, _ in found] == [(4, 2, 3, 5), (1, 2, 20, 5), (1, 2, 100, 5)]
    assert [mask.sum(1).tolist() for *_, mask in found] == [[2, 3, 3, 3], [20], [100]]


def test_decodes_fewer_sentences_at_once_with_many_tags(monkeypatch) -> None:
    monkeypatch.setattr(decoding, "MAX_DECODED", 300)
    assert [len(numbers) for numbers, *_ in decoding._padded([torch.rand(1, 1, 10)] * 5)] == [3, 2]
    assert [len(numbers) for numbers, *_ in decoding._padded([torch.rand(1, 3, 10)] * 3)] == [1, 1, 1]


def test_decodes_at_most_a_fixed_number_of_sentences_at_once(monkeypatch) -> None:
    monkeypatch.setattr(decoding, "MAX_SENTENCES", 2)
    assert [len(numbers) for numbers, *_ in decoding._padded([torch.rand(1, 1, 2)] * 5)] == [2, 2, 1]
    assert list(decoding._padded([])) == []
