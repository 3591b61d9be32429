"""bf16 is used only if the processor supports it, even for weights that are stored in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode

from nersery.core.sentence import Entity, Sentence
from nersery.core.training_context import Training
from nersery.models.embeddings.hidden_states import LayerEncoder
from nersery.models.embeddings.text_encoder import TextEncoder
from nersery.models.likelihoods.causal import CausalLM
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.masked.masked_lm import MaskedLM
from nersery.models.pretrained import loading
from nersery.models.pretrained.loading import ModelSource, has_fast_bf16
from nersery.models.question_answering import QuestionAnswerer
from nersery.models.seq2seq.encoder_decoder import Seq2Seq
from nersery.taggers.transformer import TransformerTagger
from tests.conftest import TINY
from tests.models import test_question_answering
from tests.models.likelihoods import test_causal
from tests.models.masked_texts import all_words, plan

WORDS = ("Anna", "lives", "in", "Paris")
SENTENCE = Sentence(WORDS, (Entity(0, 1, "PER"),), id="1")
PRODUCTS = ("addmm", "mm", "bmm", "baddbmm", "linear", "convolution")


class Products(TorchDispatchMode):
    """Records the data type of every matrix product."""

    def __init__(self) -> None:
        super().__init__()
        self.dtypes: list[torch.dtype] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function.overloadpacket.__name__ in PRODUCTS:
            self.dtypes += [given.dtype for given in args if isinstance(given, torch.Tensor)]
        return function(*args, **(kwargs or {}))


def stored_in_bf16(folder: Path, head: str, to: Path) -> str:
    """A copy of a model whose weights are bf16."""
    shutil.copytree(folder, to)
    network = getattr(transformers, head).from_pretrained(folder, dtype=torch.bfloat16)
    network.save_pretrained(to)
    assert "bfloat16" in (to / "config.json").read_text()
    return str(to)


def tagger(model: str) -> None:
    network = TransformerTagger(model, steps=1, batch_size=1)
    network.fit([SENTENCE], Training([SENTENCE]))


def masked_lm(model: str) -> None:
    network = MaskedLM(ModelSource(model))
    network.log_probabilities([MaskedInput(WORDS, (0,))])
    network.fine_tune([WORDS], all_words, replace(plan(epochs=1), precision="auto"), rate=0.5)


def question_answering(model: str) -> None:
    QuestionAnswerer(ModelSource(model)).answers(["who lives"], [WORDS], top=1, longest=2)


def text_encoder(model: str) -> None:
    TextEncoder(ModelSource(model)).sentences([WORDS])


def layer_encoder(model: str) -> None:
    LayerEncoder(ModelSource(model)).hidden_states([WORDS])


def causal(model: str) -> None:
    CausalLM(ModelSource(model)).likelihoods([WORDS])


def seq2seq(model: str) -> None:
    network = Seq2Seq(ModelSource(model))
    inputs = network.tokenization.subwords.subwords(WORDS)
    ids = torch.tensor([[subword for word in inputs for subword in word]])
    with loading.autocast(torch.device("cpu"), network.precision):
        network.network(input_ids=ids, decoder_input_ids=ids)


KINDS: dict[str, tuple[Callable[[str], None], str]] = {
    "tagger": (tagger, "AutoModel"),
    "masked_lm": (masked_lm, "AutoModelForMaskedLM"),
    "question_answering": (question_answering, "AutoModelForQuestionAnswering"),
    "text_encoder": (text_encoder, "AutoModel"),
    "layer_encoder": (layer_encoder, "AutoModel"),
    "causal": (causal, "AutoModelForCausalLM"),
    "seq2seq": (seq2seq, "AutoModelForSeq2SeqLM"),
}


@pytest.fixture
def folders(tiny_model: str, tiny_masked_lm: str, tiny_seq2seq: str, tmp_path: Path) -> dict[str, Callable[[], Path]]:
    def built(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        if name == "qa":
            return Path(test_question_answering.build(folder, "bert"))
        test_causal.build(folder, {"bos_token": "[CLS]", "eos_token": "[SEP]"})
        return folder

    return {
        "AutoModel": lambda: Path(tiny_model),
        "AutoModelForMaskedLM": lambda: Path(tiny_masked_lm),
        "AutoModelForQuestionAnswering": lambda: built("qa"),
        "AutoModelForCausalLM": lambda: built("gpt"),
        "AutoModelForSeq2SeqLM": lambda: Path(tiny_seq2seq),
    }


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_product_of_every_kind_of_model_has_the_right_type(
    kind: str, native: bool, folders: dict[str, Callable[[], Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, head = KINDS[kind]
    model = stored_in_bf16(folders[head](), head, tmp_path / "bf16")
    monkeypatch.delenv("NERSERY_PRECISION", raising=False)
    monkeypatch.setattr(loading, "has_fast_bf16", lambda device: native)
    with Products() as products:
        work(model)
    assert products.dtypes
    assert (products.dtypes[0] == torch.bfloat16) == native
    if not native:
        assert {*products.dtypes} - {torch.float64} == {torch.float32}, "the CRF sums in fp64, nothing is bf16"


@pytest.mark.parametrize(("capability", "expected"), [("AVX512", True), ("AVX2", False), ("DEFAULT", False)])
def test_bf16_is_not_used_on_a_processor_with_limited_capability(
    capability: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ATEN_CPU_CAPABILITY=avx2 simulates another processor."""
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert has_fast_bf16(torch.device("cpu")) == expected


XMOD = {"languages": ["en_XX"], "default_language": "en_XX"}
DEBERTA = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}


@pytest.mark.parametrize(
    ("name", "settings", "kind"),
    [("Deberta", DEBERTA, "tagger"), ("Deberta", DEBERTA, "masked_lm"), ("Xmod", XMOD, "tagger")],
)
def test_networks_that_cannot_compute_in_bf16_compute_in_fp32(
    name: str, settings: dict[str, Any], kind: str, tiny_masked_lm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = getattr(transformers, f"{name}Config")(vocab_size=600, **TINY, **settings)
    model = getattr(transformers, f"{name}{'ForMaskedLM' if kind == 'masked_lm' else 'Model'}")(config)
    shutil.copytree(tiny_masked_lm, tmp_path / "model")
    model.save_pretrained(tmp_path / "model")
    monkeypatch.delenv("NERSERY_PRECISION", raising=False)
    monkeypatch.setattr(loading, "has_fast_bf16", lambda device: True)
    with Products() as products:
        KINDS[kind][0](str(tmp_path / "model"))
    assert products.dtypes[0] == torch.float32, "the encoder; heads may compute in bf16"
