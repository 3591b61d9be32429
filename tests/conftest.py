"""Tiny random models that stand in for big ones; built once per session, in a temporary folder."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from nersery.core.system import process_settings
from nersery.core.warnings import NO_NOTES, forget_notes
from nersery.core.wording import set_command_line

any_machine = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # a busy machine is not a fault of the code
settings.register_profile("quick", any_machine, max_examples=40)
settings.register_profile("torture", any_machine, max_examples=400)
settings.load_profile("quick")

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the models are tiny: threads would only wait for each other
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")  # many tests compute by hand, on the CPU; GPUs: benchmarks/gpu.sh

IN_MEMORY = "/dev/shm"
"""A file system in memory, on Linux. On a disk, the tests take 7 % longer, because they make 50,000 files."""
if "TMPDIR" not in os.environ and os.path.isdir(IN_MEMORY) and shutil.disk_usage(IN_MEMORY).free > 4 << 30:
    os.environ["TMPDIR"] = tempfile.tempdir = IN_MEMORY

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs this way, and all processes that the tests interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


gc.set_threshold(20_000, 20, 20)  # a full collection visits all of torch, but tests leave little garbage


def pytest_collection_finish() -> None:
    """All imported modules stay loaded, so the garbage collector need not visit them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def notes() -> Iterator[None]:
    """Each test shows notes again: jobs and workers that are not processes here would change this for later tests.

    The same holds for the reader of messages, who is a user of the library here, and for the owner of this process:
    every training would collect garbage.
    """
    token = NO_NOTES.set(False)
    set_command_line(False)
    process_settings._is_tuned.clear()
    forget_notes()
    yield
    NO_NOTES.reset(token)


TEXT = [
    "Ada Lovelace wrote the first program in London .",
    "Grace Hopper spoke about compilers in Boston and New York .",
    "नमस्ते दुनिया राम दिल्ली में रहता है ।",
    "東京 は 日本 の 首都",
    "the company Halden & Sons sells cars in Oslo",
]


MASKED_TEXT = [
    *TEXT,
    *["named person or family", "name of a place", "other place person name type", "PER LOC O", "abcdefgh"] * 4,
    *["Ada Grace Linus Radia won Oslo Paris Lima Pune we saw there today program Boston Lovelace Hopper . a 1 2 3"] * 4,
]
"""Text of the masked language models: enough that these words are whole subwords, and others are not."""


TINY: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}


def wordpiece(text: Sequence[str], names: Sequence[str], tokenizer: Any) -> Any:
    """A vocabulary of whole words, their beginnings, ends and characters; its trainer gives another in each process."""
    from tokenizers import models

    subwords = set[str]()
    for line in text:
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(line)):
            subwords |= {word, word[:3], f"##{word[3:]}", *word, *(f"##{character}" for character in word[1:])}
    ordered = (*names, *sorted(subwords - {"##"}))
    return models.WordPiece({subword: number for number, subword in enumerate(ordered)}, unk_token="[UNK]")


def unigram(tokenizer: Any, names: Sequence[str]) -> Any:
    """The trained model, without the order and the last digits, which differ in each process."""
    from tokenizers import models

    scores = {subword: round(score, 1) for subword, score in json.loads(tokenizer.to_str())["model"]["vocab"]}
    ordered = (*names, *sorted(scores.keys() - set(names), key=lambda subword: (-scores[subword], subword)))
    return models.Unigram([(subword, scores[subword]) for subword in ordered], names.index("[UNK]"))


def build_tokenizer(kind: str, folder: Path, text: Sequence[str] = TEXT, size: int = 0) -> None:
    """Write a tokenizer of some kind, with at most ``size`` subwords (not counting whole words), into a folder."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    names = list(special.values())
    if kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        tokenizer.model = wordpiece(text, names, tokenizer)
    elif kind == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=size or 400, special_tokens=names, initial_alphabet=alphabet)
        tokenizer.train_from_iterator(text, trainer)
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=size or 300, special_tokens=names, unk_token="[UNK]")
        tokenizer.train_from_iterator(text, trainer)
        tokenizer.model = unigram(tokenizer, names)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    )
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **special).save_pretrained(folder)


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of untrained two-layer encoders, one for each kind of vocabulary."""
    import torch
    from transformers import BertConfig, BertModel

    folders = {}
    for kind in ("wordpiece", "bytes", "unigram"):
        folder = tmp_path_factory.mktemp(kind)
        build_tokenizer(kind, folder)
        torch.manual_seed(0)
        config = BertConfig(vocab_size=500, **TINY)
        BertModel(config).save_pretrained(folder)
        folders[kind] = folder
    return folders


@pytest.fixture(scope="session")
def tiny_masked_lms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of untrained masked language models, one for each kind of vocabulary."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    folders = {}
    for kind in ("wordpiece", "bytes", "unigram"):
        folder = tmp_path_factory.mktemp(f"masked-{kind}")
        build_tokenizer(kind, folder, MASKED_TEXT, 600)
        torch.manual_seed(0)
        config = BertConfig(vocab_size=600, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **TINY)
        BertForMaskedLM(config).save_pretrained(folder)
        folders[kind] = folder
    return folders


@pytest.fixture(scope="session")
def tiny_masked_lm(tiny_masked_lms: dict[str, Path]) -> str:
    """One of them, where the vocabulary does not matter."""
    return str(tiny_masked_lms["wordpiece"])


@pytest.fixture(scope="session")
def tiny_model(tiny_models: dict[str, Path]) -> str:
    """One of them, where the vocabulary does not matter."""
    return str(tiny_models["wordpiece"])


@pytest.fixture
def few_canine_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tokenizer of CANINE lists the 61,440 first characters, its special ones included: all take seconds."""
    monkeypatch.setattr("transformers.models.canine.tokenization_canine.UNICODE_VOCAB_SIZE", 0xF000)


collect_ignore = ["mutation.py"]  # imports what only `make mutation` installs

pytest_plugins = (
    "tests.killing",
    "tests.standins",
    "tests.forks",
    "tests.seq2seq_models",
    "tests.torture.table",
    "tests.torture.families",
)
