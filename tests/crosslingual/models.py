"""Two artificial languages, and an encoder with slightly similar embeddings of translations."""

from __future__ import annotations

import random
from pathlib import Path

import torch

from nersery.crosslingual.aligners.base import Aligner, Alignment, Pair
from tests.conftest import TINY, build_tokenizer

LETTERS = "bcdefghijklm"
SOURCE, TARGET = [f"a{letter}" for letter in LETTERS], [f"z{letter}" for letter in LETTERS]
Gold = list[set[tuple[int, int]]]


def build_bilingual(folder: Path) -> None:
    """Save an untrained masked language model that embeds a word and its translation with some similarity."""
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    build_tokenizer("wordpiece", folder, [" ".join(SOURCE + TARGET)])
    tokenizer = AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(0)
    no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    network = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **no_dropout, **TINY))
    with torch.no_grad():
        weight = network.bert.embeddings.word_embeddings.weight
        for pair in zip(SOURCE, TARGET, strict=True):
            source, target = tokenizer.convert_tokens_to_ids(list(pair))
            weight[target] = weight[source] + 2 * weight[target]
        network.bert.embeddings.position_embeddings.weight *= 0.5
    network.save_pretrained(folder)


def translations(count: int, seed: int) -> tuple[list[Pair], Gold]:
    """Sentences of five words, their translations in another order, and the gold links."""
    rng = random.Random(seed)
    pairs, gold = [], []
    for number in range(count):
        words, order = rng.sample(range(len(LETTERS)), 5), rng.sample(range(5), 5)
        source, target = tuple(SOURCE[word] for word in words), tuple(TARGET[words[position]] for position in order)
        pairs.append(Pair(source, target, str(number)))
        gold.append({(position, other) for other, position in enumerate(order)})
    return pairs, gold


def f1(aligner: Aligner, pairs: list[Pair], gold: Gold) -> float:
    """The F1 of an aligner's links, in [0, 1]."""
    right = found = 0
    for alignment, expected in zip(aligner.align(pairs), gold, strict=True):
        assert isinstance(alignment, tuple)
        found += len(alignment)
        right += len(points(alignment) & expected)
    return 2 * right / (found + sum(map(len, gold)))


def points(alignment: Alignment) -> set[tuple[int, int]]:
    return {(link.source, link.target) for link in alignment}
