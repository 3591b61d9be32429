"""How models are found and loaded, and which are refused."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LEDConfig, LEDModel

from nersery.core.errors import MissingResourceError
from nersery.core.warnings import collected_notes
from nersery.models.bundled_models import bundled
from nersery.models.pretrained.loading import IMPORTED_BYTES, ModelSource, position_count


def test_refuses_a_folder_without_a_tokenizer(tiny_model: str, tmp_path: Path) -> None:
    shutil.copyfile(Path(tiny_model, "config.json"), tmp_path / "config.json")
    with pytest.raises(MissingResourceError, match=r"has no tokenizer: .*tokenizer\.json"):
        ModelSource(str(tmp_path)).tokenizer()


@pytest.mark.parametrize("name", ["T5Config", "MBartConfig", "DebertaV2Config"])
def test_a_configuration_does_not_make_a_tokenizer(name: str, tmp_path: Path) -> None:
    import transformers

    getattr(transformers, name)().save_pretrained(tmp_path)
    with pytest.raises(MissingResourceError, match="has no tokenizer"):
        ModelSource(str(tmp_path)).tokenizer()


def test_refuses_a_folder_without_weights_before_they_are_needed(tiny_model: str, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_model, tmp_path / "model")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(MissingResourceError, match=r"has no weights as safetensors\. .* Pickled weights"):
        ModelSource(str(folder)).tokenizer()


@pytest.mark.parametrize("content", ["", '{"a": tru', "version https://git-lfs"])
@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_damaged_file_is_named(name: str, content: str, tiny_model: str, tmp_path: Path) -> None:
    shutil.copytree(tiny_model, tmp_path / "model")
    (tmp_path / "model" / name).write_text(content, "utf-8")
    with pytest.raises(MissingResourceError, match=rf"{name} is damaged: it is .*: copy it again") as caught:
        ModelSource(str(tmp_path / "model")).encoder()
    assert "Hugging Face hub" not in str(caught.value)


def test_a_folder_in_place_of_a_file_is_named(tiny_model: str, tmp_path: Path) -> None:
    shutil.copytree(tiny_model, tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").unlink()
    (tmp_path / "model" / "model.safetensors").mkdir()
    with pytest.raises(
        MissingResourceError, match=r"model\.safetensors is damaged: it is a folder\. .*: copy it again"
    ):
        ModelSource(str(tmp_path / "model")).encoder()


def test_a_missing_file_is_named(tiny_model: str, tmp_path: Path) -> None:
    shutil.copytree(tiny_model, tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").rename(tmp_path / "model" / "crf.safetensors")
    with pytest.raises(MissingResourceError, match="has no weights as safetensors"):
        ModelSource(str(tmp_path / "model")).encoder()
    (tmp_path / "model" / "config.json").unlink()
    with pytest.raises(MissingResourceError, match=r"holds no model, because it has no config\.json.*, complete$"):
        ModelSource(str(tmp_path / "model")).encoder()


@pytest.mark.parametrize("head", [ModelSource.encoder, ModelSource.masked_lm])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_note_says_that_layers_are_left_out(
    head: Callable[[ModelSource], Any], layers: int, tiny_masked_lm: str, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_masked_lm, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": layers}), "utf-8")
    with collected_notes() as notes:
        head(ModelSource(str(folder)))
    assert len(notes) == 2 - layers
    assert all(re.search(r"than its config\.json says: 16 weights are left out, e\.g\. .*layer\.1", n) for n in notes)


def test_no_note_on_the_decoder_that_an_encoder_does_without(tiny_seq2seqs: dict[str, Path]) -> None:
    with collected_notes() as notes:
        ModelSource(str(tiny_seq2seqs["t5"])).model("AutoModelForTextEncoding")
    assert notes == []


def test_a_folder_with_checkpoints_leads_to_the_last_one(tiny_model: str, tmp_path: Path) -> None:
    for name in ("checkpoint-50", "checkpoint-900", "checkpoint-1000"):
        shutil.copytree(tiny_model, tmp_path / name)
    (tmp_path / "1_Pooling_of_sentences").mkdir()
    (tmp_path / "1_Pooling_of_sentences" / "config.json").write_text("{}")
    with pytest.raises(
        MissingResourceError, match=r"no config\.json.* Its folder checkpoint-1000 holds one: name that"
    ):
        ModelSource(str(tmp_path)).config()


def test_an_adapter_is_refused_with_how_to_merge_it(tiny_model: str, tmp_path: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(Path(tiny_model, name), tmp_path / name)
    (tmp_path / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    with pytest.raises(MissingResourceError, match=r"holds an adapter of PEFT, not a whole model.*merge_and_unload"):
        ModelSource(str(tmp_path)).tokenizer()


@pytest.mark.parametrize("odd", [{"layer_norm_eps": "1e-12"}, {"id2label": ["O", "B-PER"]}])
def test_a_configuration_with_values_of_wrong_types_is_reported(
    tiny_model: str, tmp_path: Path, odd: dict[str, Any]
) -> None:
    folder = shutil.copytree(tiny_model, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(config | odd), "utf-8")
    with pytest.raises(MissingResourceError, match=r"model\" cannot be loaded\."):
        ModelSource(str(folder)).config()


def test_a_model_of_another_kind_is_refused_in_one_line(tiny_seq2seq: str) -> None:
    with pytest.raises(MissingResourceError, match="has a BartConfig, a kind that cannot be used") as raised:
        ModelSource(tiny_seq2seq).model("AutoModelForTokenClassification")
    assert len(str(raised.value)) < 300


def test_refuses_a_tokenizer_of_a_larger_model(tiny_model: str, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    folder = shutil.copytree(tiny_model, tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens([f"new{number}" for number in range(500)])
    tokenizer.save_pretrained(folder)
    with pytest.raises(
        MissingResourceError, match=r"has subwords up to number \d+, but the model has vectors only for \d+"
    ):
        ModelSource(str(folder)).tokenizer()


@pytest.mark.parametrize(
    ("added", "fits"), [({"extra_special_tokens": ["<picture>"]}, True), ({"pad_token": "<p>"}, False)]
)
def test_special_subwords_need_vectors_only_if_they_occur_in_text(
    added: dict[str, Any], fits: bool, tmp_path: Path
) -> None:
    """Gemma's tokenizer has a subword for pictures after the last row of the text model."""
    from transformers import AutoTokenizer

    for file in bundled.folder().iterdir():
        if file.is_file():
            shutil.copyfile(file, tmp_path / file.name)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    tokenizer.add_special_tokens(added)
    (tmp_path / "special_tokens_map.json").unlink()  # of another version of transformers, which would win
    tokenizer.save_pretrained(tmp_path)
    if fits:
        assert len(ModelSource(str(tmp_path)).tokenizer()) == len(ModelSource("bundled").tokenizer()) + 1
    else:
        with pytest.raises(MissingResourceError, match="has subwords up to number 30522, but"):
            ModelSource(str(tmp_path)).tokenizer()


def test_a_tagger_that_is_not_a_hugging_face_model_is_refused_as_such(tmp_path: Path) -> None:
    (tmp_path / "nersery.json").write_text("{}", "utf-8")
    with pytest.raises(MissingResourceError, match="is a tagger of nersery, but not a Hugging Face model"):
        ModelSource(str(tmp_path)).config()


def test_an_encoder_decoder_has_the_positions_that_both_parts_have() -> None:
    sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "attention_window": [8]}
    config = LEDConfig(vocab_size=9, max_encoder_position_embeddings=64, max_decoder_position_embeddings=32, **sizes)
    assert position_count(LEDModel(config)) == 32


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit of the address space")
def test_lack_of_memory_is_reported_before_the_imports(tiny_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    monkeypatch.delitem(sys.modules, "transformers.modeling_utils")
    resource.setrlimit(resource.RLIMIT_AS, (used + IMPORTED_BYTES // 2, limits[1]))
    try:
        with pytest.raises(OSError, match="Cannot allocate memory"):
            ModelSource(tiny_model).model("AutoModel")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def test_concurrent_loading_gives_equal_models() -> None:
    with ThreadPoolExecutor(4) as pool:
        models = [*pool.map(lambda _: ModelSource("bundled").masked_lm(), range(4))]
    first, *others = (model.state_dict() for model in models)
    assert all(torch.equal(weights, other[name]) for other in others for name, weights in first.items())
