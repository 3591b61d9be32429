"""Speed of attention between words: batches against one sentence at a time, with the bundled encoder.

    python benchmarks/attention.py [CORPUS] [--model NAME] [--quick]

CORPUS is a labelled file. By default, the shipped example is used. One sentence at a time is measured twice: with this
library, and by hand as in the paper's code, but as fast as possible. By hand means transformers' tokenizer and model on
one sentence without padding, in fp32, because autocast would cast all weights each time. The tagger is hardly trained.
"""

from __future__ import annotations

import copy
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import measuring
from nersery.core.sentence import Sentence
from nersery.taggers.networks.word_attention import word_attention
from nersery.taggers.transformer import TransformerTagger

MANY = 500
FEW = 40
"""The numbers of sentences for batches, and for one at a time."""
REPEATS = 3
LAYERS = 4


@torch.no_grad()
def by_hand(tokenizer: Any, model: Any, sentences: Sequence[Sentence]) -> list[NDArray[np.float32]]:
    """Attention between words: all attentions of the model, summed over heads and layers, and merged by word."""
    found = []
    for sentence in sentences:
        encoded = tokenizer(list(sentence.words), is_split_into_words=True, return_tensors="pt", truncation=True)
        attentions = model(**encoded, output_attentions=True).attentions
        between = torch.stack(attentions[-LAYERS:]).sum((0, 1, 2)).numpy()
        words = np.array([-1 if word is None else word for word in encoded.word_ids()])
        places = [np.flatnonzero(words == word) for word in range(len(sentence))]
        to_words = np.stack([between[:, place].sum(1) for place in places], axis=1)
        found.append(np.stack([to_words[place].mean(0) for place in places]))
    return found


def one_at_a_time(tagger: TransformerTagger, sentences: Sequence[Sentence]) -> list[NDArray[np.float32]]:
    return [word_attention(tagger, [sentence], LAYERS)[0] for sentence in sentences]


def main() -> None:
    """Print sentences per second for each way, and the ratios, all from the same run."""
    parser = measuring.parser(__doc__)
    parser.add_argument("corpus", nargs="?")
    parser.add_argument("--model", default="bundled")
    options = parser.parse_args()
    measuring.print_machine()
    many = measuring.example(8 if options.quick else MANY, options.corpus)
    few = many[: 4 if options.quick else FEW]
    tagger = TransformerTagger(options.model, steps=1, head="linear", device="cpu")
    tagger.fit(few)
    network, encoder = tagger.network, tagger.encoder
    model = copy.deepcopy(network).eval()
    model.set_attn_implementation("eager")
    ways: dict[str, tuple[Callable[[], object], int]] = {
        "batches": (partial(word_attention, tagger, many, LAYERS), len(many)),
        "one at a time": (partial(one_at_a_time, tagger, few), len(few)),
        "by hand": (partial(by_hand, encoder.tokenizer, model, few), len(few)),
    }
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(1 if options.quick else REPEATS):
        for name, (work, count) in ways.items():
            speeds[name].append(count / measuring.seconds(work))
    for name, values in speeds.items():
        faster = statistics.median(measuring.ratios(speeds["batches"], values))
        print(f"batches are {faster:5.1f} times as fast as {name:14} {measuring.spread(values, '.0f')} sentences/s")


if __name__ == "__main__":
    main()
