"""Speed of generation with an encoder-decoder, in sentences per second, against one ``generate`` call per sentence.

    python benchmarks/seq2seq.py [--sentences 128] [--subwords 40] [--quick]

The model is a BART with 6 + 6 layers, width 384 and random weights. Both ways draw five texts per sentence, with each
subword from the ten best. All texts have the same length, because none may end earlier. ``generate`` computes in fp32,
as scripts that load a model do. Ours computes in fp32, and also in bf16 if the processor supports it, which is then the
default. For larger models on a GPU, see `benchmarks/gpu.sh`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from transformers import BartConfig, BartForConditionalGeneration

import measuring
from nersery.core.settings.typed_settings import Precision
from nersery.models.pretrained.loading import ModelSource, autocast, has_fast_bf16
from nersery.models.seq2seq.generation import Sampler, SamplingRequest
from nersery.models.seq2seq.seq2seq_inputs import Sampling

SMALL = {"width": 384, "layers": 6, "heads": 6, "vocabulary": 50_265}
TINY = {"width": 32, "layers": 2, "heads": 2, "vocabulary": 500}
PAD, END, LEAD = 1, 2, (2, 0)
TOP_K, CANDIDATES = 10, 5
ONE_BY_ONE = 4
"""Sentences that the plain way is measured on."""
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


def sources(count: int, vocabulary: int) -> Sources:
    """Random inputs with the lengths of sentence templates."""
    rng = random.Random(0)
    return [(0, *(rng.randrange(10, vocabulary) for _ in range(rng.randint(8, 45))), END) for _ in range(count)]


@torch.no_grad()
def one_by_one(model: Any, texts: Sources, subwords: int) -> None:
    """Generate as papers' scripts do: one call per sentence."""
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
    sampling = Sampling(TOP_K, CANDIDATES, max_subwords=subwords - 1)  # one more shows that the text has not ended
    sampler = Sampler(model, ModelSource("random"), sampling, pad=PAD, suppressed=[END], longest=1024)
    with autocast(model.device, precision):
        found = sampler.draw(
            [SamplingRequest(text, LEAD, END, random.Random(number)) for number, text in enumerate(texts)]
        )
    assert {len(draft.subwords) for draft in found} == {subwords}


def compare(model: Any, texts: Sources, subwords: int, precision: Precision) -> None:
    """Print the ratio of the two ways. They are timed in turn, so that the load is the same for both."""
    ours(model, texts[:1], 5, precision)
    timings = []
    few = texts[:ONE_BY_ONE]
    for _ in range(REPEATS):
        plain = measuring.seconds(partial(one_by_one, model, few, subwords)) / len(few)
        timings.append((plain, measuring.seconds(partial(ours, model, texts, subwords, precision)) / len(texts)))
    plain, batched = (min(column) for column in zip(*timings, strict=True))
    print(f"{plain / batched:.1f} times as fast as one generate call a sentence: in {precision} ", end="")
    print(f"{1 / batched:.1f} against {1 / plain:.1f} sentences/s")


def main() -> None:
    """Print ratios and sentences per second."""
    parser = measuring.parser(__doc__)
    parser.add_argument("--sentences", type=int, default=128)
    parser.add_argument("--subwords", type=int, default=40)
    options = parser.parse_args()
    measuring.print_machine()
    if options.quick:
        options.sentences, options.subwords = 2, 6
    size = TINY if options.quick else SMALL
    model, texts = network(**size), sources(options.sentences, size["vocabulary"])
    precisions: list[Precision] = ["fp32", "bf16"] if has_fast_bf16(model.device) else ["fp32"]
    one_by_one(model, texts[:1], 5)
    print(f"{len(texts)} sentences, {options.subwords} subwords, {CANDIDATES} texts each")
    for precision in precisions:
        compare(model, texts, options.subwords, precision)


if __name__ == "__main__":
    main()
