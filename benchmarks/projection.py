"""Pairs a second of processor time, and memory, of projecting labels and filtering what comes of it.

Run ``python benchmarks/projection.py``. It makes up a labelled source, its translation and the links between them in a
temporary folder, then runs ``nersery crosslingual project`` and ``nersery select --method alignment_quality`` on
them, each a process of its own, from files to files. The goal for both together is 10,000 pairs a second and less
than 2 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

GOAL = 10_000
WORDS = 20
"""In each sentence."""


def make_files(folder: Path, pairs: int) -> None:
    """Sentences of 20 words with about one entity, translated word by word, half of the pairs out of order."""
    rng = random.Random(0)
    vocabulary = [f"wörd{number}" for number in range(20_000)]
    with (
        (folder / "source.jsonl").open("w", encoding="utf-8") as source,
        (folder / "target.txt").open("w", encoding="utf-8") as target,
        (folder / "links").open("w", encoding="utf-8") as alignment,
    ):
        for number in range(pairs):
            words = rng.sample(vocabulary, WORDS)
            start = rng.randrange(2 * WORDS)
            entities = [{"start": start, "end": start + 2, "type": "PER"}] if start + 2 <= WORDS else []
            json.dump({"id": f"s{number}", "words": words, "entities": entities}, source, ensure_ascii=False)
            source.write("\n")
            target.write(f"{' '.join(words[::-1])}\n")
            linked = (place for place in range(WORDS) if rng.random() < 0.8)
            alignment.write(" ".join(f"{at}-{WORDS - 1 - at}:{rng.uniform(0.3, 1):.3f}" for at in linked) + "\n")


def measure(pairs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        make_files(Path(name), pairs)
        (Path(name) / "none.jsonl").touch()
        total = 0.0
        for command in (
            "crosslingual project source.jsonl target.txt projected.jsonl --alignments links",
            "select projected.jsonl kept.jsonl --method alignment_quality --gold none.jsonl",
        ):
            seconds, peak, told = run(command, name)
            total += seconds
            print(f"{command.split()[0]:>8}: {pairs / seconds:>8,.0f} pairs/s, peak {peak:,.0f} MiB; {told}")
    print(f"    both: {pairs / total:>8,.0f} pairs/s (goal {GOAL:,})")


def run(command: str, folder: str) -> tuple[float, float, str]:
    """Seconds of processor time and the peak in MiB of a command, and what it says."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-m", "nersery", *command.split(), "--quiet"]
    done = subprocess.run(line, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, after.ru_maxrss / 1024, done.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=2_000_000)
    measure(parser.parse_args().pairs)


if __name__ == "__main__":
    main()
