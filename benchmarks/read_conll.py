"""Words a second of processor time, and memory, of reading CoNLL columns: both passes, nothing kept.

Run ``python benchmarks/read_conll.py``. It writes its own file in a temporary folder, once with 200,000 words and
once with ten times as many, and reads each in a process of its own. The goal is 200,000 words a second and a
peak that does not grow.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nersery.io import open_corpus

GOAL = 200_000


def make_file(path: Path, words: int) -> None:
    """Sentences of 20 words, about two entities each, in the columns of CoNLL-2003."""
    rng = random.Random(0)
    vocabulary = [f"wörd{number}" for number in range(20_000)]
    with path.open("w", encoding="utf-8") as stream:
        for _ in range(words // 20):
            inside = ""
            for _ in range(20):
                starts = rng.random() < 0.1
                inside = rng.choice(("PER", "LOC", "ORG")) if starts else inside * (rng.random() < 0.5)
                tag = f"{'B' if starts else 'I'}-{inside}" if inside else "O"
                stream.write(f"{rng.choice(vocabulary)} NN B-NP {tag}\n")
            stream.write("\n")


def read(path: Path) -> None:
    """Read a file and print seconds, words and the peak in MiB."""
    started = time.process_time()
    words = sum(map(len, open_corpus(path)))
    seconds = time.process_time() - started
    print(seconds, words, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measure(words: int, repeat: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.conll"
        make_file(path, words)
        command = [sys.executable, __file__, "--read", str(path)]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(repeat)]
    seconds, count, peak = min(tuple(map(float, run.stdout.split())) for run in runs)
    speed = count / seconds
    print(f"{count:>12,.0f} words: {speed:>9,.0f} words/s (goal {GOAL:,}), peak {peak:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--words", type=int, default=200_000, help="of the smaller file")
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs counts")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read(options.read)
        return
    for factor in (1, 10):
        measure(options.words * factor, options.repeat)


if __name__ == "__main__":
    main()
