"""Words per second of processor time, and memory, of reading CoNLL columns: both passes, without keeping anything.

    python benchmarks/read_conll.py [--words N] [--quick]

It writes files with 200,000 words and with ten times as many into a temporary folder, and reads each in a separate
process. The goal is 200,000 words per second and a memory peak that does not grow.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

import measuring
from nersery.io import open_corpus

GOAL = 200_000
REPEATS = 3


def make_file(path: Path, words: int) -> None:
    """Write sentences of 20 words with about two entities each, in the columns of CoNLL-2003."""
    rng = random.Random(0)
    vocabulary = [f"wörd{number}" for number in range(20_000)]
    with path.open("w", encoding="utf-8") as stream:
        for _ in range(words // 20):
            inside = ""
            for _ in range(20):
                starts = rng.random() < 0.1
                inside = rng.choice(measuring.TYPES) if starts else inside * (rng.random() < 0.5)
                tag = f"{'B' if starts else 'I'}-{inside}" if inside else "O"
                stream.write(f"{rng.choice(vocabulary)} NN B-NP {tag}\n")
            stream.write("\n")


def read(path: str) -> None:
    """Read a file and print seconds and words."""
    started = time.process_time()
    words = sum(map(len, open_corpus(path)))
    print(time.process_time() - started, words)


def measure(words: int, repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.conll"
        make_file(path, words)
        runs = [measuring.in_own_process(__file__, "--read", str(path)) for _ in range(repeats)]
    taken, count = min(tuple(map(float, run.output.split())) for run in runs)
    speed, peak = count / taken, max(run.peak for run in runs)
    print(f"{speed / measuring.python_speed():.3f} of plain Python at {count:,.0f} words: ", end="")
    print(f"{speed:,.0f} words/s (goal {GOAL:,}), peak {peak:.0f} MiB", flush=True)


def main() -> None:
    parser = measuring.parser(__doc__)
    parser.add_argument("--words", type=int, default=200_000, help="of the smaller file")
    parser.add_argument("--repeat", type=int, default=REPEATS, help="runs, of which the fastest counts")
    parser.add_argument("--read", metavar="FILE", help="read one file in this process")
    options = parser.parse_args()
    if options.read:
        read(options.read)
        return
    measuring.print_machine()
    for factor in (1, 10):
        measure(factor * (2_000 if options.quick else options.words), 1 if options.quick else options.repeat)


if __name__ == "__main__":
    main()
