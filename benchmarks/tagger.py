"""Speed of the tagger with the bundled encoder: prediction, and training against a bare PyTorch loop.

    .venv/bin/python benchmarks/tagger.py [CORPUS]

CORPUS is a labelled file; without one the shipped example is used. The bare loop has the same model, batches of the
same size, the same precision and optimizer, and nothing else: no decoding, no evaluation, no progress.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

import torch

from nersery import io
from nersery.core.sentence import Sentence
from nersery.experiments.paths import shipped
from nersery.models.loading import ModelSource, autocast
from nersery.taggers.transformer import TransformerTagger

STEPS = 40
REPEATS = 3


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bare_loop(sentences: Sequence[Sentence], tagger: TransformerTagger) -> None:
    """What a user would write by hand: transformers' model, its loss, AdamW, autocast."""
    source = ModelSource(tagger.model)
    tokenizer = source.tokenizer()
    names = ["O", *sorted({f"{letter}-{e.type}" for s in sentences for e in s.entities for letter in "BI"})]
    model = source.model("AutoModelForTokenClassification", num_labels=len(names)).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=tagger.learning_rate, fused=True)
    batches = itertools.cycle(
        sentences[start : start + tagger.batch_size] for start in range(0, len(sentences), tagger.batch_size)
    )
    for batch in itertools.islice(batches, STEPS):
        encoded = tokenizer(
            [list(sentence.words) for sentence in batch], is_split_into_words=True, padding=True, return_tensors="pt"
        )
        labels = torch.full(encoded["input_ids"].shape, -100)
        for row, sentence in enumerate(batch):
            tags = ["O"] * len(sentence)
            for entity in sentence.entities:
                for position in range(entity.start, entity.end):
                    tags[position] = f"{'B' if position == entity.start else 'I'}-{entity.type}"
            for position, word in enumerate(encoded.word_ids(row)):
                if word is not None and encoded.word_ids(row)[position - 1] != word:
                    labels[row, position] = names.index(tags[word])
        with autocast(torch.device("cpu"), "auto"):
            loss = model(**encoded, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def main() -> None:
    """Print sentences a second, and the ratio of the two training loops in the same run."""
    corpus = io.read(sys.argv[1] if len(sys.argv) > 1 else shipped("examples") / "test.conll")
    sentences = list(corpus)
    training = sentences[:160]
    timings: dict[str, list[float]] = {"bare": [], "linear": [], "crf": []}
    for _ in range(REPEATS):
        timings["bare"].append(seconds(partial(bare_loop, training, TransformerTagger(head="linear"))))
        for tagger in (TransformerTagger(head="linear", steps=STEPS), TransformerTagger(head="crf", steps=STEPS)):
            timings[tagger.head].append(seconds(partial(tagger.fit, training)))
    print(f"{torch.get_num_threads()} threads; training, {STEPS} steps of 16, loading included, median of {REPEATS}:")
    bare = statistics.median(timings["bare"])
    for name, values in timings.items():
        median = statistics.median(values)
        spread = f"{min(values):.2f} to {max(values):.2f}"
        print(f"  {name:7} {median:6.2f} s ({spread}), {median / bare:.2f} times the bare loop")
    many = sentences * (-(-2000 // len(sentences)))
    tagger.predict(many[:64])
    speeds = [len(many) / seconds(partial(tagger.predict, many)) for _ in range(REPEATS)]
    print(f"prediction with a CRF head: {statistics.median(speeds):.0f} sentences a second ({len(many)} sentences)")


if __name__ == "__main__":
    main()
