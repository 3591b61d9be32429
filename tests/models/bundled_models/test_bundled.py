from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from low_rank import STEPS_OF_DIFFERENCES, save_differences
from safetensors import safe_open
from transformers import AutoModelForMaskedLM

from nersery.core.errors import MissingResourceError
from nersery.core.sentence import Sentence
from nersery.models.bundled_models import bundled, bundled_heads
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.masked.masked_lm import MaskedLM
from nersery.models.pretrained.loading import ModelSource, quiet_transformers
from nersery.taggers.base import load_tagger
from nersery.taggers.output_layer.pretrained_head import network_with_head
from nersery.taggers.output_layer.tag_set import TagSet

MAX_BYTES = 16_000_000
EMBEDDINGS = "bert.embeddings.word_embeddings.weight"
LAYER = "bert.encoder.layer.2.output.dense.weight"


def fresh() -> Any:
    """The installed encoder under an untrained head."""
    with quiet_transformers():
        return AutoModelForMaskedLM.from_pretrained(bundled.folder())


def test_saved_differences_restore_the_weights_nearly_exactly(tmp_path: Path) -> None:
    trained = fresh()
    weights = dict(trained.named_parameters())
    chance = torch.Generator().manual_seed(0)
    with torch.no_grad():
        weights[LAYER] += 0.01 * torch.randn(weights[LAYER].shape, generator=chance)
        weights[EMBEDDINGS][[5, 700]] += 0.01
    save_differences(trained, tmp_path / "learnt.safetensors")
    again = fresh()
    bundled_heads.add_head(again, tmp_path / "learnt.safetensors", "masked language model")
    for name, weight in again.named_parameters():
        largest = (weight - weights[name]).abs().max()
        assert largest <= max(1e-3, 0.51 * 0.05 / STEPS_OF_DIFFERENCES), name  # half a step of 5 sigma


def test_unchanged_rows_are_not_saved(tmp_path: Path) -> None:
    trained = fresh()
    with torch.no_grad():
        trained.get_input_embeddings().weight[[5, 700]] += 0.01
    save_differences(trained, tmp_path / "learnt.safetensors")
    with safe_open(tmp_path / "learnt.safetensors", framework="pt") as file:
        assert file.get_tensor(EMBEDDINGS + bundled_heads.ROWS).tolist() == [5, 700]
        assert file.get_tensor(EMBEDDINGS).shape == (2, 384)
        assert file.get_tensor(LAYER).shape == (0, 1536)


def test_the_bundled_masked_lm_is_small_and_knows_english() -> None:
    assert bundled_heads.MASKED_LM["bundled"].stat().st_size <= MAX_BYTES
    model = MaskedLM(ModelSource("bundled"), "cpu", "fp32")
    masked_input = MaskedInput(tuple("she was born in Paris , the capital of France , in 1901 .".split()), (4, 7, 9))
    (gaps,) = model.guesses([masked_input], 20)
    places, capitals, countries = ({word.casefold() for word, _ in guesses} for guesses in gaps)
    assert {"london", "paris"} & places
    assert "capital" in capitals
    assert {"france", "england", "germany"} & countries


@pytest.mark.parametrize("content", [None, b"", b"\x08\0\0\0\0\0\0\0{}      "])
def test_a_missing_or_damaged_file_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "learnt.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(MissingResourceError, match=r"learnt\.safetensors"):
        bundled_heads.add_head(fresh(), path, "masked language model")


@pytest.mark.parametrize("head", ["AutoModel", "AutoModelForTokenClassification"])
def test_another_tagger_may_start_from_the_layers_of_the_bundled_one(head: str) -> None:
    plain, better = (
        dict(ModelSource(name).model(head).named_parameters()) for name in ("bundled", bundled.ENGLISH_NER)
    )
    known = dict(ModelSource(bundled.ENGLISH_NER).token_classification().named_parameters())
    layer = LAYER if head != "AutoModel" else LAYER.removeprefix("bert.")
    embeddings = EMBEDDINGS if head != "AutoModel" else EMBEDDINGS.removeprefix("bert.")
    assert torch.equal(better[layer], known[LAYER])
    assert not torch.equal(better[layer], plain[layer])
    assert torch.equal(better[embeddings], plain[embeddings])
    with pytest.raises(MissingResourceError, match="was saved without the head of AutoModelForMaskedLM"):
        ModelSource(bundled.ENGLISH_NER).masked_lm()


@pytest.mark.parametrize(("types", "shared"), [(["PER", "TEAM"], True), (["TEAM"], False)])
def test_outputs_of_shared_types_are_kept(types: list[str], shared: bool) -> None:
    names = TagSet.of(types).names
    known, started = (
        ModelSource(bundled.ENGLISH_NER).token_classification(),
        network_with_head(ModelSource(bundled.ENGLISH_NER), names),
    )
    assert torch.equal(started.get_parameter(LAYER), known.get_parameter(LAYER))
    assert started.config.num_labels == len(names)
    row, its = names.index(f"B-{types[0]}"), bundled_heads.TAGS.index("B-PER")
    assert torch.equal(started.classifier.weight[row], known.classifier.weight[its]) == shared


def test_the_tagger_finds_names_in_english() -> None:
    assert bundled_heads.TOKEN_CLASSIFICATION[bundled.ENGLISH_NER].stat().st_size <= MAX_BYTES
    tagger = load_tagger(bundled.ENGLISH_NER, device="cpu")
    assert tagger.types == ("LOC", "MISC", "ORG", "PER")
    texts = ["Ada Lovelace lived in London .", "she joined the united nations in geneva ."]
    labelled = tagger.predict([Sentence(tuple(text.split())) for text in texts])
    assert [[(e.start, e.end, e.type) for e in one.entities] for one in labelled] == [
        [(0, 2, "PER"), (4, 5, "LOC")],
        [(3, 5, "ORG"), (6, 7, "LOC")],
    ]
