from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from nersery.models.packed.packed_encoder import ROW, attention_in_one_row, can_pack, in_one_row, pack, packed_rows
from nersery.models.training.vocabulary_pruning import pruned_vocabulary

KINDS = ("Bert", "Roberta", "XLMRoberta", "Camembert", "MPNet")
HEADS = ("TokenClassification", "MaskedLM", "QuestionAnswering")
SIZES = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
}
LENGTHS = (12, 3, 11, 5, 1, 12)


def made(kind: str, head: str = "TokenClassification", **settings: float) -> Any:
    """A tiny network with large random weights, in training mode."""
    torch.manual_seed(0)
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, **settings}
    network = getattr(transformers, f"{kind}For{head}")(getattr(transformers, f"{kind}Config")(**SIZES, **rates))
    for weights in network.parameters():
        torch.nn.init.normal_(weights, std=0.3)
    return network.train()


def batch(network: Any, lengths: tuple[int, ...] = LENGTHS) -> dict[str, Tensor]:
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)).long()
    ids = torch.randint(3, 50, mask.shape, generator=torch.Generator().manual_seed(1))
    return {"input_ids": ids.where(mask == 1, network.config.pad_token_id), "attention_mask": mask}


def learnt(network: Any, inputs: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
    """The output at real subwords, and the gradient of a fixed function of it."""
    network.zero_grad()
    output = network(**inputs)
    logits = output.logits if "logits" in output else torch.stack([output.start_logits, output.end_logits], -1)
    logits = logits[inputs["attention_mask"] == 1]
    (logits * torch.linspace(-1, 1, logits.numel()).view_as(logits)).sum().backward()
    gradients = {name: weights.grad for name, weights in network.named_parameters() if weights.grad is not None}
    return logits.detach(), {name: gradient.clone() for name, gradient in gradients.items()}


def assert_same(network: Any, inputs: dict[str, Tensor]) -> None:
    whole, gradients = learnt(network, inputs)
    calls = count_rows(pack(network))
    found, packed_gradients = learnt(network, inputs)
    assert calls == [(int(inputs["attention_mask"].sum()),)], "padding went through the first linear layer"
    torch.testing.assert_close(found, whole, atol=1e-5, rtol=1e-4)
    assert packed_gradients.keys() == gradients.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(packed_gradients[name], gradient, atol=1e-4, rtol=1e-3, msg=name)


def count_rows(network: Any) -> list[tuple[int, ...]]:
    """A list that collects the shapes, without the last dimension, of inputs of the first linear layer."""
    shapes: list[tuple[int, ...]] = []
    first = next(m for m in network.base_model.encoder.modules() if isinstance(m, torch.nn.Linear))
    first.register_forward_pre_hook(lambda _, inputs: shapes.append(tuple(inputs[0].shape[:-1])))
    return shapes


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("kind", KINDS)
def test_logits_and_gradients_equal_those_of_transformers(kind: str, head: str) -> None:
    network = made(kind, head)
    assert_same(network, batch(network))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [(1,), (7,), (9, 9, 9), (12, 1, 1, 1, 1, 1, 1)])
def test_accepts_batches_of_any_lengths(kind: str, lengths: tuple[int, ...]) -> None:
    network = made(kind)
    assert_same(network, batch(network, lengths))


@pytest.mark.parametrize("kind", KINDS)
def test_padding_may_be_anywhere(kind: str) -> None:
    network = made(kind)
    inputs = batch(network)
    inputs["attention_mask"][0, :4] = 0
    if kind != "MPNet":  # MPNet uses distances; nersery pads only at the end
        inputs["attention_mask"][2, 3:6] = 0
    assert_same(network, inputs)


def test_token_types_are_used() -> None:
    network = made("Bert", "QuestionAnswering")
    inputs = batch(network)
    assert_same(network, {**inputs, "token_type_ids": inputs["input_ids"] % 2})


@pytest.mark.parametrize("kind", ["Bert", "MPNet"])
def test_logits_in_bf16_are_close_to_those_of_transformers(kind: str) -> None:
    network = made(kind)
    inputs = batch(network)
    with torch.autocast("cpu", torch.bfloat16):
        whole, _ = learnt(network, inputs)
        found, _ = learnt(pack(network), inputs)
    torch.testing.assert_close(found, whole, atol=0.05, rtol=0.05)
    assert not torch.equal(found, whole)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [LENGTHS, (1,), (32,), (9, 9, 9)])
def test_padding_to_recurring_shapes_does_not_change_the_output(
    kind: str, lengths: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = pack(made(kind))
    inputs = batch(network, lengths)
    calls = count_rows(network)
    expected, exact = learnt(network, inputs)
    monkeypatch.setattr("nersery.models.packed.packed_encoder._is_compiled", lambda device: True)
    found, gradients = learnt(network, inputs)
    assert calls == [(sum(lengths),), (sum(lengths) + -sum(lengths) % 32,)]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    for name, gradient in exact.items():
        torch.testing.assert_close(gradients[name], gradient, atol=1e-4, rtol=1e-3, msg=name)


def test_dropout_follows_the_seed() -> None:
    network = pack(made("Roberta", hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1))
    inputs = batch(network)
    torch.manual_seed(3)
    first, other = (learnt(network, inputs)[0] for _ in range(2))
    torch.manual_seed(3)
    again, _ = learnt(network, inputs)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("kind", ["Bert", "MPNet"])
def test_still_returns_attention_weights_and_states_of_all_layers(kind: str) -> None:
    network = pack(made(kind))
    network.set_attn_implementation("eager")
    output = network(**batch(network), output_attentions=True, output_hidden_states=True)
    assert [weights.shape for weights in output.attentions] == [(6, 2, 12, 12)] * 2
    assert [states.shape for states in output.hidden_states] == [(6, 12, 16)] * 3


def in_row(network: Any, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    with torch.no_grad():
        return dict(in_one_row(pack(network).eval(), **inputs))


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_in_one_row_equal_those_of_transformers(kind: str, head: str) -> None:
    network = made(kind, head).eval()
    inputs = batch(network)
    if kind == "Bert":
        inputs["token_type_ids"] = inputs["input_ids"] % 2 * inputs["attention_mask"]
    whole = dict(network(**inputs))
    calls = count_rows(pack(network))
    found = in_row(network, inputs)
    assert calls == [(ROW,)]
    assert found.keys() == whole.keys()
    there = inputs["attention_mask"] == 1
    for name, value in found.items():
        torch.testing.assert_close(value[there], whole[name][there].detach(), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", ["Bert", "MPNet"])
def test_other_texts_in_a_row_do_not_change_a_bit(kind: str, precision: torch.dtype) -> None:
    network = made(kind)
    lengths = tuple(range(1, 38)) * 2
    inputs = batch(network, lengths)
    chance = random.Random(0)
    with torch.autocast("cpu", precision, enabled=precision != torch.float32):
        alone = [in_row(network, {name: ids[n : n + 1] for name, ids in inputs.items()}) for n in range(len(lengths))]
        for _ in range(3):
            together = chance.sample(range(len(lengths)), 12)
            found = in_row(network, {name: ids[together] for name, ids in inputs.items()})["logits"]
            for place, n in enumerate(together):
                assert torch.equal(found[place, : lengths[n]], alone[n]["logits"][0, : lengths[n]])


@pytest.mark.parametrize("kind", KINDS)
def test_row_padding_is_part_of_a_pruned_vocabulary(kind: str) -> None:
    network = made(kind)
    inputs = batch(network)
    whole = in_row(network, inputs)["logits"]
    with pruned_vocabulary(network, {network.config.pad_token_id, *inputs["input_ids"].flatten().tolist()}):
        assert torch.equal(in_row(network, inputs)["logits"], whole)


@given(st.lists(st.integers(1, ROW), max_size=60))
def test_rows_contain_each_window_once_and_are_full(lengths: list[int]) -> None:
    found = [*packed_rows(lengths)]
    assert sorted(n for row in found for n in row) == [*range(len(lengths))]
    sizes = [sum(lengths[n] for n in row) for row in found]
    assert all(size <= ROW for size in sizes)
    assert all(one + other > ROW for one, other in itertools.pairwise(sizes))


def test_rows_are_only_for_packed_networks() -> None:
    assert can_pack(pack(made("Bert")))
    assert can_pack(pack(made("Bert")).base_model)
    assert not can_pack(made("Bert"))
    assert not can_pack(torch.nn.Linear(1, 1)), "an export of a tagger"


def test_prediction_pads_as_transformers_does() -> None:
    network = made("Bert").eval()
    inputs = batch(network)
    whole = network(**inputs).logits
    assert torch.equal(pack(network)(**inputs).logits, whole)


def test_other_architectures_are_unchanged() -> None:
    sizes = {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 32, "vocab_size": 50}
    network = transformers.DistilBertForTokenClassification(transformers.DistilBertConfig(**sizes))
    decoder = transformers.BertModel(transformers.BertConfig(**SIZES, is_decoder=True))
    for known in (network, decoder):
        pack(known)
        assert "forward" not in vars(known.base_model)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_attention_in_one_row_equals_that_of_transformers(kind: str, layers: int) -> None:
    network = made(kind).eval()
    inputs = batch(network, tuple(sorted(LENGTHS, reverse=True)))
    network.set_attn_implementation("eager")
    with torch.no_grad():
        expected = sum(one.sum(1) for one in network(**inputs, output_attentions=True).attentions[-layers:])
        windows = [ids[: int(mask.sum())].tolist() for ids, mask in zip(*inputs.values(), strict=True)]
        found = attention_in_one_row(pack(network), windows, layers)
    for attention, whole in zip(found, expected, strict=True):
        torch.testing.assert_close(attention, whole[: len(attention), : len(attention)], atol=1e-5, rtol=1e-5)
