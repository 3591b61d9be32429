"""Pairs per second of processor time, and memory, of projecting labels and filtering the result.

    python benchmarks/projection.py [--pairs N] [--quick]

It invents a labelled source, its translation and the links between them in a temporary folder. Then it runs ``nersery
crosslingual project`` and ``nersery select --method alignment_quality`` from files to files, each in a separate
process. The goal for both together is 10,000 pairs per second and less than 2 GB.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

import measuring

GOAL = 10_000
WORDS = 20
"""The number of words in each sentence."""


def make_files(folder: Path, pairs: int) -> None:
    """Write sentences of 20 words, half of them with an entity, their reversed translations, and 80 % of the links."""
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
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder), pairs)
        (Path(folder) / "none.jsonl").touch()
        plain = measuring.python_speed() / (2 * WORDS)
        total = 0.0
        for command in (
            "crosslingual project source.jsonl target.txt projected.jsonl --alignments links --quiet",
            "select projected.jsonl kept.jsonl --method alignment_quality --gold none.jsonl --quiet",
        ):
            done = measuring.in_own_process("-m", "nersery", *command.split(), folder=folder)
            total += done.seconds
            speed = pairs / done.seconds
            print(f"{speed / plain:.3f} of plain Python, {command.split()[0]}: {speed:,.0f} pairs/s, ", end="")
            print(f"peak {done.peak:,.0f} MiB; {done.output.strip()}", flush=True)
    print(f"{pairs / total / plain:.3f} of plain Python, both: {pairs / total:,.0f} pairs/s (goal {GOAL:,})")


def main() -> None:
    parser = measuring.parser(__doc__)
    parser.add_argument("--pairs", type=int, default=2_000_000)
    options = parser.parse_args()
    measuring.print_machine()
    measure(200 if options.quick else options.pairs)


if __name__ == "__main__":
    main()
