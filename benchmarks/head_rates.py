"""Compare learning rates of a new head in trainings of several lengths: F1 of taggers trained on gold only.

    python benchmarks/head_rates.py OUT [--model MODEL] [--sets SET...] [--rates 2e-3 4e-3] [--schedules 200x8]
        [--data FOLDER] [--seeds 1] [--quick]

A schedule is a number of steps and of sentences in each. The sentences are those of `grow_choice.py`; the first 400
test sentences are scored. OUT/results.jsonl gets a line for each training. The same command resumes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import measuring
import nersery
from grow_choice import DATA, SETS
from nersery.taggers.base import strict_f1

SCORED = ("pud-en", "ncbi", "multiconer-hi", "multiconer-ru")
TESTED = 400
Key = tuple[str, int, str, float]
"""A data set, a seed, a schedule and a learning rate."""


def f1_of(key: Key, options: argparse.Namespace) -> float:
    """Train and score a tagger."""
    name, seed, schedule, rate = key
    steps, size = map(int, schedule.split("x"))
    data = replace(SETS[name], size=12, test=12) if options.quick else SETS[name]
    gold, _, test = data.read(options.data, seed)
    settings: dict[str, Any] = {"steps": 2 if options.quick else steps, "batch_size": size, "head_learning_rate": rate}
    tagger = nersery.train(gold, model=options.model, seed=seed, quiet=True, **settings)
    tested = test.sentences[:TESTED]
    return 100 * strict_f1(tested, tagger.predict(tested))


def table(found: Mapping[Key, float], rates: Sequence[float]) -> Iterator[str]:
    """A table of F1 for each data set, schedule and rate, averaged over seeds."""
    yield f"| data | schedule | {' | '.join(f'{rate:g}' for rate in rates)} |"
    yield "| --- " * (len(rates) + 2) + "|"
    for name, schedule in dict.fromkeys((name, schedule) for name, _, schedule, _ in found):
        f1 = [mean(found[key] for key in found if (key[0], *key[2:]) == (name, schedule, rate)) for rate in rates]
        yield f"| {name} | {schedule} | {' | '.join(f'{one:.1f}' for one in f1)} |"


def main() -> None:
    """Train all taggers, and print the table."""
    parser = measuring.parser(__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, default=Path(DATA))
    parser.add_argument("--model", default="bundled-multilingual")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SCORED)
    parser.add_argument("--rates", nargs="+", type=float, default=[2e-3, 4e-3])
    parser.add_argument("--schedules", nargs="+", default=["200x8"])
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    measuring.print_machine()
    sets = options.sets[:1] if options.quick else options.sets
    wanted: list[Key] = [
        (name, seed, schedule, rate)
        for seed in range(options.seeds)
        for schedule in options.schedules
        for name in sets
        for rate in options.rates
    ]
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "results.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    known: dict[Any, float] = {tuple(one["training"]): one["f1"] for one in map(json.loads, lines)}
    for key in wanted:
        if key not in known:
            known[key] = f1_of(key, options)
            with path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"training": key, "f1": known[key]}) + "\n")
    print("\n".join(table({key: known[key] for key in wanted}, options.rates)))


if __name__ == "__main__":
    main()
