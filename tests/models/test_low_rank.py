from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from low_rank import LowRankEmbedding, LowRankLinear, TiedDecoder, adapters, add_adapters, replace_module, save_adapters
from transformers import BertConfig, BertForMaskedLM

from nersery.models.bundled_models.bundled_heads import add_head
from tests.conftest import TINY

ROWS = [2, 5, 7, 30]


def fresh() -> Any:
    torch.manual_seed(0)
    return BertForMaskedLM(BertConfig(**TINY, vocab_size=40)).eval()


@pytest.fixture
def adapted() -> Any:
    """A model with non-zero adapters."""
    model = fresh()
    embedding = LowRankEmbedding(model.get_input_embeddings(), ROWS, 3)
    replace_module(model, "cls.predictions.decoder", TiedDecoder(embedding, torch.zeros(len(ROWS))))
    replace_module(model, "bert.embeddings.word_embeddings", embedding)
    add_adapters(model, "bert.encoder.", 2)
    for name, parameter in model.named_parameters():
        if name.endswith(".up"):
            torch.nn.init.normal_(parameter, std=0.1)
    return model


def test_a_fresh_adapter_changes_nothing() -> None:
    layer = torch.nn.Linear(5, 7)
    inputs = torch.randn(2, 3, 5)
    assert torch.equal(LowRankLinear(layer, 2)(inputs), layer(inputs))


def test_only_the_factors_are_trained(adapted: Any) -> None:
    adapted(input_ids=torch.tensor([ROWS])).logits.sum().backward()
    for _, module in adapters(adapted):
        assert not module.weight.requires_grad
        assert module.up.grad is not None


def test_saved_adapters_are_restored_in_a_plain_model(adapted: Any, tmp_path: Path) -> None:
    ids = torch.tensor([ROWS, ROWS[::-1]])
    with torch.no_grad():
        expected = adapted(input_ids=ids).logits
        save_adapters(adapted, tmp_path / "learnt.safetensors", skipped=["cls.predictions.decoder.bias"])
        plain = fresh()
        add_head(plain, tmp_path / "learnt.safetensors", "masked language model")
        found = plain(input_ids=ids).logits
    assert torch.allclose(found[..., ROWS], expected, atol=0.02)
    assert not torch.allclose(found, fresh()(input_ids=ids).logits, atol=0.02)


def test_chosen_rows_get_the_same_scores_as_among_all(adapted: Any) -> None:
    decoder = adapted.cls.predictions.decoder
    states = torch.randn(3, TINY["hidden_size"])
    everything = decoder(states)
    decoder.chosen = torch.tensor([3, 1])
    assert torch.allclose(decoder(states), everything[:, [3, 1]], atol=1e-6)
