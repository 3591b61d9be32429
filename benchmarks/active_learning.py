"""Sentences chosen by `nersery.next_sentences` against random sentences: F1 on test by the number of sentences.

    python benchmarks/active_learning.py OUT [--data FOLDER] [--model bundled-ner] [--seeds 3] [--taggers 2] [--quick]

The pool is all labelled sentences of a data set except dev and test. Their labels are hidden until they are chosen.
Both ways start from the same 50 random sentences and label 50 at a time up to 400. Each time, a tagger is trained from
the pretrained model, with the same number of steps. With several taggers, those of other seeds help to choose, and are
not scored. Nothing is chosen on dev or test. OUT keeps the result of each training, so the same command resumes. The
table counts entities, because a sentence with more entities takes longer to label.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import measuring
import nersery
from nersery import Sentence
from nersery.core.system.files import write_json
from nersery.experiments.active_learning.next_sentences import next_sentences
from nersery.taggers.base import strict_f1

DATA = "../shared/data/multiconer/en"
FILES = ("100.conll", "200.conll", "500.conll", "1000.conll")
START, STEP, MAX_LABELLED = 50, 50, 400
STEPS = 300
OTHER = 1000
"""The distance between the seeds of taggers that choose together."""
RANDOM, CHOSEN = "random", "chosen"
COSTS, MISSING = ("entities", "words"), "–"


def pool(folder: Path) -> dict[str, Sentence]:
    """The labelled sentences by id, each text once."""
    texts = {sentence.words: sentence for name in FILES for sentence in nersery.read(folder / name)}
    return {str(number): Sentence(s.words, s.entities, id=str(number)) for number, s in enumerate(texts.values())}


def measure(
    gold: Sequence[Sentence], test: Sequence[Sentence], tagger: Path, seed: int, **settings: Any
) -> dict[str, Any]:
    """Train on gold, save the tagger, and score it on test."""
    trained = nersery.train(gold, seed=seed, quiet=True, **settings)
    trained.save(tagger)
    return {
        "f1": strict_f1(test, trained.predict(test)),
        "words": sum(map(len, gold)),
        "entities": sum(len(sentence.entities) for sentence in gold),
    }


def simulate(
    out: Path,
    sentences: dict[str, Sentence],
    test: Sequence[Sentence],
    sizes: dict[str, list[int]],
    seed: int,
    taggers: int,
    **settings: Any,
) -> Iterator[dict[str, Any]]:
    """The results of one seed, read from the folder or measured. Both ways share the first size."""
    order = [*sentences]
    random.Random(seed).shuffle(order)
    folder = out / f"seed-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    first, step = sizes[CHOSEN][0], sizes[CHOSEN][1] - sizes[CHOSEN][0]
    labelled = order[:first]
    for size in sizes[CHOSEN]:
        file, tagger = folder / f"{CHOSEN}-{size}.json", folder / "tagger"
        if not file.exists():
            gold = [sentences[id] for id in labelled]
            found = {"way": CHOSEN, "size": size, **measure(gold, test, tagger, seed, **settings)}
            left = [sentence for id, sentence in sentences.items() if id not in {*labelled}]
            committee = [tagger]
            for number in range(1, taggers):
                committee.append(folder / f"tagger-{number}")
                nersery.train(gold, seed=seed + OTHER * number, quiet=True, **settings).save(committee[-1])
            more = next_sentences(left, committee, step, labelled=gold, quiet=True)
            write_json(file, {**found, "ids": labelled, "next": [sentence.id for sentence in more.corpus]})
        result = json.loads(file.read_text("utf-8"))
        labelled = [*result["ids"], *result["next"]]
        yield result
        if size == first:
            yield {**result, "way": RANDOM}
    for size in sizes[RANDOM]:
        file = folder / f"{RANDOM}-{size}.json"
        if not file.exists():
            gold = [sentences[id] for id in order[:size]]
            write_json(
                file, {"way": RANDOM, "size": size, **measure(gold, test, folder / "tagger-random", seed, **settings)}
            )
        yield json.loads(file.read_text("utf-8"))


def table(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A table of F1 with both ways, and the cost of their labels."""
    costs = "entities, random | entities, chosen | words, random | words, chosen"
    yield f"| sentences | random | chosen | difference | {costs} |"
    yield "| --- " * 8 + "|"
    means: dict[tuple[str, int], float] = {}
    for size in sorted({result["size"] for result in results}):
        found = {way: [r for r in results if (r["way"], r["size"]) == (way, size)] for way in (RANDOM, CHOSEN)}
        f1 = {way: [100 * row["f1"] for row in rows] for way, rows in found.items()}
        means |= {(way, size): mean(values) for way, values in f1.items() if values}
        cells = [_spread(values) for values in f1.values()]
        gaps = [chosen - plain for plain, chosen in zip(*f1.values(), strict=False)]
        gap = f"{mean(gaps):+.1f} ({', '.join(f'{one:+.1f}' for one in gaps)})" if gaps else MISSING
        counted = [f"{mean(r[key] for r in rows):.0f}" if rows else MISSING for key in COSTS for rows in found.values()]
        yield f"| {size} | {' | '.join(cells)} | {gap} | {' | '.join(counted)} |"
    most = max(size for way, size in means if way == RANDOM)
    reached = [size for (way, size), f1 in means.items() if way == CHOSEN and f1 >= means[RANDOM, most]]
    goal, least = means[RANDOM, most], min(reached, default="no number of")
    yield f"\nF1 of {most} random sentences: {goal:.1f}, reached with {least} chosen ones"


def _spread(values: Sequence[float]) -> str:
    return (
        f"{mean(values):.1f} ± {stdev(values):.1f}"
        if len(values) > 1
        else MISSING
        if not values
        else f"{values[0]:.1f}"
    )


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options that benchmarks on this data share."""
    parser = measuring.parser(description)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, default=Path(DATA))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--model", default="bundled")
    return parser


def main() -> None:
    """Simulate the labelling, and print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--chosen", type=int, default=MAX_LABELLED, help="label up to this number of chosen sentences")
    parser.add_argument("--taggers", type=int, default=1, help="taggers that choose together")
    parser.add_argument("--random", type=int, nargs="*", default=[*range(START + STEP, MAX_LABELLED + 1, STEP)])
    options = parser.parse_args()
    measuring.print_machine()
    sentences, test = pool(options.data), nersery.read(options.data / "test.conll").sentences
    sizes = {CHOSEN: [*range(START, options.chosen + 1, STEP)], RANDOM: options.random}
    settings = {"model": options.model, "steps": STEPS}
    if options.quick:
        sentences, sizes, settings["steps"] = dict([*sentences.items()][:9]), {CHOSEN: [4, 6], RANDOM: [6]}, 2
    print(f"{len(sentences)} sentences in the pool, {len(test)} of test", flush=True)
    results = []
    for seed in range(1 if options.quick else options.seeds):
        for result in simulate(options.out, sentences, test, sizes, seed, options.taggers, **settings):
            results.append(result)
            print(f"seed {seed}, {result['size']} {result['way']}: F1 {100 * result['f1']:.1f}", flush=True)
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
