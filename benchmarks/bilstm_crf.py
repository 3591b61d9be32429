"""The BiLSTM-CRF tagger beside the transformer with the bundled encoder: speed, F1, and what certainty costs.

    .venv/bin/python benchmarks/bilstm_crf.py TRAIN DEV [--repeats N] [--candidates N] [--quick]

Both train with their own default settings on all of TRAIN, without looks at dev, and predict DEV. Certainty is measured
on the first sentences of DEV, repeated up to the wanted number: ten passes with dropout against one. The goals are a
BiLSTM-CRF 3 times as fast as the transformer in training and in prediction, and ten passes at most 10.5 times as
expensive as one. Seconds are those of the processor, summed over its cores, so that a busy machine measures alike.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

import torch

from nersery import io
from nersery.core.registry import create
from nersery.taggers import bilstm_crf, transformer
from nersery.taggers.base import Tagger, strict_f1

PASSES = 10


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def shown(values: Sequence[float]) -> str:
    return f"{statistics.median(values):7.2f} s ({min(values):.2f} to {max(values):.2f})"


def taggers(quick: bool) -> dict[str, Tagger]:
    """Both taggers as they are, or with a tenth of the steps."""
    steps = {"transformer": transformer.LEAST_STEPS // 10, "bilstm_crf": bilstm_crf.LEAST_STEPS // 10}
    return {name: create("tagger", name, {"steps": steps[name]} if quick else {}) for name in steps}


def main() -> None:
    """Print seconds with their spread, and the ratios, all of one run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps; F1 says nothing then")
    arguments = parser.parse_args()
    gold, dev = list(io.read(arguments.train)), list(io.read(arguments.dev))
    candidates = (dev * -(-arguments.candidates // len(dev)))[: arguments.candidates]
    times: dict[str, dict[str, list[float]]] = {}
    scores: dict[str, list[float]] = {}
    for seed in range(arguments.repeats):
        for name, tagger in taggers(arguments.quick).items():
            took = times.setdefault(name, {"train": [], "predict": [], "one pass": [], "ten passes": []})
            took["train"].append(seconds(partial(tagger.fit, gold, seed=seed)))
            scores.setdefault(name, []).append(100 * strict_f1(dev, tagger.predict(dev)))
            took["predict"].append(seconds(partial(tagger.predict, dev)))
            took["one pass"].append(seconds(partial(tagger.certainty, candidates, passes=1)))
            took["ten passes"].append(seconds(partial(tagger.certainty, candidates, passes=PASSES)))
    print(
        f"{torch.get_num_threads()} threads; {len(gold)} sentences, {len(dev)} to predict, {len(candidates)} to judge"
    )
    for name, took in times.items():
        print(f"{name}: F1 {', '.join(f'{score:.1f}' for score in scores[name])}")
        for work, values in took.items():
            print(f"  {work:10} {shown(values)}")
    for name, took in times.items():
        ratios = [many / one for many, one in zip(took["ten passes"], took["one pass"], strict=True)]
        print(f"ten passes cost {statistics.median(ratios):.1f} times one ({name}; goal: at most 10.5)")
    for work in ("train", "predict"):
        pairs = zip(times["transformer"][work], times["bilstm_crf"][work], strict=True)
        ratios = [slow / quick for slow, quick in pairs]
        spread = f"{min(ratios):.1f} to {max(ratios):.1f}"
        print(f"{work}: the BiLSTM-CRF is {statistics.median(ratios):.1f} times as fast ({spread}; goal: 3)")


if __name__ == "__main__":
    main()
