"""Texts for masked language models, and helpers that train one."""

from __future__ import annotations

import random
from pathlib import Path

import torch

from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.masked.masked_lm import MaskedLM
from nersery.models.pretrained.loading import ModelSource
from nersery.models.tokens import TOKEN_PREFIX
from nersery.models.training.trainer import TrainingPlan

KINDS = ["wordpiece", "bytes", "unigram"]
MARKS = ("##", "▁", "Ġ", "\ufffd", TOKEN_PREFIX, "[", "]", "<", ">")
TEXTS = [
    "Ada Lovelace wrote the first program in London .",
    "Grace won",
    "नमस्ते दुनिया राम दिल्ली में रहता है ।",
    "東京 は 日本 の 首都",
    "زار أحمد مدينةً",
    "we saw 👩‍👩‍👧 there \u200b today",
    "[MASK] [SEP] <b-per> ##s ▁a Ġ",
]


def opened(folder: Path | str) -> MaskedLM:
    return MaskedLM(ModelSource(str(folder)), "cpu", "fp32")


def masked_inputs_of_all_sorts() -> list[MaskedInput]:
    """Texts of many lengths, with one, several or all words as gaps; some are longer than a window."""
    rng = random.Random(5)
    masked_inputs = []
    for number in range(60):
        words = tuple(rng.choice(" ".join(TEXTS).split()) for _ in range(rng.randint(1, 30)))
        count = rng.choice([1, 1, 2, len(words)])
        gaps = tuple(sorted(rng.sample(range(len(words)), min(count, len(words)))))
        masked_inputs.append(MaskedInput(words, gaps, ("name", "of", "a", "place") if number % 3 else ()))
    long = tuple(TEXTS[0].split() * 20)
    return [
        *masked_inputs,
        MaskedInput(long, (3, 100, 150)),
        MaskedInput(("Ada", "x" * 500, "won"), (1, 2)),
        MaskedInput(("Ada",), ()),
    ]


def rngs(count: int, seed: int = 0) -> list[random.Random]:
    return [random.Random(f"{seed} {number}") for number in range(count)]


def plan(epochs: int = 2, batch_size: int = 4, learning_rate: float = 5e-3) -> TrainingPlan:
    return TrainingPlan(epochs=epochs, batch_size=batch_size, learning_rate=learning_rate, precision="fp32")


def one_word(words: tuple[str, ...], rng: random.Random) -> MaskedInput:
    return MaskedInput(words, (rng.randrange(len(words)),))


def all_words(words: tuple[str, ...], rng: random.Random) -> MaskedInput:
    return MaskedInput(words, tuple(range(len(words))))


def weights(model: MaskedLM) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.network.parameters()])
