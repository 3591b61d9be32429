"""How fast the rule methods are, and that their memory does not grow with the input.

Run ``python benchmarks/rule_methods.py``. The aim is 20,000 sentences of 20 words a second on one core for
each method in the whole loop, and a flat peak of memory from file to file as the input grows tenfold. Times
are the processor's, so that what else runs there counts little. (The reader keeps the ids of the first
200,000 sentences in memory, 25 MiB in all, so that the peak still rises a little up to there.)
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path

from nersery import Entity, Sentence, io
from nersery.augment.base import augment_step, tasks
from nersery.core import registry
from nersery.pipeline.job import FileJob, run

SENTENCES = 20_000
WORDS = 20
VOCABULARY = 20_000
TYPES = ("PER", "LOC", "ORG")
SMALL, LARGE = 5_000, 50_000


def sentences(count: int) -> Iterator[Sentence]:
    """Sentences with two entities each, of words that are frequent or rare as in a language (Zipf)."""
    rng = random.Random(0)
    zipf = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    vocabulary = [f"word{rank}" for rank in range(VOCABULARY)]
    mentions = [tuple(rng.choices(vocabulary, k=length)) for length in (1, 2, 3) for _ in range(500)]
    for number in range(count):
        words = rng.choices(vocabulary, cum_weights=zipf, k=WORDS)
        entities = []
        for start in (2, 11):
            mention = rng.choice(mentions)
            words[start : start + len(mention)] = mention
            entities.append(Entity(start, start + len(mention), rng.choice(TYPES)))
        yield Sentence(tuple(words), tuple(entities), id=f"s{number}")


def write_table(path: Path) -> None:
    """Three synonyms for every word, one of two words: as much as synonym replacement can have to do."""
    lines = (f"word{rank}\tsame{rank}\talike{rank}\tquite similar{rank}\n" for rank in range(VOCABULARY))
    path.write_text("".join(lines), "utf-8")


def settings(name: str, folder: Path) -> dict[str, str]:
    return {"table": str(folder / "table.tsv")} if name == "synonym_replacement" else {}


def speeds(folder: Path) -> None:
    """Print sentences a second of each method, in the loop alone and from memory into a JSONL file."""
    corpus = list(sentences(SENTENCES))
    print(f"\n{'sentences/s on one core':32} {'loop':>10} {'loop + JSONL':>14}")
    for name in registry.names("augment"):
        method = registry.create("augment", name, settings(name, folder))
        method.fit(corpus)
        fitted = augment_step(method, 0)
        target = job(folder / f"{name}.jsonl")
        alone = speed(lambda: deque(run(tasks(corpus, 1), fitted), maxlen=0))  # noqa: B023
        filed = speed(lambda: target.run(tasks(corpus, 1), fitted, overwrite=True))  # noqa: B023
        print(f"{name:32} {alone:10,.0f} {filed:14,.0f}")


def speed(augment_all: Callable[[], object]) -> float:
    """Sentences a second, the best of three."""
    seconds = []
    for _ in range(3):
        started = time.process_time()
        augment_all()
        seconds.append(time.process_time() - started)
    return SENTENCES / min(seconds)


def job(target: Path) -> FileJob:
    return FileJob(target, io.writer("jsonl").encode, io.reject_line, {})


def peaks(folder: Path) -> None:
    """Print the peak memory of each method from file to file, each in a process of its own."""
    for count in (SMALL, LARGE):
        lines = map(io.writer("jsonl").encode, sentences(count))
        with (folder / f"{count}.jsonl").open("w", encoding="utf-8") as stream:
            stream.writelines(lines)
    print(f"{'peak memory, MiB':32} {SMALL:10,} {LARGE:14,}")
    for name in registry.names("augment"):
        small, large = (peak(name, count, folder) for count in (SMALL, LARGE))
        print(f"{name:32} {small:10.1f} {large:14.1f}")


def peak(name: str, count: int, folder: Path) -> float:
    """The peak memory in MiB of a process that augments a file."""
    command = [sys.executable, __file__, name, str(count), str(folder)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(answer.stdout) / 1024


def augment_file(name: str, count: int, folder: Path) -> None:
    """Augment one file and print the peak memory of this process in KiB."""
    corpus = io.open_corpus(folder / f"{count}.jsonl")
    method = registry.create("augment", name, settings(name, folder))
    method.fit(corpus)
    job(folder / f"{name}-{count}.jsonl").run(tasks(corpus, 1), augment_step(method, 0))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def main() -> None:
    if len(sys.argv) > 1:
        augment_file(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "table.tsv")
        peaks(folder)  # first, while this process is small: Linux counts a parent's memory to its child's peak
        speeds(folder)


if __name__ == "__main__":
    main()
