"""The BiLSTM-CRF tagger against the transformer with the bundled encoder: speed, F1, and the cost of certainty.

    python benchmarks/bilstm_crf.py [TRAIN DEV] [--repeats N] [--candidates N] [--quick]

Both taggers train with their default settings on all of TRAIN, without evaluation on dev, and predict DEV. By default,
both files are from the shipped example. Certainty is measured on the first sentences of DEV, repeated up to the given
number: ten passes with dropout against one. The goals: the BiLSTM-CRF is 3 times as fast as the transformer in training
and in prediction, and ten passes take at most 10.5 times as long as one. Times are processor seconds, summed over all
cores, so that a busy machine gives similar figures.
"""

from __future__ import annotations

import statistics
import time
from functools import partial

import measuring
from nersery import io
from nersery.core.registry import create
from nersery.core.training_context import Training
from nersery.io.input_files.shipped import shipped
from nersery.taggers.base import Tagger, strict_f1

PASSES = 10


seconds = partial(measuring.seconds, clock=time.process_time)


def taggers(model: str, quick: bool) -> dict[str, Tagger]:
    """Both taggers with their default settings; with ``quick``, for two steps."""
    settings = {"steps": 2} if quick else {}
    return {
        "transformer": create("tagger", "transformer", {"model": model, **settings}),
        "bilstm_crf": create("tagger", "bilstm_crf", settings),
    }


def main() -> None:
    """Print seconds with their spread, and ratios, all from the same run."""
    parser = measuring.parser(__doc__)
    parser.add_argument("train", nargs="?", default=shipped("recipes/example") / "train.conll")
    parser.add_argument("dev", nargs="?", default=shipped("recipes/example") / "dev.conll")
    parser.add_argument("--model", default="bundled", help="of the transformer")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=1000)
    arguments = parser.parse_args()
    measuring.print_machine()
    gold, dev = list(io.read(arguments.train)), list(io.read(arguments.dev))
    if arguments.quick:
        gold, dev, arguments.candidates, arguments.repeats = gold[:16], dev[:4], 4, 1
    candidates = measuring.example(arguments.candidates, arguments.dev)
    times: dict[str, dict[str, list[float]]] = {}
    scores: dict[str, list[float]] = {}
    for seed in range(arguments.repeats):
        for name, tagger in taggers(arguments.model, arguments.quick).items():
            took = times.setdefault(name, {"train": [], "predict": [], "one pass": [], "ten passes": []})
            took["train"].append(seconds(partial(tagger.fit, gold, Training(seed=seed))))
            scores.setdefault(name, []).append(100 * strict_f1(dev, tagger.predict(dev)))
            took["predict"].append(seconds(partial(tagger.predict, dev)))
            took["one pass"].append(seconds(partial(tagger.certainty, candidates, passes=1)))
            took["ten passes"].append(seconds(partial(tagger.certainty, candidates, passes=PASSES)))
    for work in ("train", "predict"):
        faster = measuring.ratios(times["transformer"][work], times["bilstm_crf"][work])
        print(f"{work}: the BiLSTM-CRF is {measuring.spread(faster, '.1f')} times as fast (goal: 3)")
    for name, took in times.items():
        dearer = measuring.ratios(took["ten passes"], took["one pass"])
        print(f"ten passes cost {statistics.median(dearer):.1f} times one ({name}; goal: at most 10.5)")
    print(f"{len(gold)} sentences, {len(dev)} to predict, {len(candidates)} to judge")
    for name, took in times.items():
        print(f"{name}: F1 {', '.join(f'{score:.1f}' for score in scores[name])}")
        for work, values in took.items():
            print(f"  {work:10} {measuring.spread(values)} s")


if __name__ == "__main__":
    main()
