"""Compare two encoders: F1 of taggers trained on gold only.

    python benchmarks/encoders.py OUT [--models ONE OTHER] [--sets SET...] [--data FOLDER] [--seeds 3] [--quick]

By default, the two bundled encoders are compared on English text with capitals. The sentences are those of
`grow_choice.py`. OUT/results.jsonl gets a line for each training. The same command resumes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import measuring
import nersery
from grow_choice import DATA, SETS
from nersery.taggers.base import strict_f1

MODELS = ("bundled", "bundled-multilingual")
CASED = ("pud-en", "ncbi", "wikigold", "twitter")
TESTED = 500
"""The number of test sentences to score, from the beginning."""


def result_of(name: str, model: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Train and score a tagger."""
    data = replace(SETS[name], size=12, test=12) if options.quick else SETS[name]
    gold, _, test = data.read(options.data, seed)
    began = time.monotonic()
    tagger = nersery.train(gold, model=model, steps=2 if options.quick else 300, seed=seed, quiet=True)
    seconds, tested = time.monotonic() - began, test.sentences[:TESTED]
    f1 = 100 * strict_f1(tested, tagger.predict(tested))
    return {"data": name, "model": model, "seed": seed, "f1": f1, "seconds": seconds}


def table(results: Sequence[dict[str, Any]], models: Sequence[str]) -> Iterator[str]:
    """A table of F1 and training time, averaged over seeds."""
    yield f"| data | {' | '.join(models)} | difference, by seed | time |"
    yield "| --- " * (len(models) + 3) + "|"
    for name in dict.fromkeys(one["data"] for one in results):
        f1, seconds = (
            [[one[what] for one in results if (one["data"], one["model"]) == (name, model)] for model in models]
            for what in ("f1", "seconds")
        )
        gains = ", ".join(f"{better - plain:+.1f}" for plain, better in zip(*f1, strict=True))
        ratio = sum(seconds[1]) / sum(seconds[0])
        yield f"| {name} | {' | '.join(f'{mean(one):.1f}' for one in f1)} | {gains} | {ratio:.1f} times |"


def main() -> None:
    """Train all taggers, and print the table."""
    parser = measuring.parser(__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, default=Path(DATA))
    parser.add_argument("--models", nargs=2, default=MODELS)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=CASED)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    measuring.print_machine()
    wanted = [(name, model, seed) for seed in range(options.seeds) for name in options.sets for model in options.models]
    if options.quick:
        wanted = wanted[: len(options.models)]
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "results.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    found = {(one["data"], one["model"], one["seed"]): one for one in map(json.loads, lines)}
    for key in wanted:
        if key not in found:
            found[key] = result_of(*key, options)
            with path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(found[key]) + "\n")
    print("\n".join(table([found[key] for key in wanted], options.models)))


if __name__ == "__main__":
    main()
