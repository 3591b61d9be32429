"""Models with random weights and the size of real models, and tokenizers made from a corpus. Nothing is downloaded.

Their predictions are meaningless, but time, memory and shapes are those of the real models. A tokenizer's subwords are
the words of the corpus, their beginnings and their characters, and unused ones that fill it up to the real size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

LARGE, SMALL, TINY = "large", "small", "tiny"
"""The sizes: of XLM-R large, mBART-50-large and GPT-2; of MiniLM; for tests."""
SIZES = {LARGE: (1024, 24, 16), SMALL: (384, 6, 6), TINY: (32, 2, 2)}
"""The width, the number of layers (of encoder and decoder together), and the number of heads."""
VOCABULARY = {LARGE: 250_002, SMALL: 30_000, TINY: 0}
POSITIONS = 514
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


def subwords(words: Iterable[str], special: Iterable[str], size: int) -> list[tuple[str, float]]:
    """Subwords with their log probabilities. Longer ones are more probable, so a unigram model prefers whole words."""
    known = sorted({*words})
    parts = {"▁", *(f"▁{word}" for word in known), *(f"▁{word[:3]}" for word in known), *"".join(known)}
    parts |= {f"name{letter}" for letter in "of person place"}  # descriptions of types are split into these
    found = [(subword, -float(10 - min(9, len(subword)))) for subword in sorted(parts)]
    rest = max(0, size - len(found) - len([*special]))
    return [*found, *((f"▁unused{number}", -20.0) for number in range(rest))]


def save_tokenizer(words: Iterable[str], folder: Path, size: int) -> int:
    """Write a tokenizer like XLM-R's, and return its number of subwords."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = (*SPECIAL, "<mask>")
    vocabulary = [*((name, 0.0) for name in special), *subwords(words, special, size)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, SPECIAL.index("<unk>")))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    roles = dict(zip(("bos", "pad", "eos", "unk", "mask", "cls", "sep"), (*special, "<s>", "</s>"), strict=True))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=512, **{f"{role}_token": name for role, name in roles.items()}
    ).save_pretrained(folder)
    return len(vocabulary)


def save(network: Any, folder: Path) -> str:
    network.save_pretrained(folder)
    return str(folder)


def encoder(head: str, words: Iterable[str], folder: Path, size: str, device: torch.device) -> str:
    """Write an XLM-R of a given size with weights drawn on the device, and return its folder.

    Args:
        head: A class of transformers' ``modeling_xlm_roberta``.
    """
    import transformers

    width, layers, heads = SIZES[size]
    vocabulary = save_tokenizer(words, folder, VOCABULARY[size])
    config = transformers.XLMRobertaConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        max_position_embeddings=POSITIONS,
        type_vocab_size=1,
        pad_token_id=1,
    )
    return save(drawn(getattr(transformers, head), config, device), folder)


def causal(words: Iterable[str], folder: Path, size: str, device: torch.device) -> str:
    """Write a GPT-2 of a given size, and return its folder."""
    from transformers import GPT2Config, GPT2LMHeadModel

    width, layers, heads = SIZES[size]
    vocabulary = save_tokenizer(words, folder, VOCABULARY[size])
    config = GPT2Config(
        vocab_size=vocabulary,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        bos_token_id=0,
        eos_token_id=2,
        n_positions=512,
    )
    return save(drawn(GPT2LMHeadModel, config, device), folder)


def mbart(words: Iterable[str], folder: Path, size: str, device: torch.device) -> str:
    """Write an mBART-50 of a given size with its language codes, and return its folder."""
    from transformers import MBart50Tokenizer, MBartConfig, MBartForConditionalGeneration
    from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES

    width, layers, heads = SIZES[size]
    last = [*FAIRSEQ_LANGUAGE_CODES, "<mask>"]
    vocabulary = [*((name, 0.0) for name in SPECIAL), *subwords(words, (*SPECIAL, *last), VOCABULARY[size])]
    vocabulary += [(name, 0.0) for name in last]
    MBart50Tokenizer(vocab=vocabulary, model_max_length=1024).save_pretrained(folder)
    halves = {f"{half}_{key}": value for half in ("encoder", "decoder") for key, value in halved(width, layers, heads)}
    config = MBartConfig(
        vocab_size=len(vocabulary), d_model=width, decoder_start_token_id=2, scale_embedding=True, **halves
    )
    return save(drawn(MBartForConditionalGeneration, config, device), folder)


def halved(width: int, layers: int, heads: int) -> Iterator[tuple[str, int]]:
    """The settings of an encoder or decoder with half of the layers."""
    yield from (("layers", max(1, layers // 2)), ("attention_heads", heads), ("ffn_dim", 4 * width))


def drawn(cls: Any, config: Any, device: torch.device) -> Any:
    """A network with the same random weights each time."""
    torch.manual_seed(0)
    with device:
        return cls(config)
