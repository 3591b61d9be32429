"""Tiny random models that stand in for big ones; built once a session, in a temporary folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # what is tested is tiny: threads would only wait for each other
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

TEXT = [
    "Ada Lovelace wrote the first program in London .",
    "Grace Hopper spoke about compilers in Boston and New York .",
    "नमस्ते दुनिया राम दिल्ली में रहता है ।",
    "東京 は 日本 の 首都",
    "the company Halden & Sons sells cars in Oslo",
]


def build_tokenizer(kind: str, folder: Path) -> None:
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
    trainer: Any
    if kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=names)
    elif kind == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=names, initial_alphabet=alphabet)
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=names, unk_token="[UNK]")
    tokenizer.train_from_iterator(TEXT, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
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
        config = BertConfig(
            vocab_size=500,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=64,
            pad_token_id=0,
        )
        BertModel(config).save_pretrained(folder)
        folders[kind] = folder
    return folders


@pytest.fixture(scope="session")
def tiny_model(tiny_models: dict[str, Path]) -> str:
    """One of them, where the vocabulary does not matter."""
    return str(tiny_models["wordpiece"])


pytest_plugins = ("tests.standins", "tests.forks")
