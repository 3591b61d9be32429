"""Speed of generation with an encoder-decoder: sentences a second, against one ``generate`` call a sentence.

    .venv/bin/python benchmarks/seq2seq.py [--sentences 128] [--subwords 40]

The model is a BART of 6 + 6 layers and width 384 with random weights. Both ways draw five texts a sentence, each
subword from the ten best, and all of the same length, for no text may end before it. ``generate`` computes in fp32, as
scripts that load a model do; ours in fp32, and in bf16 where the processor has it, which is then the default. Where
there is a GPU, also ours at the size of mBART-50-large in bf16, with the share of time in which the GPU was at work.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import BartConfig, BartForConditionalGeneration

from nersery.core.registry import Precision
from nersery.models.loading import ModelSource, autocast, has_fast_bf16
from nersery.models.seq2seq.generation import Request, Sampler
from nersery.models.seq2seq.seq2seq_inputs import Sampling

SMALL = {"width": 384, "layers": 6, "heads": 6, "vocabulary": 50_265}
LARGE = {"width": 1024, "layers": 12, "heads": 16, "vocabulary": 250_054}
PAD, END, LEAD = 1, 2, (2, 0)
TOP_K, CANDIDATES = 10, 5
ONE_BY_ONE = 4
"""Sentences that the plain way is measured on."""
ON_GPU = 1024
REPEATS = 2

Sources = Sequence[tuple[int, ...]]


def network(width: int, layers: int, heads: int, vocabulary: int) -> Any:
    """A BART with random weights."""
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=vocabulary,
        d_model=width,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        forced_eos_token_id=None,
    )
    return BartForConditionalGeneration(config).eval()


def sources(count: int) -> Sources:
    """Of the lengths that templates of sentences have."""
    rng = random.Random(0)
    return [(0, *(rng.randrange(10, 50_000) for _ in range(rng.randint(8, 45))), END) for _ in range(count)]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


@torch.no_grad()
def one_by_one(model: Any, texts: Sources, subwords: int) -> None:
    """What scripts of papers do."""
    for text in texts:
        model.generate(
            torch.tensor([text], device=model.device),
            decoder_input_ids=torch.tensor([LEAD], device=model.device),
            do_sample=True,
            top_k=TOP_K,
            num_return_sequences=CANDIDATES,
            min_new_tokens=subwords,
            max_new_tokens=subwords,
        )


def ours(model: Any, texts: Sources, subwords: int, precision: Precision = "fp32") -> None:
    sampling = Sampling(TOP_K, CANDIDATES, max_subwords=subwords - 1)  # and a subword that shows that there is no end
    sampler = Sampler(model, ModelSource("random"), sampling, pad=PAD, barred=[END], longest=1024)
    with autocast(model.device, precision):
        found = sampler.draw([Request(text, LEAD, END, random.Random(number)) for number, text in enumerate(texts)])
    assert {len(draft.subwords) for draft in found} == {subwords}


def compare(model: Any, texts: Sources, subwords: int, precision: Precision) -> None:
    """Print sentences a second of the two ways; they are timed in turn, so that both meet the same load."""
    ours(model, texts[:1], 5, precision)
    timings = []
    for _ in range(REPEATS):
        plain = seconds(lambda: one_by_one(model, texts[:ONE_BY_ONE], subwords)) / ONE_BY_ONE
        timings.append((plain, seconds(lambda: ours(model, texts, subwords, precision)) / len(texts)))
    plain, batched = (min(column) for column in zip(*timings, strict=True))
    print(f"one generate call a sentence {1 / plain:.1f} sentences/s, ours in {precision} {1 / batched:.1f}, ", end="")
    print(f"{plain / batched:.1f} times")


def on_gpu(subwords: int) -> None:
    """Print sentences a second, and the share of time that kernels take."""
    model, texts = network(**LARGE).to("cuda"), sources(ON_GPU)
    ours(model, texts[:64], subwords, "bf16")
    taken = seconds(lambda: ours(model, texts, subwords, "bf16"))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        profiled = seconds(lambda: ours(model, texts[: ON_GPU // 4], subwords, "bf16"))
    busy = sum(event.self_device_time_total for event in profile.key_averages()) / 1e6
    print(f"{torch.cuda.get_device_name()}, bf16, mBART-50-large's size: {ON_GPU / taken:.0f} sentences/s, ", end="")
    print(f"the GPU works {100 * busy / profiled:.0f} % of the time")


def main() -> None:
    """Print sentences a second and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=128)
    parser.add_argument("--subwords", type=int, default=40)
    arguments = parser.parse_args()
    model, texts = network(**SMALL), sources(arguments.sentences)
    precisions: list[Precision] = ["fp32", "bf16"] if has_fast_bf16(model.device) else ["fp32"]
    one_by_one(model, texts[:1], 5)
    print(
        f"{torch.get_num_threads()} threads, {len(texts)} sentences, {arguments.subwords} subwords, "
        f"{CANDIDATES} texts each"
    )
    for precision in precisions:
        compare(model, texts, arguments.subwords, precision)
    if torch.cuda.is_available():
        on_gpu(arguments.subwords)
    else:
        print("no GPU here: the size of mBART-50-large was not measured")


if __name__ == "__main__":
    main()
