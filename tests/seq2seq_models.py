"""Tiny encoder-decoders: BART, mBART with its language codes, and T5 with sentinels."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

POSITIONS = 64
TEXT = [
    "Ada Lovelace wrote the first program in London .",
    "Grace Hopper spoke about compilers in Boston and New York .",
    "नमस्ते दुनिया राम दिल्ली में रहता है ।",
    "we saw Linus there today",
    "the company Halden & Sons sells cars in Oslo",
    *["person or family", "name of a place", "type", "PER LOC"] * 4,
]
SIZES = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": POSITIONS,
    "dropout": 0.1,
}
SPARE_ROWS = 3
"""Embeddings without a subword, as many models have."""


def save_bart(folder: Path) -> None:
    """Bytes, ``<s> … </s>`` and ``<mask>``."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=names, initial_alphabet=alphabet)
    tokenizer.train_from_iterator([f" {line}" for line in TEXT], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    roles = dict(zip(("bos", "pad", "eos", "unk", "mask"), names, strict=True))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=1024, **{f"{role}_token": name for role, name in roles.items()}
    ).save_pretrained(folder)
    config = BartConfig(vocab_size=tokenizer.get_vocab_size() + SPARE_ROWS, **SIZES)
    BartForConditionalGeneration(config).save_pretrained(folder)


def unigram() -> list[tuple[str, float]]:
    """Words, their beginnings and characters; a trainer would give different ones in each process."""
    words = {word for line in TEXT for word in line.split()}
    subwords = {"▁", *(f"▁{word}" for word in words), *(f"▁{word[:3]}" for word in words), *"".join(words)}
    return [(subword, -float(10 - min(9, len(subword)))) for subword in sorted(subwords)]


def save_mbart(folder: Path) -> None:
    """The tokenizer class of mBART-50: a language code before each text."""
    from transformers import MBart50Tokenizer, MBartConfig, MBartForConditionalGeneration
    from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES

    special = ["<s>", "<pad>", "</s>", "<unk>"]
    vocabulary = [*((name, 0.0) for name in special), *unigram()]
    vocabulary += [(name, 0.0) for name in (*FAIRSEQ_LANGUAGE_CODES, "<mask>")]
    MBart50Tokenizer(vocab=vocabulary, model_max_length=1024).save_pretrained(folder)
    config = MBartConfig(vocab_size=len(vocabulary), decoder_start_token_id=2, scale_embedding=True, **SIZES)
    MBartForConditionalGeneration(config).save_pretrained(folder)


def save_t5(folder: Path) -> None:
    """Sentinels instead of a mask token, relative positions, no beginning token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    sentinels = [f"<extra_id_{number}>" for number in range(4)]
    vocabulary = [*((name, 0.0) for name in ("<pad>", "</s>", "<unk>")), *unigram()]
    vocabulary += [(name, 0.0) for name in reversed(sentinels)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, 2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=POSITIONS,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        additional_special_tokens=sentinels,
    ).save_pretrained(folder)
    config = T5Config(
        vocab_size=len(vocabulary) + SPARE_ROWS,
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)


SAVERS: dict[str, Callable[[Path], None]] = {"bart": save_bart, "mbart": save_mbart, "t5": save_t5}


@pytest.fixture(scope="session")
def tiny_seq2seqs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of untrained two-layer encoder-decoders, one for each kind."""
    import torch

    folders: dict[str, Any] = {}
    for kind, save in SAVERS.items():
        folders[kind] = tmp_path_factory.mktemp(kind)
        torch.manual_seed(0)
        save(folders[kind])
    return folders


@pytest.fixture(scope="session")
def word_splitting_seq2seq(tiny_seq2seqs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A BART with BERT's vocabulary, which splits words at punctuation and around each Chinese character."""
    from tests.conftest import build_tokenizer

    folder = Path(shutil.copytree(tiny_seq2seqs["bart"], tmp_path_factory.mktemp("word-splitting"), dirs_exist_ok=True))
    build_tokenizer("wordpiece", folder)
    return str(folder)


@pytest.fixture(scope="session")
def tiny_seq2seq(tiny_seq2seqs: dict[str, Path]) -> str:
    """One of them, for tests in which the kind does not matter."""
    return str(tiny_seq2seqs["bart"])
