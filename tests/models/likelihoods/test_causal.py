from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from nersery.core.errors import SettingsError
from nersery.models.likelihoods.causal import CausalLM
from nersery.models.likelihoods.likelihood import Likelihood
from nersery.models.pretrained.loading import ModelSource
from tests.conftest import build_tokenizer

VOCABULARY = 500
TEXTS = [
    ["Ada", "wrote", "in", "London"],
    ["Oslo"],
    ["दिल्ली", "में", "।"],
    ["東京", "は", "首都"],
    ["👩‍👩‍👧", "\u200b"],
    ["Ada", "Lovelace", "wrote"] * 40,
    ["x" * 300, "Oslo"],
]


def build(folder: Path, begin: dict[str, str]) -> None:
    """An untrained GPT-2 with 64 positions, and a tokenizer with or without a begin-of-text token."""
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    build_tokenizer("bytes", folder)
    inner = AutoTokenizer.from_pretrained(folder).backend_tokenizer
    for path in folder.iterdir():
        path.unlink()
    PreTrainedTokenizerFast(tokenizer_object=inner, model_max_length=64, **begin).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64, "bos_token_id": 2, "eos_token_id": 3}
    GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, initializer_range=0.3, **sizes)).save_pretrained(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("causal")
    build(folder, {"bos_token": "[CLS]", "eos_token": "[SEP]"})
    return folder


@pytest.fixture
def model(folder: Path) -> CausalLM:
    return opened(folder)


def opened(folder: Path, **settings: Any) -> CausalLM:
    return CausalLM(ModelSource(str(folder)), **{"device": "cpu", "precision": "fp32", **settings})


def by_hand(folder: Path, subwords: list[int]) -> list[float]:
    """The log probability of each subword but the first, given those before it, each in its own pass."""
    network = ModelSource(str(folder)).model("AutoModelForCausalLM").eval()
    with torch.no_grad():
        logits = [network(input_ids=torch.tensor([subwords[:end]])).logits[0, -1] for end in range(1, len(subwords))]
    return [float(row.log_softmax(-1)[subword]) for row, subword in zip(logits, subwords[1:], strict=True)]


def cut(folder: Path, text: list[str]) -> list[int]:
    subwords: list[int] = ModelSource(str(folder)).tokenizer()(" ".join(text), add_special_tokens=False)["input_ids"]
    return subwords


def test_likelihood_sums_subwords_after_the_begin_token(folder: Path, model: CausalLM) -> None:
    begin = ModelSource(str(folder)).tokenizer().bos_token_id
    for text, found in zip(TEXTS[:5], model.likelihoods(TEXTS[:5]), strict=True):
        logs = by_hand(folder, [begin, *cut(folder, text)])
        assert found.subwords == len(cut(folder, text)) == len(logs)
        assert found.log == pytest.approx(sum(logs), rel=1e-4)


def test_the_perplexity_of_a_uniform_model_is_the_vocabulary_size(model: CausalLM) -> None:
    with torch.no_grad():
        model.network.transformer.wte.weight.zero_()
    assert [found.perplexity for found in model.likelihoods(TEXTS)] == pytest.approx([VOCABULARY] * len(TEXTS))


@pytest.mark.parametrize("begin", [{"eos_token": "[SEP]"}, {}], ids=["eos", "none"])
def test_texts_begin_with_eos_without_bos_and_with_nothing_without_both(tmp_path: Path, begin: dict[str, str]) -> None:
    build(tmp_path, begin)
    text = TEXTS[0]
    subwords = cut(tmp_path, text)
    before = [ModelSource(str(tmp_path)).tokenizer().eos_token_id] if begin else []
    (found,) = opened(tmp_path).likelihoods([text])
    assert found.subwords == len(subwords) - (not begin)
    assert found.log == pytest.approx(sum(by_hand(tmp_path, [*before, *subwords])), rel=1e-4)
    if not begin:
        (alone,) = opened(tmp_path).likelihoods([["a"]])
        assert (alone.log, alone.subwords) == (0, 0)
        assert math.isnan(alone.perplexity)


def test_subwords_of_long_texts_are_scored_once_after_half_a_window(folder: Path) -> None:
    model = opened(folder)
    model.max_subwords = 17
    text = ["Ada", "wrote", "in", "London", "दिल्ली", *TEXTS[0], "in", "Oslo"]
    subwords = [*model.begin, *cut(folder, text)]
    assert 17 < len(subwords) <= 17 + 9
    second = by_hand(folder, subwords[17 - 8 :])[8 - 1 :]
    expected = [*by_hand(folder, subwords[:17]), *second]
    assert len(expected) == len(subwords) - 1
    (found,) = model.likelihoods([text])
    assert found.subwords == len(subwords) - 1
    assert found.log == pytest.approx(sum(expected), rel=1e-4)


@pytest.mark.parametrize("max_subwords", [2, 3, 8, 9, 64])
def test_windows_neither_skip_nor_repeat_a_subword(folder: Path, max_subwords: int) -> None:
    """A model that sees only the previous subword gets the same from any windows."""
    model = opened(folder)
    model.max_subwords = max_subwords
    with torch.no_grad():
        model.network.transformer.wpe.weight.zero_()
        for layer in model.network.transformer.h:
            layer.attn.c_proj.weight.zero_()
        subwords = torch.tensor([*model.begin, *cut(folder, TEXTS[5])])
        assert len(subwords) > 3 * 64
        logs = model.network(input_ids=subwords[:-1, None]).logits[:, 0].log_softmax(-1)  # each subword by itself
        expected = float(logs.gather(1, subwords[1:, None]).sum())
    (found,) = model.likelihoods([TEXTS[5]])
    assert found.subwords == len(subwords) - 1
    assert found.log == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_other_texts_in_the_batch_do_not_change_a_bit(folder: Path, precision: Any) -> None:
    model = opened(folder, precision=precision)
    many = [*TEXTS, *([f"word{number}"] * (number % 9 + 1) for number in range(9))]
    together = model.likelihoods(many)
    assert [model.likelihoods([text])[0] for text in many] == together
    order = random.Random(0).sample(range(len(many)), len(many))
    assert model.likelihoods([many[number] for number in order]) == [together[number] for number in order]


def test_small_passes_give_the_same_result(model: CausalLM, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = model.likelihoods(TEXTS)
    monkeypatch.setattr("nersery.models.likelihoods.causal.PASS_SUBWORDS", 1)
    for found, wanted in zip(model.likelihoods(TEXTS), expected, strict=True):
        assert found.subwords == wanted.subwords
        assert found.log == pytest.approx(wanted.log, rel=1e-5)


def test_a_word_that_looks_like_a_special_token_is_text(folder: Path, model: CausalLM) -> None:
    (found,) = model.likelihoods([["[SEP]"]])
    assert found.subwords > 1
    assert model.likelihoods([[]]) == [Likelihood()]
    assert model.likelihoods([]) == []


def test_likelihoods_add_up_to_the_perplexity_over_all_subwords():
    total = Likelihood(-math.log(8), 1) + Likelihood(-math.log(4), 4)
    assert total.perplexity == pytest.approx(2)  # 32 ** (1 / 5)
    assert math.isnan(Likelihood().perplexity)
    assert Likelihood(-1e6, 1).perplexity == math.inf


def test_refuses_nan(model: CausalLM) -> None:
    with torch.no_grad():
        model.network.transformer.ln_f.bias.fill_(float("nan"))
    with pytest.raises(SettingsError, match="computes NaN"):
        model.likelihoods([["Ada"]])
