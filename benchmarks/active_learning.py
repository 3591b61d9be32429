"""Labels chosen by `nersery.next_sentences` against labels of random sentences: F1 on test by the number of sentences.

    python benchmarks/active_learning.py OUT [--data FOLDER] [--seeds 3] [--quick]

All labelled sentences of a data set but dev and test are the pool; their labels are hidden until a sentence is chosen.
Both ways start from the same 50 random sentences and label 50 at a time up to 400; a tagger is trained from the
pretrained encoder each time, with the same steps. Nothing is chosen on dev or test. OUT keeps the result of each
training, so the same command resumes. A sentence with more entities takes longer to label, so the table counts them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import measuring
import nersery
from nersery import Sentence
from nersery.core.files import write_json
from nersery.experiments.active_learning.next_sentences import next_sentences
from nersery.taggers.base import strict_f1

DATA = "../shared/data/multiconer/en"
FILES = ("100.conll", "200.conll", "500.conll", "1000.conll")
SIZES = range(50, 401, 50)
STEPS = 300
RANDOM, CHOSEN = "random", "chosen"


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
    sizes: Sequence[int],
    seed: int,
    **settings: Any,
) -> Iterator[dict[str, Any]]:
    """The results of one seed, read from the folder or measured."""
    order = [*sentences]
    random.Random(seed).shuffle(order)
    labelled, folder = order[: sizes[0]], out / f"seed-{seed}"
    for place, size in enumerate(sizes):
        for way in (CHOSEN, RANDOM) if place else (CHOSEN,):  # the start is the same
            file = folder / f"{way}-{size}.json"
            ids = labelled if way == CHOSEN else order[:size]
            if not file.exists():
                folder.mkdir(parents=True, exist_ok=True)
                gold, tagger = [sentences[id] for id in ids], folder / f"tagger-{way}"
                found = {"way": way, "size": size, **measure(gold, test, tagger, seed, **settings)}
                if way == CHOSEN and size != sizes[-1]:
                    left = [sentence for id, sentence in sentences.items() if id not in {*ids}]
                    more = next_sentences(left, tagger, sizes[place + 1] - size, labelled=gold, quiet=True)
                    found["next"] = [sentence.id for sentence in more.corpus]
                write_json(file, {**found, "ids": ids})
            result = json.loads(file.read_text("utf-8"))
            if way == CHOSEN:
                labelled = [*result["ids"], *result.get("next", [])]
            print(f"seed {seed}, {size} {way}: F1 {100 * result['f1']:.1f}", flush=True)
            yield from [result] if place else [result, {**result, "way": RANDOM}]


def table(results: Sequence[dict[str, Any]], sizes: Sequence[int]) -> Iterator[str]:
    """F1 with both ways, and what their labels cost."""
    costs = "entities, random | entities, chosen | words, random | words, chosen"
    yield f"| sentences | random | chosen | difference | {costs} |"
    yield "| --- " * 8 + "|"
    means = {}
    for size in sizes:
        found = {way: [r for r in results if (r["way"], r["size"]) == (way, size)] for way in (RANDOM, CHOSEN)}
        f1 = {way: [100 * r["f1"] for r in rows] for way, rows in found.items()}
        means[size] = {way: mean(values) for way, values in f1.items()}
        cells = [f"{mean(v):.1f} ± {stdev(v):.1f}" if len(v) > 1 else f"{v[0]:.1f}" for v in f1.values()]
        gaps = [chosen - plain for plain, chosen in zip(f1[RANDOM], f1[CHOSEN], strict=True)]
        by_seed = ", ".join(f"{gap:+.1f}" for gap in gaps)
        labelled = [f"{mean(r[key] for r in found[way]):.0f}" for key in ("entities", "words") for way in found]
        yield f"| {size} | {' | '.join(cells)} | {mean(gaps):+.1f} ({by_seed}) | {' | '.join(labelled)} |"
    goal = means[sizes[-1]][RANDOM]
    reached = next((str(size) for size in sizes if means[size][CHOSEN] >= goal), "more than all")
    yield f"\n{sizes[-1]} random sentences: F1 {goal:.1f}, reached with {reached} chosen ones"


def main() -> None:
    """Simulate, and print the table."""
    parser = measuring.parser(__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, default=Path(DATA))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--model", default="bundled")
    options = parser.parse_args()
    measuring.print_machine()
    sentences, test = pool(options.data), nersery.read(options.data / "test.conll").sentences
    sizes, steps = ([4, 6], 2) if options.quick else ([*SIZES], STEPS)
    settings = {"model": options.model, "steps": steps}
    print(f"{len(sentences)} sentences in the pool, {len(test)} of test", flush=True)
    results = [
        result
        for seed in range(1 if options.quick else options.seeds)
        for result in simulate(options.out, sentences, test, sizes, seed, **settings)
    ]
    print("\n".join(table(results, sizes)))


if __name__ == "__main__":
    main()
