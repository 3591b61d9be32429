"""Speed of question prompting: the whole annotator against its encoder alone, on batches prepared beforehand.

    .venv/bin/python benchmarks/qa_prompting.py [CORPUS] [--model NAME] [--types PER LOC …] [--sentences N]

CORPUS is a file, raw text or labelled; without one the shipped example is used. Both ways compute the same passes, in
turns; the encoder's do nothing but call it on tensors that are there already. What the annotator takes more is cutting
words into subwords, building batches, finding answers and settling overlaps.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from nersery import io
from nersery.annotate.base import BATCH_SIZE, annotate_step
from nersery.annotate.qa_prompting import QaPrompting
from nersery.core.definitions import question
from nersery.core.outcome import collect
from nersery.core.sentence import Sentence
from nersery.experiments.paths import shipped
from nersery.models.loading import ModelSource, autocast
from nersery.models.question_answering import LENGTH_MULTIPLE, ROWS, QuestionAnswerer
from nersery.pipeline.job import run

TYPES = ("PER", "LOC", "GRP", "CORP", "PROD", "CW")
REPEATS = 3


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def prepared(answerer: QuestionAnswerer, sentences: Sequence[Sentence], types: Sequence[str]) -> list[dict[str, Any]]:
    """What the encoder is called with, batch by batch."""
    inputs = []
    for start in range(0, len(sentences), BATCH_SIZE):
        texts = [s.words for s in sentences[start : start + BATCH_SIZE] for _ in types]
        asked = [question(type_, {}) for type_ in types] * (len(texts) // len(types))
        for batch in answerer.pairs.batches(answerer.pairs.readings(asked, texts), ROWS, LENGTH_MULTIPLE):
            collated = answerer.pairs.collate(batch, rows=ROWS, multiple=LENGTH_MULTIPLE)
            inputs.append(collated.to(answerer.device).inputs)
    return inputs


@torch.no_grad()
def encoder_alone(answerer: QuestionAnswerer, inputs: Sequence[dict[str, Any]]) -> None:
    with autocast(answerer.device, answerer.precision):  # once, so that it casts the weights once
        for batch in inputs:
            answerer.network.base_model(**batch)


def annotator(method: QaPrompting, sentences: Sequence[Sentence]) -> None:
    collect(run(sentences, annotate_step(method), batch_size=BATCH_SIZE))


def main() -> None:
    """Print sentences a second each way, and how much the rest of the work takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", default=str(shipped("examples") / "test.conll"))
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--types", nargs="+", default=TYPES)
    parser.add_argument("--sentences", type=int, default=512)
    options = parser.parse_args()
    taken = itertools.islice(itertools.cycle(io.read(options.corpus)), options.sentences)
    sentences = [replace(sentence, id=str(number)) for number, sentence in enumerate(taken)]
    answerer = QuestionAnswerer(ModelSource(options.model))
    inputs = prepared(answerer, sentences, options.types)
    method = QaPrompting(options.model, types=list(options.types))
    method.fit([])
    ways: dict[str, Callable[[], object]] = {
        "encoder alone": partial(encoder_alone, answerer, inputs),
        "annotator": partial(annotator, method, sentences),
    }
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(REPEATS):
        for name, work in ways.items():
            speeds[name].append(len(sentences) / seconds(work))
    passes = f"{len(sentences)} sentences x {len(options.types)} types, {len(inputs)} passes"
    print(f"{torch.get_num_threads()} threads, {passes}")
    for name, values in speeds.items():
        spread = f"{min(values):.1f} to {max(values):.1f}"
        print(f"  {name:14} {statistics.median(values):6.1f} sentences a second ({spread})")
    more = statistics.median(alone / whole - 1 for alone, whole in zip(*speeds.values(), strict=True))
    print(f"  the annotator takes {100 * more:.1f} % more time than the encoder alone")


if __name__ == "__main__":
    main()
