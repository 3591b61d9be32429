"""Seconds to score 200,000 sentences and to compare two systems: ``python benchmarks/scoring.py [--quick]``."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

import measuring
from nersery.core.sentence import Corpus, Entity, Sentence
from nersery.evaluate.scores import score, sentence_counts
from nersery.evaluate.significance import paired_bootstrap

SENTENCES, FEW = 200_000, 2_000
"""The number of sentences of a large corpus, and of a test set of the usual size."""
TYPES = ("CORP", "CW", "GRP", "LOC", "PER", "PROD")
T = TypeVar("T")


def timed(label: str, job: Callable[[], T], sentences: int | None = None) -> T:
    """Run a job and print its time, after the speed relative to plain Python if ``sentences`` is given."""
    start = time.perf_counter()
    result = job()
    taken = time.perf_counter() - start
    ratio = (
        f"{sentences * measuring.WORDS / taken / measuring.python_speed():.2f} of plain Python, " if sentences else ""
    )
    print(f"{label}: {ratio}{taken:.2f} s", flush=True)
    return result


def corpus(rng: random.Random, count: int) -> Corpus:
    vocabulary = [f"word{n}" for n in range(5_000)]
    return Corpus(
        Sentence(
            tuple(rng.choices(vocabulary, k=measuring.WORDS)),
            tuple(Entity(start, start + rng.randint(1, 3), rng.choice(TYPES)) for start in (1, 8, 15)),
            id=f"s{number}",
        )
        for number in range(count)
    )


def predictions(gold: Corpus, rng: random.Random) -> Corpus:
    """Predictions with half of the entities, some with another type, in another order. Words are equal copies."""
    guesses = [
        Sentence(
            tuple("".join(word) for word in sentence.words),
            tuple(
                Entity(entity.start, entity.end, rng.choice((entity.type, entity.type, "PER")))
                for entity in sentence.entities
                if rng.random() < 0.5
            ),
            id=sentence.id,
        )
        for sentence in gold
    ]
    rng.shuffle(guesses)
    return Corpus(guesses)


def main() -> None:
    quick = measuring.parser(__doc__).parse_args().quick
    measuring.print_machine()
    many, few, samples = (200, 50, 100) if quick else (SENTENCES, FEW, 10_000)
    rng = random.Random(0)
    gold = corpus(rng, many)
    baseline, system = predictions(gold, rng), predictions(gold, rng)
    print(timed(f"score {many:,} sentences", lambda: score(gold, baseline), many).micro)
    one = timed("counts of each sentence", lambda: sentence_counts(gold, baseline), many)
    two = timed("counts of the other system", lambda: sentence_counts(gold, system), many)
    bootstrap = partial(paired_bootstrap, samples=samples)
    for size in (few, many):
        print(
            timed(f"bootstrap, {samples:,} samples of {size:,} sentences", partial(bootstrap, one[:size], two[:size]))
        )
    runs = [np.stack([sentence_counts(gold[:few], predictions(gold[:few], rng)) for _ in range(5)]) for _ in range(2)]
    print(timed(f"bootstrap, {samples:,} samples of {few:,} sentences, 5 runs", partial(bootstrap, *runs)))


if __name__ == "__main__":
    main()
