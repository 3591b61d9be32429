"""Compare taggers of `nersery train` with those that users train without nersery, on the same sentences.

    python benchmarks/usual_trainers.py TRAIN DEV TEST [--trainers NAME...] [--model MODEL] [--steps N] [--seeds N]
        [--language CODE] [--quick]

*transformers* is the usual loop: `AutoModelForTokenClassification`, the same encoder and number of steps as nersery,
batches of 16, AdamW with a learning rate that falls linearly to zero. *spaCy* is ``spacy train`` with its default
configuration, which has no pretrained encoder (``pip install spacy``). Both may use the labels of DEV, nersery may
not: transformers to choose the learning rate, spaCy to stop. Broken tags of transformers are repaired as by seqeval.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from seqeval.metrics.sequence_labeling import get_entities  # type: ignore[import-untyped]

import measuring
import nersery
from nersery import Entity, Sentence, io
from nersery.models.pretrained.loading import ModelSource

BATCH = 16
RATES = (5e-5, 1e-4, 3e-4)
"""The learning rates of transformers: that of its examples, and higher ones, which suit small encoders."""


class Usual:
    """A tagger as in the course of transformers.

    Args:
        types: The types of entities.
    """

    def __init__(self, model: str, types: Sequence[str]) -> None:
        source = ModelSource(model)
        self.tags = ["O", *(f"{letter}-{type_}" for type_ in types for letter in "BI")]
        self.tokenizer = source.tokenizer()
        self.network = source.model("AutoModelForTokenClassification", num_labels=len(self.tags))
        vars(self.network.base_model).pop("forward", None)  # nersery's, which computes nothing for padding

    def _encoded(self, batch: Sequence[Sentence]) -> tuple[Any, list[list[tuple[int, int]]]]:
        """The input of the network, and the position of the first subword of each word, with the word's number."""
        words = [[*sentence.words] for sentence in batch]
        encoded = self.tokenizer(words, is_split_into_words=True, truncation=True, padding=True, return_tensors="pt")
        numbers = [encoded.word_ids(row) for row in range(len(batch))]
        firsts = [
            [(at, word) for at, (before, word) in enumerate(pairwise([None, *row])) if word not in (None, before)]
            for row in numbers
        ]
        return encoded, firsts

    def train(self, sentences: Sequence[Sentence], steps: int, rate: float, seed: int) -> None:
        """Take ``steps`` training steps."""
        rng = random.Random(seed)
        optimizer = torch.optim.AdamW(self.network.parameters(), lr=rate)
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
        order: list[Sentence] = []
        self.network.train()
        for _ in range(steps):
            if not order:
                order = rng.sample(sentences, len(sentences))
            batch, order = order[:BATCH], order[BATCH:]
            encoded, firsts = self._encoded(batch)
            labels = torch.full_like(encoded["input_ids"], -100)
            for row, (sentence, places) in enumerate(zip(batch, firsts, strict=True)):
                named = {
                    at: f"{'B' if at == e.start else 'I'}-{e.type}" for e in sentence.entities for at in e.positions
                }
                for at, word in places:
                    labels[row, at] = self.tags.index(named.get(word, "O"))
            self.network(**encoded, labels=labels).loss.backward()
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()

    @torch.inference_mode()
    def predict(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The sentences with predicted entities."""
        self.network.eval()
        found = []
        for start in range(0, len(sentences), BATCH):
            batch = sentences[start : start + BATCH]
            encoded, firsts = self._encoded(batch)
            best = self.network(**encoded).logits.argmax(-1).tolist()
            for sentence, row, places in zip(batch, best, firsts, strict=True):
                tags = ["O"] * len(sentence.words)
                for at, word in places:
                    tags[word] = self.tags[row[at]]
                entities = (Entity(first, last + 1, type_) for type_, first, last in get_entities(tags))
                found.append(Sentence(sentence.words, tuple(entities)))
        return found


def f1(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> float:
    return 100 * nersery.evaluate(gold, predicted).micro.f1


def by_nersery(parts: dict[str, list[Sentence]], folder: Path, options: argparse.Namespace, seed: int) -> float:
    """F1 of nersery's tagger in percent."""
    output = folder / f"nersery-{seed}"
    nersery.train(
        parts["train"], model=options.model, steps=options.steps, seed=seed, output=output, batch_size=BATCH, quiet=True
    )
    return f1(parts["test"], list(nersery.predict(parts["test"], output)))


def by_transformers(parts: dict[str, list[Sentence]], folder: Path, options: argparse.Namespace, seed: int) -> float:
    """F1 of the tagger of transformers with the learning rate that is best on the dev set."""
    types = sorted({entity.type for sentence in parts["train"] for entity in sentence.entities})
    scores = []
    for rate in RATES:
        torch.manual_seed(seed)
        tagger = Usual(options.model, types)
        tagger.train(parts["train"], options.steps, rate, seed)
        scores.append(tuple(f1(parts[part], tagger.predict(parts[part])) for part in ("dev", "test")))
        print(
            f"  transformers, seed {seed}, rate {rate:g}: dev {scores[-1][0]:.1f}, test {scores[-1][1]:.1f}", flush=True
        )
    return float(max(scores)[1])


def by_spacy(parts: dict[str, list[Sentence]], folder: Path, options: argparse.Namespace, seed: int) -> float:
    """F1 of spaCy's tagger."""
    import spacy
    from spacy.tokens import Doc

    for part in ("train", "dev"):
        nersery.write(parts[part], folder / f"{part}.spacy")
    config, output = folder / "spacy.cfg", folder / f"spacy-{seed}"
    most = ["--training.max_steps", "2"] if options.quick else []
    files = [f"--paths.{part}={folder / part}.spacy" for part in ("train", "dev")]
    for arguments in (
        ["init", "config", config, "--lang", options.language, "--pipeline", "ner", "--force"],
        ["train", config, "--output", output, *files, "--system.seed", seed, *most],
    ):
        subprocess.run([sys.executable, "-m", "spacy", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
    pipeline = spacy.load(output / "model-best")
    docs = pipeline.pipe(Doc(pipeline.vocab, [*sentence.words]) for sentence in parts["test"])
    found = [
        Sentence(sentence.words, tuple(Entity(span.start, span.end, span.label_) for span in doc.ents))
        for sentence, doc in zip(parts["test"], docs, strict=True)
    ]
    return f1(parts["test"], found)


TRAINERS: dict[str, Callable[..., float]] = {"nersery": by_nersery, "transformers": by_transformers, "spaCy": by_spacy}


def main() -> None:
    """Print the F1 of each training, and their means."""
    parser = measuring.parser(__doc__)
    for part in ("train", "dev", "test"):
        parser.add_argument(part)
    parser.add_argument("--trainers", nargs="+", choices=TRAINERS, default=[*TRAINERS])
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--language", default="en", help="of spaCy's blank pipeline")
    options = parser.parse_args()
    if options.quick:
        options.steps, options.seeds = 2, 1
    measuring.print_machine()
    parts = {part: list(io.read(getattr(options, part))) for part in ("train", "dev", "test")}
    results: dict[str, list[float]] = {kind: [] for kind in options.trainers}
    for seed in range(options.seeds):
        for kind in options.trainers:
            begun = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                results[kind].append(TRAINERS[kind](parts, Path(folder), options, seed))
            print(f"{kind}, seed {seed}: F1 {results[kind][-1]:.1f}, {time.perf_counter() - begun:.0f} s", flush=True)
    for kind, scores in results.items():
        print(f"{kind}: F1 {mean(scores):.1f} ± {stdev(scores) if len(scores) > 1 else 0:.1f}")


if __name__ == "__main__":
    main()
