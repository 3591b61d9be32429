"""Seconds to score 200,000 sentences and to compare two systems: ``python benchmarks/scoring.py``."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from nersery.core.sentence import Corpus, Entity, Sentence
from nersery.evaluate.scores import score, sentence_counts
from nersery.evaluate.significance import paired_bootstrap

SENTENCES, WORDS = 200_000, 20
TYPES = ("CORP", "CW", "GRP", "LOC", "PER", "PROD")
T = TypeVar("T")


def seconds(label: str, job: Callable[[], T]) -> T:
    start = time.perf_counter()
    result = job()
    print(f"{label}: {time.perf_counter() - start:.2f} s")
    return result


def corpus(rng: random.Random) -> Corpus:
    vocabulary = [f"word{n}" for n in range(5_000)]
    return Corpus(
        Sentence(
            tuple(rng.choices(vocabulary, k=WORDS)),
            tuple(Entity(start, start + rng.randint(1, 3), rng.choice(TYPES)) for start in (1, 8, 15)),
            id=f"s{number}",
        )
        for number in range(SENTENCES)
    )


def predictions(gold: Corpus, rng: random.Random) -> Corpus:
    """Half of the entities, some under another type, in another order and with equal words, not the same."""
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
    rng = random.Random(0)
    gold = corpus(rng)
    baseline, system = predictions(gold, rng), predictions(gold, rng)
    print(seconds(f"score {SENTENCES:,} sentences", lambda: score(gold, baseline)).micro)
    one = seconds("counts of each sentence", lambda: sentence_counts(gold, baseline))
    two = seconds("counts of the other system", lambda: sentence_counts(gold, system))
    for size in (2_000, SENTENCES):
        label = f"bootstrap, 10,000 samples of {size:,} sentences"
        print(seconds(label, partial(paired_bootstrap, one[:size], two[:size])))
    runs = [
        np.stack([sentence_counts(gold[:2_000], predictions(gold[:2_000], rng)) for _ in range(5)]) for _ in range(2)
    ]
    print(seconds("bootstrap, 10,000 samples of 2,000 sentences, 5 runs", partial(paired_bootstrap, *runs)))


if __name__ == "__main__":
    main()
