from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from nersery.core.errors import SettingsError, UnfittedError
from nersery.core.sentence import Entity, Sentence
from nersery.models.packed.packed_encoder import can_pack
from nersery.taggers.networks import word_attention as module
from nersery.taggers.networks.word_attention import between_words, word_attention
from nersery.taggers.transformer import TransformerTagger
from tests.standins import Memory

GOLD = [
    Sentence(("Ada", "Lovelace", "wrote", "the", "first", "program"), (Entity(0, 2, "PER"),), id="a"),
    Sentence(("Oslo",), (Entity(0, 1, "LOC"),), id="b"),
    Sentence(("नमस्ते", "दुनिया", "\u200b", "Xylophones", "in", "Boston"), (Entity(5, 6, "LOC"),), id="c"),
    Sentence(("Grace", "Hopper", "spoke"), (Entity(0, 2, "PER"),), id="d"),
]
LONG = Sentence(("lives", "in") * 60, id="long")


@pytest.fixture(scope="module", params=["linear", "crf"])
def trained(request: pytest.FixtureRequest, tiny_model: str) -> TransformerTagger:
    trained = TransformerTagger(model=tiny_model, head=request.param, steps=1, precision="fp32")
    trained.fit(GOLD)
    return trained


@pytest.fixture(params=[True, False], ids=["packed", "padded"])
def is_packed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if not request.param:
        monkeypatch.setattr(module, "can_pack", lambda _: False)
    return bool(request.param)


@pytest.fixture
def tagger(trained: TransformerTagger, is_packed: bool) -> TransformerTagger:
    copied = copy.deepcopy(trained)
    assert can_pack(copied.network)
    return copied


def by_hand(tagger: TransformerTagger, sentence: Sentence, layers: int) -> np.ndarray:
    """The attention in one unpadded sentence that fits a window, calculated with loops."""
    network, encoder = tagger.network, tagger.encoder
    subwords = encoder.subwords(sentence.words)
    network.set_attn_implementation("eager")
    ids = torch.tensor([[*encoder.prefix, *(subword for word in subwords for subword in word), *encoder.suffix]])
    with torch.no_grad():
        attentions = network(input_ids=ids, output_attentions=True).attentions[-layers:]
    total = sum(layer[0, head] for layer in attentions for head in range(layer.shape[1]))
    spans, position = [], len(encoder.prefix)
    for word in subwords:
        spans.append(range(position, position + len(word)))
        position += len(word)
    return np.array(
        [
            [sum(float(total[a, b]) for a in source for b in target) / len(source) for target in spans]
            for source in spans
        ]
    )


def test_sums_attention_to_subwords_and_averages_attention_from_them() -> None:
    special = 9.0
    subwords = np.full((6, 6), special)
    subwords[1:5, 1:5] = [
        [0.10, 0.20, 0.30, 0.05],
        [0.30, 0.00, 0.10, 0.15],
        [0.40, 0.10, 0.20, 0.10],
        [0.00, 0.30, 0.00, 0.60],
    ]
    # two words of two subwords: rows 1, 2 and rows 3, 4
    assert between_words(subwords, [1, 3], 5) == pytest.approx(
        np.array(
            [
                [(0.10 + 0.20 + 0.30 + 0.00) / 2, (0.30 + 0.05 + 0.10 + 0.15) / 2],
                [(0.40 + 0.10 + 0.00 + 0.30) / 2, (0.20 + 0.10 + 0.00 + 0.60) / 2],
            ]
        )
    )


@pytest.mark.parametrize("layers", [0, 1, 2, 4])
def test_heads_and_the_last_layers_are_summed(tagger: TransformerTagger, layers: int) -> None:
    found = word_attention(tagger, GOLD, layers)
    for sentence, attention in zip(GOLD, found, strict=True):
        assert attention.shape == (len(sentence), len(sentence))
        assert attention == pytest.approx(by_hand(tagger, sentence, layers), abs=1e-5)


def test_attention_does_not_depend_on_the_batch(tagger: TransformerTagger) -> None:
    tagger.precision = "bf16"  # which rounds, so that another shape or mask would show
    four = Sentence(("Oslo", "in"), id="as long as a pass")
    many = [*GOLD, LONG, four] * 5
    together = word_attention(tagger, many)
    backwards = word_attention(tagger, many[::-1])[::-1]
    alone = [word_attention(tagger, [sentence])[0] for sentence in many]
    for one, other, third in zip(together, backwards, alone, strict=True):
        assert np.array_equal(one, other)
        assert np.array_equal(one, third)


def test_long_sentences_are_processed_window_by_window(tagger: TransformerTagger) -> None:
    (found,) = word_attention(tagger, [LONG])
    windows = tagger.encoder.windows(LONG.words)
    assert len(windows) > 1
    for window in windows:
        seen = range(window.start, window.start + len(window.firsts))
        shown = Sentence(LONG.words[seen.start : seen.stop])
        expected = by_hand(tagger, shown, 4)
        for word in range(*window.core):
            assert found[word, seen.start : seen.stop] == pytest.approx(expected[word - seen.start], abs=1e-5)
            assert not found[word, [other for other in range(len(LONG)) if other not in seen]].any()


def test_the_network_is_left_as_it_was(tagger: TransformerTagger, monkeypatch: pytest.MonkeyPatch) -> None:
    network = tagger.network
    network.set_attn_implementation("sdpa")
    before = [s.entities for s in tagger.predict(GOLD)], [e.score for s in tagger.predict(GOLD) for e in s.entities]
    word_attention(tagger, GOLD)
    assert network.config._attn_implementation == "sdpa"
    assert not network.config.output_attentions
    assert (
        [s.entities for s in tagger.predict(GOLD)],
        [e.score for s in tagger.predict(GOLD) for e in s.entities],
    ) == before
    monkeypatch.setattr(network.base_model.encoder.layer[-1].attention.self.query, "forward", broken)
    with pytest.raises(RuntimeError, match="out of memory"):
        word_attention(tagger, GOLD)
    assert network.config._attn_implementation == "sdpa"


def broken(*_: object) -> None:
    raise RuntimeError("out of memory")


def without(**_: object) -> object:
    return type("Output", (), {"attentions": None})


def of_neighbours(input_ids: torch.Tensor, **_: object) -> object:
    """Like Longformer: attention to a few subwords around each one."""
    return type("Output", (), {"attentions": (torch.ones(*input_ids.shape[:1], 2, input_ids.shape[1], 3),)})


@pytest.mark.parametrize("forward", [without, of_neighbours])
def test_a_model_without_attention_is_refused(
    tiny_model: str, forward: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    tagger = TransformerTagger(model=tiny_model, steps=1)
    tagger.fit(GOLD)
    monkeypatch.setattr(module, "can_pack", lambda _: False)
    monkeypatch.setattr(tagger.network, "forward", forward)
    with pytest.raises(SettingsError, match=r'does not return the attention .* keywords = "random"'):
        word_attention(tagger, GOLD)


def test_refuses_taggers_without_attention_or_fit(tiny_model: str) -> None:
    with pytest.raises(SettingsError, match="has no attention"):
        word_attention(Memory(), GOLD)
    with pytest.raises(UnfittedError, match="is not fitted"):
        word_attention(TransformerTagger(model=tiny_model), GOLD)


def test_refuses_a_network_that_computes_nan(tagger: TransformerTagger) -> None:
    nn.init.constant_(tagger.network.base_model.encoder.layer[1].attention.self.query.weight, torch.nan)
    with pytest.raises(SettingsError, match="computes NaN"):
        word_attention(tagger, GOLD)


def test_empty_input(tagger: TransformerTagger) -> None:
    assert word_attention(tagger, []) == []
