"""Speed of question prompting: the whole annotator against its encoder alone, on prepared batches.

    python benchmarks/qa_prompting.py [CORPUS] [--model NAME] [--types PER LOC …] [--sentences N] [--quick]

CORPUS is a file with raw text or labelled sentences. By default, the shipped example is used. Both ways compute the
same passes, in turns. The encoder alone is called on prepared tensors. The annotator also splits words into subwords,
builds batches, finds answers and resolves overlaps.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

import measuring
from nersery.annotate.base import AnnotateStage, batch_annotation
from nersery.annotate.qa_prompting import QaPrompting
from nersery.core.outcome import collect
from nersery.core.sentence import Sentence
from nersery.core.text.definitions import question
from nersery.models.passes import windows_at_once
from nersery.models.pretrained.loading import ModelSource, autocast
from nersery.models.question_answering import LENGTH_MULTIPLE, QuestionAnswerer
from nersery.pipeline.job import run

TYPES = ("PER", "LOC", "GRP", "CORP", "PROD", "CW")
REPEATS = 3


def prepared(answerer: QuestionAnswerer, sentences: Sequence[Sentence], types: Sequence[str]) -> list[dict[str, Any]]:
    """The inputs of the encoder, batch by batch."""
    inputs = []
    rows = windows_at_once(answerer.device)
    for start in range(0, len(sentences), AnnotateStage.batch_size):
        texts = [s.words for s in sentences[start : start + AnnotateStage.batch_size] for _ in types]
        asked = [question(type_, {}) for type_ in types] * (len(texts) // len(types))
        for batch, shape in answerer.pairs.batches(answerer.pairs.windows(asked, texts), rows, LENGTH_MULTIPLE):
            collated = answerer.pairs.collate(batch, **shape)
            inputs.append(collated.to(answerer.device).inputs)
    return inputs


@torch.no_grad()
def encoder_alone(answerer: QuestionAnswerer, inputs: Sequence[dict[str, Any]]) -> None:
    with autocast(answerer.device, answerer.precision):  # once, so that it casts the weights once
        for batch in inputs:
            answerer.network.base_model(**batch)


def annotator(method: QaPrompting, sentences: Sequence[Sentence]) -> None:
    collect(run(sentences, batch_annotation(method), batch_size=AnnotateStage.batch_size))


def main() -> None:
    """Print sentences per second both ways, and how much longer the annotator takes."""
    parser = measuring.parser(__doc__)
    parser.add_argument("corpus", nargs="?")
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--types", nargs="+", default=TYPES)
    parser.add_argument("--sentences", type=int, default=512)
    options = parser.parse_args()
    measuring.print_machine()
    sentences = measuring.example(4 if options.quick else options.sentences, options.corpus)
    answerer = QuestionAnswerer(ModelSource(options.model))
    inputs = prepared(answerer, sentences, options.types)
    method = QaPrompting(options.model, types=list(options.types))
    method.fit([])
    ways: dict[str, Callable[[], object]] = {
        "encoder alone": partial(encoder_alone, answerer, inputs),
        "annotator": partial(annotator, method, sentences),
    }
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(1 if options.quick else REPEATS):
        for name, work in ways.items():
            speeds[name].append(len(sentences) / measuring.seconds(work))
    slower = measuring.ratios(speeds["encoder alone"], speeds["annotator"])
    print(f"the annotator takes {statistics.median(slower):.2f} times as long as the encoder alone", end="")
    print(f" ({len(sentences)} sentences x {len(options.types)} types, {len(inputs)} passes)")
    for name, values in speeds.items():
        print(f"  {name:14} {measuring.spread(values, '6.1f')} sentences a second")


if __name__ == "__main__":
    main()
