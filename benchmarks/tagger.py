"""Speed of the tagger with the bundled encoder: prediction against the bare encoder, training against a bare loop.

    python benchmarks/tagger.py [CORPUS] [--model NAME] [--quick]

CORPUS is a labelled file. By default, the shipped example is used. The bare loop has the same model, batch size,
precision and optimizer, and nothing else: no decoding, no evaluation, no progress. The bare encoder is transformers'
network on prepared subwords, sorted by length, in padded batches of 16, 32 or 64 sentences, whichever is fastest. Both
are timed in turn, in processor time.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

import torch

import measuring
from nersery.core.sentence import Sentence
from nersery.models.pretrained.loading import ModelSource, autocast
from nersery.models.subwords.collation import collate
from nersery.taggers.transformer import SHALLOW_RATE, TransformerTagger

STEPS = 40
REPEATS = 3


def bare_loop(sentences: Sequence[Sentence], tagger: TransformerTagger, steps: int) -> None:
    """Train as a user would by hand: transformers' model, its loss, AdamW, autocast."""
    source = ModelSource(tagger.model)
    tokenizer = source.tokenizer()
    names = ["O", *sorted({f"{letter}-{e.type}" for s in sentences for e in s.entities for letter in "BI"})]
    model = source.model("AutoModelForTokenClassification", num_labels=len(names)).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=tagger.learning_rate or SHALLOW_RATE, fused=True)
    batches = itertools.cycle(
        sentences[start : start + tagger.batch_size] for start in range(0, len(sentences), tagger.batch_size)
    )
    for batch in itertools.islice(batches, steps):
        encoded = tokenizer(
            [list(sentence.words) for sentence in batch], is_split_into_words=True, padding=True, return_tensors="pt"
        )
        labels = torch.full(encoded["input_ids"].shape, -100)
        for row, sentence in enumerate(batch):
            tags = ["O"] * len(sentence)
            for entity in sentence.entities:
                for position in entity.positions:
                    tags[position] = f"{'B' if position == entity.start else 'I'}-{entity.type}"
            for position, word in enumerate(encoded.word_ids(row)):
                if word is not None and encoded.word_ids(row)[position - 1] != word:
                    labels[row, position] = names.index(tags[word])
        with autocast(model.device, "auto"):
            loss = model(**encoded, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def once(work: Callable[[], object]) -> float:
    """The processor seconds of a call."""
    return measuring.seconds(work, time.process_time)


def main() -> None:
    """Print the ratios of the training loops in the same run, and sentences per second."""
    parser = measuring.parser(__doc__)
    parser.add_argument("corpus", nargs="?")
    parser.add_argument("--model", default="bundled")
    options = parser.parse_args()
    measuring.print_machine()
    count, many, steps, repeats = (4, 8, 1, 1) if options.quick else (160, 2000, STEPS, REPEATS)
    training, sentences = measuring.example(count, options.corpus), measuring.example(many, options.corpus)
    new = partial(TransformerTagger, options.model, steps=steps, device="cpu")
    timings: dict[str, list[float]] = {"bare": [], "linear": [], "crf": []}
    for _ in range(repeats):
        timings["bare"].append(once(partial(bare_loop, training, new(head="linear"), steps)))
        for tagger in (new(head="linear"), new(head="crf")):
            timings[tagger.head].append(once(partial(tagger.fit, training)))
    for name, values in timings.items():
        slower = measuring.spread(measuring.ratios(values, timings["bare"]))
        print(f"training, {name:7} {slower} times the bare loop: {measuring.spread(values)} s, {steps} steps of 16")
    predicting(tagger, sentences, repeats)


def predicting(tagger: TransformerTagger, sentences: Sequence[Sentence], repeats: int) -> None:
    """Print the speed of prediction, and of the bare encoder in the same run."""
    network, encoder = tagger.network, tagger.encoder
    windows = [window for sentence in sentences for window in encoder.windows(sentence.words)]
    windows.sort(key=lambda window: -len(window.subwords))

    @torch.no_grad()
    def bare(size: int) -> None:
        with autocast(network.device, tagger.precision):
            for start in range(0, len(windows), size):
                batch = collate(windows[start : start + size], encoder.pad)
                network(input_ids=batch.input_ids, attention_mask=batch.attention_mask)

    tagger.predict(sentences[:64])
    sizes: dict[int, list[float]] = {16: [], 32: [], 64: []}
    own: list[float] = []
    for _ in range(repeats):
        for size, values in sizes.items():
            values.append(once(partial(bare, size)))
        own.append(once(partial(tagger.predict, sentences)))
    size, fastest = min(sizes.items(), key=lambda item: statistics.median(item[1]))
    ratio = measuring.spread(measuring.ratios(fastest, own))
    print(f"prediction with a CRF head: {ratio} of the bare encoder's speed in batches of {size}")
    speeds = [[len(sentences) / seconds for seconds in values] for values in (own, fastest)]
    own_speed, bare_speed = (measuring.spread(values, ".0f") for values in speeds)
    print(f"  {own_speed} sentences a second of processor time, the bare encoder {bare_speed}")


if __name__ == "__main__":
    main()
