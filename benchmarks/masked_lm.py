"""Speed of the masked-language-model engine: fine-tuning against a bare PyTorch loop, filling against a plain script.

    python benchmarks/masked_lm.py [CORPUS] [--model NAME] [--quick]

CORPUS is a labelled file. By default, the shipped example is used. The bare loop has the same model, batch size,
optimizer and precision, all masks drawn beforehand, and nothing else. The plain script generates as papers' scripts
do: it pads each sentence to 128 subwords, runs the whole output layer over all of them, takes two passes per batch, and
builds 30 masked copies of each sentence beforehand.
"""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

import measuring
from nersery import io
from nersery.augment.base import batch_augmentation, tasks
from nersery.augment.linearized.linearization import linearize, token_descriptions
from nersery.augment.masked_lm.mention_masking import hidden_in_mentions
from nersery.augment.melm import MELM
from nersery.core.outcome import collect
from nersery.core.sentence import Corpus, Sentence
from nersery.io.input_files.shipped import shipped
from nersery.models.masked.masked_inputs import MaskedInput
from nersery.models.masked.masked_lm import MaskedLM
from nersery.models.masked.masked_subwords import MaskedInputEncoder
from nersery.models.pretrained.loading import ModelSource, autocast
from nersery.models.training.trainer import TrainingPlan
from nersery.pipeline.job import run

EPOCHS, BATCH_SIZE, RATE = 3, 30, 3e-4
PADDED = 128
COPIES_BUILT = 30
REPEATS = 3


def opened(name: str, gold: Sequence[Sentence]) -> MaskedLM:
    model = MaskedLM(ModelSource(name))
    model.add_tokens(token_descriptions({e.type for s in gold for e in s.entities}, (), {}))
    return model


def mentions_hidden(sentence: Sentence, rng: random.Random) -> MaskedInput:
    shown = linearize(sentence)
    return MaskedInput(shown.words, tuple(shown.positions[p] for e in sentence.entities for p in e.positions))


# --- fine-tuning ----------------------------------------------------------------------------------------------------


def ours(model: MaskedLM, gold: Sequence[Sentence], epochs: int = EPOCHS) -> None:
    plan = TrainingPlan(epochs=epochs, batch_size=BATCH_SIZE, learning_rate=RATE, precision=model.precision)
    model.fine_tune(gold, mentions_hidden, plan, rate=0.7)


def masked_beforehand(model: MaskedLM, gold: Sequence[Sentence]) -> list[list[dict[str, torch.Tensor]]]:
    """Batches of tensors for the bare loop, one list per epoch."""
    gaps, rng = MaskedInputEncoder(model.encoder, model.mask), random.Random(0)
    epochs = []
    for _ in range(EPOCHS):
        rows = [
            row for s in rng.sample(gold, len(gold)) for row in gaps.randomly_masked(mentions_hidden(s, rng), 0.7, rng)
        ]
        epochs.append([tensors(rows[n : n + BATCH_SIZE], model) for n in range(0, len(rows), BATCH_SIZE)])
    return epochs


def tensors(rows: Sequence[Any], model: MaskedLM) -> dict[str, torch.Tensor]:
    length = max(len(row.window.subwords) for row in rows)
    ids = torch.full((len(rows), length), model.encoder.pad)
    labels = torch.full((len(rows), length), -100)
    for number, row in enumerate(rows):
        ids[number, : len(row.window.subwords)] = torch.tensor(row.window.subwords)
        labels[number, list(row.positions)] = torch.tensor(row.targets)
    return {"input_ids": ids, "attention_mask": (ids != model.encoder.pad).long(), "labels": labels}


def bare_loop(network: Any, epochs: Sequence[Sequence[dict[str, torch.Tensor]]]) -> None:
    """Fine-tune as a user would by hand: transformers' model and its loss, Adam, autocast."""
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, fused=True)
    network.train()
    for batch in itertools.chain.from_iterable(epochs):
        with autocast(network.device, "auto"):
            loss = network(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    network.eval()


# --- generation -----------------------------------------------------------------------------------------------------


def fitted(name: str, gold: Sequence[Sentence]) -> MELM:
    """A method with a model that was not fine-tuned. Generating takes the same time."""
    method = MELM(model=name)
    method._lm = opened(name, gold)
    return method


def generate(method: MELM, corpus: Corpus) -> int:
    return collect(run(tasks(corpus, 3), batch_augmentation(method, 0))).tally.read


@torch.no_grad()
def plain_way(model: MaskedLM, corpus: Corpus) -> int:
    """Generate with copies masked beforehand, rows of 128 subwords, and two passes of the whole model per batch."""
    gaps, rng = MaskedInputEncoder(model.encoder, model.mask), random.Random(0)
    copies = [
        (
            shown,
            places,
            gaps.with_masks(
                MaskedInput(shown.words, tuple(shown.positions[p] for p in places)), [(model.mask,)] * len(places)
            ),
        )
        for sentence in corpus
        for _ in range(COPIES_BUILT)
        for shown, places in [(linearize(sentence), hidden_in_mentions(sentence, 0.5, rng))]
    ]
    wanted = [row for number in range(3) for _, _, rows in copies[number::COPIES_BUILT] for row in rows]
    ids = torch.full((len(wanted), PADDED), model.encoder.pad)
    for number, row in enumerate(wanted):
        subwords = row.window.subwords[:PADDED]
        ids[number, : len(subwords)] = torch.tensor(subwords)
    for start in range(0, len(ids), BATCH_SIZE):
        batch = ids[start : start + BATCH_SIZE]
        for _ in range(2):
            with autocast(model.network.device, "auto"):
                logits = model.network(input_ids=batch, attention_mask=(batch != model.encoder.pad).long()).logits
        for row, scores in zip(wanted[start : start + BATCH_SIZE], logits.float(), strict=True):
            for position in row.positions:
                if position < PADDED:
                    subwords = scores[position].topk(5).indices.tolist()
                    model.encoder.tokenizer.decode([rng.choice(subwords)])
    return len(wanted)


# --- the report -----------------------------------------------------------------------------------------------------


def memory(epochs: int, corpus: str, model: str) -> float:
    """The peak memory in MiB of a process that fine-tunes for ``epochs`` epochs."""
    return measuring.in_own_process(__file__, corpus, "--model", model, "--epochs-only", str(epochs)).peak


def main() -> None:
    """Print ratios and seconds, all from the same run."""
    parser = measuring.parser(__doc__)
    parser.add_argument("corpus", nargs="?", default=str(shipped("recipes/example") / "train.conll"))
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--epochs-only", type=int, metavar="N", help="fine-tune for N epochs, and measure nothing")
    options = parser.parse_args()
    corpus = Corpus(s for s in io.read(options.corpus) if s.entities)
    gold = list(corpus)[: 6 if options.quick else 150]
    if options.epochs_only:
        ours(opened(options.model, gold), gold[:30], options.epochs_only)
        return
    measuring.print_machine()
    corpus = Corpus(gold) if options.quick else corpus
    timings: dict[str, list[float]] = {"bare": [], "ours": [], "plain": [], "filled": []}
    for _ in range(1 if options.quick else REPEATS):
        model = opened(options.model, gold)
        batches = masked_beforehand(model, gold)
        timings["bare"].append(measuring.seconds(partial(bare_loop, model.network, batches)))
        timings["ours"].append(measuring.seconds(partial(ours, opened(options.model, gold), gold)))
        part, method = Corpus(gold[: 2 if options.quick else 40]), fitted(options.model, gold)
        timings["plain"].append(measuring.seconds(partial(plain_way, model, part)) / (3 * len(part)))
        timings["filled"].append(measuring.seconds(partial(generate, method, corpus)) / (3 * len(corpus)))
    slower = measuring.ratios(timings["ours"], timings["bare"])
    faster = measuring.ratios(timings["plain"], timings["filled"])
    median = {name: statistics.median(values) for name, values in timings.items()}
    print(f"fine-tuning takes {measuring.spread(slower)} times as long as the bare loop: ", end="")
    print(f"{median['ours']:.1f} against {median['bare']:.1f} s ({EPOCHS} epochs of {len(gold)} sentences)")
    print(f"filling is {measuring.spread(faster, '.1f')} times as fast as the plain way: ", end="")
    print(f"{1 / median['filled']:.0f} against {1 / median['plain']:.0f} sentences/s")
    few, many = (memory(n, options.corpus, options.model) for n in ((1, 2) if options.quick else (2, 40)))
    print(f"{many / few:.2f} times the memory for more epochs: {few:.0f} MiB in 2, {many:.0f} MiB in 40")


if __name__ == "__main__":
    main()
