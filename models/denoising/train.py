"""Train a small English encoder-decoder that restores sentences, for ACLM's denoising.

    python models/denoising/train.py --data DIR --work DIR [--steps 3000]

README.md in this folder describes the result. The same command resumes. It writes ``model/`` (a BART as a Hugging Face
folder), ``samples.txt`` (sentences that it restored) and ``curve.jsonl`` into the working folder.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import BartConfig, BartForConditionalGeneration

from nersery.core.progress import Progress
from nersery.core.random import item_rng
from nersery.io.word_splitting.tokenization import splitter
from nersery.models.pretrained.loading import ModelSource
from nersery.models.seq2seq.encoder_decoder import Seq2Seq
from nersery.models.seq2seq.seq2seq_inputs import Sampling, TextPair
from nersery.models.tokens import GAP
from nersery.models.training.trainer import TrainingPlan

sys.path.insert(0, str(Path(__file__).parents[1]))
from existing_path import existing

CORPORA = ("wikitext2", "squad_sentences", "textbooks", "wikipedia_crowd")
HELD_OUT, MEASURED = 100, 400
"""The sentences at the end of WikiText-2 that are written as samples, and those that the loss is measured on."""
MIN_LENGTH, MAX_LENGTH = 6, 40
"""The length of a sentence in words."""
HIDDEN = (0.15, 0.75)
"""The range of the share of words that a sentence loses. Each sentence draws its own share."""
MEAN_GAP = 3
"""The average number of words of a gap, as in BART."""
DECODER_LAYERS = (1, 3, 5)
"""The layers of the encoder that initialize the three layers of the decoder."""
BATCH, RATE = 32, 5e-4

Words = tuple[str, ...]


# --- text ---------------------------------------------------------------------------------------------------------


def sentences(folder: Path) -> tuple[list[Words], list[Words]]:
    """Sentences to train on, and held-out ones, as words."""
    words_of = splitter("punctuation", "en")
    train: list[Words] = []
    held_out: list[Words] = []
    for name in CORPORA:
        found = [tuple(words_of(line)) for line in _lines(folder / f"text/en/{name}.txt")]
        found = [words for words in found if MIN_LENGTH <= len(words) <= MAX_LENGTH]
        if name == "wikitext2":
            found, held_out = found[:-MEASURED], found[-MEASURED:]
        train += found
    return train, held_out


def _lines(path: Path) -> Iterator[str]:
    """The sentences of a file, without the markup of WikiText. Paragraphs are split after full stops."""
    for line in path.read_text("utf-8").splitlines():
        for mark, plain in ((" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."), ("``", '"'), ("''", '"')):
            line = line.replace(mark, plain)
        if "<unk>" not in line and not line.startswith(" ="):
            yield from re.split(r"(?<=[a-z]\.) (?=[A-Z])|(?<= \.) (?=[A-Z])", line.strip())


def corrupted(words: Words, rng: random.Random) -> TextPair:
    """A pair of a sentence with gaps and the original sentence."""
    hidden = rng.uniform(*HIDDEN) * len(words)
    taken: set[int] = set()
    while len(taken) < hidden:
        start = rng.randrange(len(words))
        taken.update(range(start, min(len(words), start + 1 + int(rng.expovariate(1 / MEAN_GAP)))))
    shown = [GAP if place in taken else word for place, word in enumerate(words)]
    merged = [word for is_gap, run in groupby(shown, GAP.__eq__) for word in ([GAP] if is_gap else run)]
    return TextPair(tuple(merged), words)


# --- model --------------------------------------------------------------------------------------------------------


def assemble(folder: Path) -> None:
    """Write a BART with the encoder of the bundled masked language model, and a decoder initialized from its layers.

    BERT and BART have the same layers, so all weights except those of the cross-attention can be copied. The
    cross-attention is initialized from the decoder's self-attention.
    """
    source = ModelSource("bundled")
    bert: Any = source.masked_lm()
    own, tokenizer = bert.config, source.tokenizer()
    config = BartConfig(
        vocab_size=own.vocab_size,
        d_model=own.hidden_size,
        encoder_layers=own.num_hidden_layers,
        decoder_layers=len(DECODER_LAYERS),
        encoder_attention_heads=own.num_attention_heads,
        decoder_attention_heads=own.num_attention_heads,
        encoder_ffn_dim=own.intermediate_size,
        decoder_ffn_dim=own.intermediate_size,
        max_position_embeddings=own.max_position_embeddings,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
        decoder_start_token_id=tokenizer.sep_token_id,
        forced_eos_token_id=None,
    )
    torch.manual_seed(0)
    bart = BartForConditionalGeneration(config)
    embeddings = bert.bert.embeddings
    with torch.no_grad():
        bart.model.shared.weight.copy_(embeddings.word_embeddings.weight)
        bart.final_logits_bias.copy_(bert.cls.predictions.bias[None])
        for part in (bart.model.encoder, bart.model.decoder):
            positions = embeddings.position_embeddings.weight + embeddings.token_type_embeddings.weight[0]
            part.embed_positions.weight[part.embed_positions.offset :] = positions
            _copy(embeddings.LayerNorm, part.layernorm_embedding)
        layers = bert.bert.encoder.layer
        for number, layer in enumerate(bart.model.encoder.layers):
            _copy_layer(layers[number], layer)
        for number, layer in zip(DECODER_LAYERS, bart.model.decoder.layers, strict=True):
            _copy_layer(layers[number], layer)
            _copy_attention(layers[number].attention, layer.encoder_attn, layer.encoder_attn_layer_norm)
    bart.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _copy_layer(bert: Any, bart: Any) -> None:
    _copy_attention(bert.attention, bart.self_attn, bart.self_attn_layer_norm)
    _copy(bert.intermediate.dense, bart.fc1)
    _copy(bert.output.dense, bart.fc2)
    _copy(bert.output.LayerNorm, bart.final_layer_norm)


def _copy_attention(bert: Any, bart: Any, norm: nn.Module) -> None:
    for name, to in (("query", bart.q_proj), ("key", bart.k_proj), ("value", bart.v_proj)):
        _copy(getattr(bert.self, name), to)
    _copy(bert.output.dense, bart.out_proj)
    _copy(bert.output.LayerNorm, norm)


def _copy(one: nn.Module, other: nn.Module) -> None:
    other.load_state_dict(one.state_dict())


# --- training -----------------------------------------------------------------------------------------------------


def restored(model: Seq2Seq, held_out: list[Words]) -> Iterator[str]:
    """Samples: corrupted sentences with the model's restorations and the originals."""
    rngs = [item_rng(0, "samples", number) for number in range(len(held_out))]
    pairs = [corrupted(words, rng) for words, rng in zip(held_out, rngs, strict=True)]
    texts = model.generate(pairs, rngs, Sampling())
    for pair, text in zip(pairs, texts, strict=True):
        yield "corrupted: " + " ".join("___" if word == GAP else word for word in pair.source)
        yield "restored:  " + (" ".join(text.words) if text is not None else "(too long)")
        yield "original:  " + " ".join(pair.target) + "\n"


def main() -> None:
    """Train and write samples."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=existing("text/en"), required=True, help="the folder that contains text/en")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3000)
    arguments = parser.parse_args()
    work: Path = arguments.work
    train, held_out = sentences(arguments.data)
    print(f"{len(train)} sentences, {sum(map(len, train))} words", flush=True)
    if not (work / "initial/config.json").exists():
        assemble(work / "initial")
    model = Seq2Seq(ModelSource(str(work / "initial")))
    plan = TrainingPlan(
        steps=arguments.steps,
        batch_size=BATCH,
        learning_rate=RATE,
        warmup=0.06,
        optimizer="adamw",
        schedule="linear",
        evaluate_every=max(1, arguments.steps // 20),
        precision="auto",
    )
    with Progress("train") as progress:
        history = model.fine_tune(
            train, corrupted, plan, dev=held_out, progress=progress, folder=work / "checkpoint", fingerprint={}
        )
    curve = [
        {"step": one.step, "loss": round(one.loss, 3), "held-out loss": round(-one.score, 3)}
        for one in history.evaluations
    ]
    (work / "curve.jsonl").write_text("".join(json.dumps(line) + "\n" for line in curve), "utf-8")
    model.network.save_pretrained(work / "model")
    model.source.tokenizer().save_pretrained(work / "model")
    (work / "samples.txt").write_text("\n".join(restored(model, held_out[:HELD_OUT])), "utf-8")


if __name__ == "__main__":
    main()
