from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nersery.core.errors import SettingsError
from nersery.models.embeddings.text_encoder import TextEncoder
from nersery.models.pretrained.loading import ModelSource

TEXTS = [
    ["Ada", "wrote", "in", "London"],
    ["दिल्ली", "में", "।"],
    ["東京", "は", "首都"],
    ["Oslo"],
    ["👩‍👩‍👧", "\u200b"],
    ["Ada", "Lovelace"] * 100,
    ["x" * 400],
]


@pytest.fixture(scope="module", params=["wordpiece", "bytes", "unigram"])
def encoder(request: pytest.FixtureRequest, tiny_models: dict[str, Path]) -> TextEncoder:
    return TextEncoder(ModelSource(str(tiny_models[request.param])), device="cpu", precision="fp32")


def by_hand(source: ModelSource, text: list[str]) -> Any:
    """The last layer for a text that fits, computed with transformers without padding."""
    model, tokenizer = source.model("AutoModel").eval(), source.tokenizer()
    with torch.no_grad():
        inputs = tokenizer([text], is_split_into_words=True, return_tensors="pt")
        return model(**inputs).last_hidden_state[0].numpy(), inputs.word_ids()


def test_a_sentence_is_the_normalized_mean_of_its_subwords(tiny_model: str) -> None:
    source = ModelSource(tiny_model)
    embeddings = TextEncoder(source, precision="fp32").sentences(TEXTS[:4])
    for text, row in zip(TEXTS[:4], embeddings, strict=True):
        mean = by_hand(source, text)[0].mean(0)
        assert row == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_embeddings_are_float32_unit_vectors(encoder: TextEncoder) -> None:
    embeddings = encoder.sentences(TEXTS)
    assert embeddings.shape == (len(TEXTS), 32)
    assert embeddings.dtype == np.float32
    assert np.linalg.norm(embeddings, axis=1) == pytest.approx(1)
    assert encoder.sentences([]).shape == (0, 32)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_other_texts_in_the_batch_do_not_change_a_bit(tiny_model: str, precision: Any) -> None:
    encoder = TextEncoder(ModelSource(tiny_model), device="cpu", precision=precision)
    many = [*TEXTS, *([f"word{number}"] * (number % 9 + 1) for number in range(50))]
    together = encoder.sentences(many)
    for number, text in enumerate(many):
        assert np.array_equal(encoder.sentences([text])[0], together[number])


def test_the_chunk_size_does_not_matter(encoder: TextEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = encoder.sentences(TEXTS)
    monkeypatch.setattr("nersery.models.embeddings.text_encoder.CHUNK", 2)
    assert np.array_equal(encoder.sentences(TEXTS), expected)


def test_the_end_of_a_long_text_matters(encoder: TextEncoder) -> None:
    long = ["Ada", "wrote"] * 60
    whole, cut = encoder.sentences([[*long, "Oslo", "Oslo", "Oslo"], long])
    assert not np.allclose(whole, cut, atol=1e-4)


def test_every_word_of_a_long_text_counts_once(tiny_model: str) -> None:
    encoder = TextEncoder(ModelSource(tiny_model), precision="fp32")
    text = ["Ada", "wrote", "in", "London"] * 40
    windows = encoder.subwords.windows(text)
    assert len(windows) > 2
    total, count = np.zeros(32), 0
    for window in windows:
        with torch.no_grad():
            hidden = encoder.network(torch.tensor([window.subwords])).last_hidden_state[0].numpy()
        spans = [encoder.subwords.word_spans(window)[word - window.start] for word in range(*window.core)]
        own = [0, *range(spans[0][0], spans[-1][1]), len(hidden) - 1]
        total, count = total + hidden[own].sum(0), count + len(own)
    assert count == sum(map(len, encoder.subwords.subwords(text))) + 2 * len(windows)
    assert encoder.sentences([text])[0] == pytest.approx(total / np.linalg.norm(total), abs=1e-5)


def test_similar_texts_are_close_in_the_bundled_model() -> None:
    encoder = TextEncoder(ModelSource("bundled"))
    physician, doctor, tree = encoder.sentences([["a", "physician"], ["a", "doctor"], ["an", "oak", "tree"]])
    assert physician @ doctor > 0.7 > physician @ tree


def test_uses_the_encoder_of_an_encoder_decoder(tmp_path: Path, tiny_models: dict[str, Path]) -> None:
    from transformers import BartConfig, BartModel

    sizes = {f"{side}_{what}": 2 for side in ("encoder", "decoder") for what in ("layers", "attention_heads")}
    sizes |= {"encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 64}
    BartModel(BartConfig(vocab_size=500, d_model=16, **sizes)).save_pretrained(tmp_path)
    ModelSource(str(tiny_models["bytes"])).tokenizer().save_pretrained(tmp_path)
    source = ModelSource(str(tmp_path))
    embeddings = TextEncoder(source, precision="fp32").sentences(TEXTS[:3])
    encoder, subwords = source.model("AutoModel").eval().get_encoder(), TextEncoder(source).subwords
    for text, row in zip(TEXTS[:3], embeddings, strict=True):
        with torch.no_grad():
            mean = encoder(torch.tensor([subwords.windows(text)[0].subwords])).last_hidden_state[0].mean(0).numpy()
        assert row == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_refuses_nan(tiny_model: str) -> None:
    encoder = TextEncoder(ModelSource(tiny_model))
    with torch.no_grad():
        encoder.network.encoder.layer[0].output.dense.bias.fill_(float("nan"))
    with pytest.raises(SettingsError, match="fp32"):
        encoder.sentences([["Ada"]])
