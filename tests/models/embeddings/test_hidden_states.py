from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    BrosConfig,
    BrosModel,
    FunnelConfig,
    FunnelModel,
    T5Config,
    T5EncoderModel,
    T5Model,
    XLMConfig,
    XLMModel,
)

from nersery.core.errors import MissingResourceError, SettingsError
from nersery.models.embeddings.hidden_states import LayerEncoder
from nersery.models.embeddings.text_encoder import TextEncoder
from nersery.models.packed.packed_encoder import ROW
from nersery.models.pretrained.loading import ModelSource
from tests.conftest import TINY

TEXTS = [
    ["Ada", "wrote", "in", "London"],
    ["दिल्ली", "में", "।"],
    ["Oslo"],
    [],
    ["Ada", "Lovelace"] * 100,
    ["👩‍👩‍👧", "東京"],
]


def opened(folder: Path | str, layer: int | None = None, **settings: Any) -> LayerEncoder:
    return LayerEncoder(ModelSource(str(folder)), layer, **{"device": "cpu", "precision": "fp32", **settings})


def of_text(encoder: LayerEncoder, texts: list[list[str]], number: int) -> Tensor:
    states = encoder.hidden_states(texts)
    start = states.starts[number]
    return states.values[start : start + len(states.owners[number])]


def test_refuses_an_encoder_that_needs_more_than_text(tiny_model: str, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_model, tmp_path / "model")
    BrosModel(BrosConfig(vocab_size=500, **TINY)).save_pretrained(folder)
    with pytest.raises(MissingResourceError, match=r"cannot read plain text: .*bbox"):
        opened(folder).hidden_states(TEXTS)


@pytest.mark.parametrize("kind", ["wordpiece", "bytes", "unigram"])
@pytest.mark.parametrize("layer", [1, 2])
def test_hidden_states_equal_those_of_the_whole_model(tiny_models: dict[str, Path], kind: str, layer: int) -> None:
    """Each window by itself, without padding, through all layers."""
    source = ModelSource(str(tiny_models[kind]))
    encoder, network = opened(source.name, layer), source.model("AutoModel").eval()
    states = encoder.hidden_states(TEXTS)
    for number, text in enumerate(TEXTS):
        expected, owners = [], []
        for window in encoder.subwords.windows(text):
            with torch.no_grad():
                output = network(torch.tensor([window.subwords]), output_hidden_states=True)
            for word in range(*window.core):
                start, end = encoder.subwords.word_spans(window)[word - window.start]
                expected += [*output.hidden_states[layer][0, start:end]]
                owners += [word] * (end - start)
        assert states.owners[number] == tuple(owners)
        found = states.values[states.starts[number] :][: len(owners)]
        assert torch.allclose(found, torch.stack(expected) if expected else found, atol=1e-5)
    assert len(states.values) == sum(map(len, states.owners)) + 1
    assert not states.values[-1].any()


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_other_texts_in_the_batch_do_not_change_a_bit(tiny_model: str, precision: str) -> None:
    encoder = opened(tiny_model, precision=precision)
    many = [*TEXTS, *([f"word{number}"] * (number % 9 + 1) for number in range(50))]
    together = encoder.hidden_states(many)
    for number in range(0, len(many), 4):
        start, owners = together.starts[number], together.owners[number]
        assert torch.equal(of_text(encoder, [many[number]], 0), together.values[start : start + len(owners)])


@pytest.mark.parametrize("packed", [True, False])
def test_the_shape_of_a_pass_depends_on_each_window_separately(
    packed: bool, tiny_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A product of matrices rounds differently for other shapes, though not with models as small as this one."""
    if not packed:
        monkeypatch.setattr("nersery.models.embeddings.hidden_states.can_pack", lambda network: False)
    encoder = opened(tiny_model)
    encoder.hidden_states([["Oslo"]])  # the first call also looks whether it can do without the upper layers

    def shapes(texts: list[list[str]]) -> set[tuple[int, ...]]:
        seen = set()
        watch = encoder.network.register_forward_pre_hook(
            lambda module, args, kwargs: seen.add(tuple(kwargs["input_ids"].shape)), with_kwargs=True
        )
        encoder.hidden_states(texts)
        watch.remove()
        return seen

    alone = {length: shapes([["Oslo"] * length]) for length in range(1, 62)}
    lengths = {ROW} if packed else {8, 16, 24, 32, 40, 48, 56, 64}
    assert {shape[1] for found in alone.values() for shape in found} == lengths
    assert all(len(found) == 1 for found in alone.values())
    for many in ([["Oslo"] * length for length in alone], [["Oslo"] * 4] * 300, [["Oslo"] * 5, ["Oslo"]] * 70):
        assert shapes(many) == {shape for text in many for shape in alone[len(text)]}


def test_a_word_that_the_tokenizer_removes_has_no_subword(tiny_model: str) -> None:
    states = opened(tiny_model).hidden_states([["Ada", "\u200d", "☃"], ["\u200d"]])
    assert states.owners == ((0, 2), ())


def test_higher_layers_are_not_computed(tiny_model: str) -> None:
    encoder = opened(tiny_model, 1)
    before = of_text(encoder, TEXTS, 0)
    with torch.no_grad():
        for parameter in encoder.network.encoder.layer[1].parameters():
            parameter.fill_(float("nan"))
    assert torch.equal(of_text(encoder, TEXTS, 0), before)
    assert len(encoder.network.encoder.layer) == 2


@pytest.mark.parametrize("layer", [1, 2])
def test_accepts_a_model_with_a_norm_after_its_last_layer(
    tmp_path: Path, tiny_models: dict[str, Path], layer: int
) -> None:
    from transformers import T5Config, T5Model

    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_heads": 2, "num_layers": 2, "num_decoder_layers": 1}
    T5Model(T5Config(vocab_size=500, **sizes)).save_pretrained(tmp_path)
    ModelSource(str(tiny_models["unigram"])).tokenizer().save_pretrained(tmp_path)
    encoder = opened(tmp_path, layer)
    network = ModelSource(str(tmp_path)).model("AutoModel").eval().get_encoder()
    with torch.no_grad():
        subwords = torch.tensor([encoder.subwords.windows(TEXTS[0])[0].subwords])
        expected = network(subwords, output_hidden_states=True).hidden_states[layer][0]
    front = len(encoder.subwords.prefix)
    found = of_text(encoder, TEXTS, 0)
    assert torch.allclose(found, expected[front : front + len(found)], atol=1e-5)


def test_the_default_layer_is_two_thirds_of_the_way_up(tmp_path: Path, tiny_model: str) -> None:
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    for layers, expected in ((12, 8), (6, 4), (3, 2), (1, 1)):
        config = AutoConfig.from_pretrained(tiny_model, num_hidden_layers=layers)
        AutoModel.from_config(config).save_pretrained(tmp_path)
        AutoTokenizer.from_pretrained(tiny_model).save_pretrained(tmp_path)
        assert opened(tmp_path).layer == expected


@pytest.mark.parametrize("layer", [0, 3, -1])
def test_refuses_a_missing_layer(tiny_model: str, layer: int) -> None:
    with pytest.raises(SettingsError, match="from 1 to 2"):
        opened(tiny_model, layer)


def test_can_read_texts_whose_words_fit(tiny_model: str) -> None:
    encoder = opened(tiny_model)
    assert encoder.can_read(["Ada"] * 500)
    assert encoder.can_read([])
    assert not encoder.can_read(["Ada", "da" * 40])
    assert encoder.subword_count(["Ada", "da" * 40]) == 81


T5 = {"vocab_size": 500, "d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2, "pad_token_id": 0}
XLM = {"vocab_size": 500, "emb_dim": 32, "n_layers": 3, "n_heads": 2, "max_position_embeddings": 64, "pad_index": 0}
FUNNEL = {"vocab_size": 500, "d_model": 32, "block_sizes": [1, 1], "n_head": 2, "d_head": 16, "d_inner": 64}


def saved(model: type, config: type, settings: dict[str, Any], tokenizer: str, folder: Path) -> Path:
    """A tiny model of another family, with its own tokenizer."""
    shutil.copytree(tokenizer, folder, ignore=lambda *_: ["config.json", "model.safetensors"])
    torch.manual_seed(0)
    model(config(**settings)).save_pretrained(folder)
    return folder


def test_an_encoder_that_was_saved_without_its_decoder_is_complete(tiny_model: str, tmp_path: Path) -> None:
    whole = saved(T5Model, T5Config, T5, tiny_model, tmp_path / "whole")
    alone = shutil.copytree(whole, tmp_path / "alone")
    T5EncoderModel.from_pretrained(whole).save_pretrained(alone)
    assert torch.equal(opened(alone).hidden_states(TEXTS).values, opened(whole).hidden_states(TEXTS).values)
    vectors = [TextEncoder(ModelSource(str(folder)), precision="fp32").sentences(TEXTS) for folder in (whole, alone)]
    assert (vectors[0] == vectors[1]).all()


def test_computes_all_layers_of_a_model_that_counts_them_itself(tiny_model: str, tmp_path: Path) -> None:
    encoder = opened(saved(XLMModel, XLMConfig, XLM, tiny_model, tmp_path / "xlm"))
    assert not encoder._can_truncate
    assert encoder.hidden_states(TEXTS).values[:-1].any()


def test_refuses_a_model_that_shortens_texts(tiny_model: str, tmp_path: Path) -> None:
    encoder = opened(saved(FunnelModel, FunnelConfig, FUNNEL, tiny_model, tmp_path / "funnel"))
    with pytest.raises(SettingsError, match="has 2 hidden states for 3 subwords, expected one for each"):
        encoder.hidden_states(TEXTS)
