"""Models that can be used as masked language models, and those that are refused or unsuitable."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from nersery.core.errors import MissingResourceError, SettingsError
from nersery.models.masked.masked_inputs import Drawing, MaskedInput
from nersery.models.masked.masked_lm import MaskedLM, logits_at_masks
from nersery.models.pretrained.loading import ModelSource
from nersery.models.subwords.collation import collate
from nersery.models.tokens import TOKEN_PREFIX
from tests.models.masked_texts import TEXTS, opened, plan, rngs

SMALL: dict[str, Any] = {
    "vocab_size": 600,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 70,
}
XLM: dict[str, Any] = {"vocab_size": 600, "emb_dim": 32, "n_layers": 1, "n_heads": 2, "pad_index": 0}
MODERN_BERT_IDS = ("cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id")
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "Bert": SMALL,
    "XLMRoberta": {**SMALL, "pad_token_id": 1},
    "DistilBert": {"vocab_size": 600, "dim": 32, "n_layers": 1, "n_heads": 2, "hidden_dim": 64},
    "Albert": {**SMALL, "embedding_size": 16},
    "Electra": {**SMALL, "embedding_size": 16},
    "DebertaV2": SMALL,
    "MPNet": SMALL,
    "ModernBert": {**SMALL, "pad_token_id": 0, **dict.fromkeys(MODERN_BERT_IDS, 2)},
    "XLM": {**XLM, "max_position_embeddings": 70},
}


FIXED: dict[str, dict[str, Any]] = {
    "IBert": SMALL,
    "MobileBert": {**SMALL, "embedding_size": 16, "true_hidden_size": 16, "intra_bottleneck_size": 16},
}
"""Architectures whose vocabulary cannot grow."""


def untrained(name: str, settings: dict[str, Any], tokenizer: str, folder: Path) -> MaskedLM:
    import transformers

    config = getattr(transformers, f"{name}Config")(**settings)
    torch.manual_seed(0)
    transformers.AutoModelForMaskedLM.from_config(config).save_pretrained(folder)
    for path in Path(tokenizer).glob("token*.json"):
        shutil.copy(path, folder)
    return opened(folder)


@pytest.mark.parametrize("name", ARCHITECTURES)
class TestArchitectures:
    """The results for BERT hold for related architectures."""

    @pytest.fixture
    def kin(self, name: str, tiny_masked_lm: str, tmp_path: Path) -> MaskedLM:
        return untrained(name, ARCHITECTURES[name], tiny_masked_lm, tmp_path)

    def test_the_output_layer_gives_the_same_on_only_the_masks(self, kin: MaskedLM, name: str) -> None:
        masked_inputs = [MaskedInput(tuple(text.split()), (0, 1)) for text in TEXTS[:3]]
        rows = [row for masked_input in masked_inputs for row in kin.masking.fully_masked(masked_input)]
        batch = collate([row.window for row in rows], kin.encoder.pad)
        with torch.no_grad():
            seen: list[int] = []
            output = kin.network.get_output_embeddings()
            handle = output.register_forward_hook(lambda layer, inputs, made: seen.append(made.shape[:-1].numel()))
            found = logits_at_masks(kin.network, kin.encoder, rows)
            handle.remove()
            whole = kin.network(input_ids=batch.input_ids, attention_mask=batch.attention_mask).logits
        expected = torch.cat([whole[number, list(row.positions)] for number, row in enumerate(rows)])
        assert torch.allclose(found, expected, atol=1e-5)
        assert seen == [len(expected)], "the output layer was run on other positions too"

    def test_tokens_are_added_and_the_model_is_trained_and_queried(self, kin: MaskedLM, name: str) -> None:
        token = f"{TOKEN_PREFIX}<x>"
        kin.add_tokens({token: "person name"})
        (number,) = kin.encoder.token_ids[token]
        subwords = [subword for word in kin.encoder.subwords(["person", "name"]) for subword in word]
        vectors = kin.network.get_input_embeddings().weight
        assert torch.allclose(vectors[number], vectors[subwords].mean(0))
        examples = [(token, word, token, "won") for word in ("Ada", "Grace")]
        kin.fine_tune(examples, lambda words, rng: MaskedInput(words, (1,)), plan(2), rate=1.0)
        ((guesses,),) = kin.guesses([MaskedInput(examples[0], (1,))], 5)
        assert len(guesses) == 5

    def test_fills_gaps_in_long_texts(self, kin: MaskedLM, name: str) -> None:
        long = tuple(TEXTS[0].split() * 30)
        assert len(kin.fill([MaskedInput(long, (0, 250))], rngs(1), Drawing())[0]) == 2


class TestRefusals:
    def test_refuses_a_model_without_a_mask_token(self, tiny_masked_lm: str, tmp_path: Path) -> None:
        from transformers import AutoTokenizer

        folder = shutil.copytree(tiny_masked_lm, tmp_path / "plain")
        tokenizer = AutoTokenizer.from_pretrained(folder)
        tokenizer.mask_token = None
        tokenizer.save_pretrained(folder)
        with pytest.raises(MissingResourceError, match=r"plain\" has no mask token.*e\.g\. bert-base-cased, xlm-rob"):
            opened(folder)

    def test_refuses_an_encoder_without_the_head(self, tiny_model: str) -> None:
        with pytest.raises(MissingResourceError, match=r"without the head of Auto.*e\.g\. cls\.pred.*trained"):
            opened(tiny_model)

    def test_refuses_a_model_with_missing_weights(self, tiny_masked_lm: str, tmp_path: Path) -> None:
        from safetensors.torch import load_file, save_file

        folder = shutil.copytree(tiny_masked_lm, tmp_path / "half")
        tensors = load_file(folder / "model.safetensors")
        kept = {name: tensor for name, tensor in tensors.items() if "layer.1.attention" not in name}
        assert len(kept) < len(tensors)
        save_file(kept, folder / "model.safetensors", {"format": "pt"})
        with pytest.raises(MissingResourceError, match="are not those of its configuration: 10 are missing"):
            opened(folder)

    def test_refuses_tokens_for_a_model_without_output_embeddings(
        self, fresh: MaskedLM, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fresh.network, "get_output_embeddings", lambda: None)
        with pytest.raises(SettingsError, match="cannot be given new tokens"):
            fresh.add_tokens({f"{TOKEN_PREFIX}<x>": "person"})

    @pytest.mark.parametrize("name", FIXED)
    def test_refuses_tokens_for_a_model_whose_vocabulary_cannot_grow(
        self, name: str, tiny_masked_lm: str, tmp_path: Path
    ) -> None:
        model = untrained(name, FIXED[name], tiny_masked_lm, tmp_path)
        assert len(model.fill([MaskedInput(("Ada", "won"), (0,))], rngs(1), Drawing())[0]) == 1
        with pytest.raises(SettingsError, match="cannot be given new tokens"):
            model.add_tokens({f"{TOKEN_PREFIX}<x>": "person"})

    def test_refuses_weights_that_are_nan(self, fresh: MaskedLM) -> None:
        with torch.no_grad():
            next(fresh.network.parameters()).fill_(torch.nan)
        masked_input = MaskedInput(("Ada", "won"), (0,))
        with pytest.raises(SettingsError, match=r"computes NaN.*use a lower learning_rate"):
            fresh.fill([masked_input], [random.Random(0)], Drawing(5))
        with pytest.raises(SettingsError, match="computes NaN"):
            fresh.guesses([masked_input], 5)

    def test_refuses_a_condition_that_leaves_no_room(self, fresh: MaskedLM) -> None:
        fresh.check_condition(["name", "of", "a", "place"])
        with pytest.raises(SettingsError, match="Shorten it"):
            fresh.check_condition(["place"] * 50)


class TestUnsuited:
    def test_warns_of_another_language(self, fresh: MaskedLM, capsys: pytest.CaptureFixture[str]) -> None:
        fresh.warn_if_unsuited(["Ada", "won", "the", "program"])
        assert capsys.readouterr().err == ""
        fresh.warn_if_unsuited(["Привет", "мир"])
        assert "was made for other languages than this text" in capsys.readouterr().err

    def test_the_bundled_model_warns_that_it_covers_only_english(
        self, fresh: MaskedLM, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fresh.warn_if_unsuited(["won"], ["de"])
        monkeypatch.setattr(fresh, "source", ModelSource("bundled"))
        fresh.warn_if_unsuited(["won"], ["en", "EN-gb", ""])
        assert capsys.readouterr().err == ""
        fresh.warn_if_unsuited(["won"], ["nl", "en", "de"])
        warning = capsys.readouterr().err
        assert "it covers only English, but there is text in de, nl" in warning
        assert "e.g. bundled-multilingual (extra multilingual) or xlm-roberta-base" in warning

    def test_the_bundled_head_covers_fewer_languages_than_its_encoder(
        self, fresh: MaskedLM, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(fresh, "source", ModelSource("bundled-multilingual"))
        fresh.warn_if_unsuited(["won"], ["hi", "zh-Hant", "swa"])
        assert capsys.readouterr().err == ""
        fresh.warn_if_unsuited(["won"], ["hi", "th", "hy"])
        warning = capsys.readouterr().err
        assert "it has learnt to fill gaps in 36 languages, but there is text in hy, th" in warning
        assert "e.g. xlm-roberta-base" in warning

    def test_warns_of_a_model_that_removes_accents(
        self, tiny_masked_lms: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ["राम", "दिल्ली", "में", *"the first program in London".split()]
        uncased = opened(tiny_masked_lms["wordpiece"])
        uncased.warn_if_unsuited([*"the first program in London".split() * 10, "Ádá"])
        assert capsys.readouterr().err == ""
        uncased.warn_if_unsuited(words)
        assert "leaves out accents and vowel signs, which 25 % of the words have" in capsys.readouterr().err

    def test_the_bundled_model_warns_of_capitals(
        self, fresh: MaskedLM, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(fresh, "source", ModelSource("bundled"))
        fresh.warn_if_unsuited(["won"])
        assert capsys.readouterr().err == ""
        fresh.warn_if_unsuited(["Ada", "won"])
        assert "lower case only" in capsys.readouterr().err
