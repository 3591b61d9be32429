"""The speed of the rule methods, and a check that their memory does not grow with the input.

    python benchmarks/rule_methods.py [METHOD …] [--quick]

Rule methods learn and write within milliseconds, without a model. The aim is 20,000 sentences of 20 words per second on
one core for each method in the whole loop, and a constant memory peak from file to file if the input grows tenfold.
Times are processor times, so other work on the machine matters little. (The reader keeps the ids of the first 200,000
sentences in memory, 25 MiB in total, so the peak still rises slightly up to that number.)
"""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import measuring
from nersery import io
from nersery.augment.base import batch_augmentation, tasks
from nersery.core import registry
from nersery.pipeline.job import FileJob, run

METHODS = (
    "label_wise_token_replacement",
    "mention_replacement",
    "shuffle_within_segments",
    "synonym_replacement",
    "eda",
)
SENTENCES, QUICK = 20_000, 200
SMALL, LARGE = 5_000, 50_000
REPEATS = 3


def write_table(path: Path, count: int) -> None:
    """Write three synonyms for every word, one of them with two words: the most work for synonym replacement."""
    path.write_text("".join(f"word{n}\tsame{n}\talike{n}\tquite similar{n}\n" for n in range(count)), "utf-8")


def settings(name: str, folder: Path) -> dict[str, str]:
    return {"table": str(folder / "table.tsv")} if name in ("synonym_replacement", "eda") else {}


def speeds(names: Sequence[str], count: int, folder: Path) -> None:
    """Print the speed of each method: of the loop alone, and from memory into a JSONL file."""
    corpus = list(measuring.invented(count))
    plain = measuring.python_speed() / measuring.WORDS
    print(f"\n{'':32} {'of plain Python':>16} {'loop, sentences/s':>20} {'loop + JSONL':>14}")
    for name in names:
        method = registry.create("augment", name, settings(name, folder))
        method.fit(corpus)
        step, target = batch_augmentation(method, 0), job(folder / f"{name}.jsonl")
        alone = count / fastest(lambda: deque(run(tasks(corpus, 1), step), maxlen=0))  # noqa: B023
        filed = count / fastest(lambda: target.run(tasks(corpus, 1), step, overwrite=True))  # noqa: B023
        print(f"{name:32} {alone / plain:16.3f} {alone:20,.0f} {filed:14,.0f}", flush=True)


def fastest(work: Callable[[], object]) -> float:
    return min(measuring.seconds(work, time.process_time) for _ in range(REPEATS))


def job(target: Path) -> FileJob:
    return FileJob(target, io.writer("jsonl").encode, {})


def peaks(names: Sequence[str], sizes: Sequence[int], folder: Path) -> None:
    """Print the peak memory of each method from file to file, each in a separate process."""
    for count in sizes:
        io.write(measuring.invented(count), folder / f"{count}.jsonl")
    print(f"{'peak memory, MiB':32} {'ratio':>8}" + "".join(f" {count:>10,}" for count in sizes))
    for name in names:
        found = [measuring.in_own_process(__file__, "--file", name, str(n), str(folder)).peak for n in sizes]
        print(f"{name:32} {found[1] / found[0]:8.2f} {found[0]:10.1f} {found[1]:10.1f}", flush=True)


def augment_file(name: str, count: str, folder: Path) -> None:
    corpus = io.open_corpus(folder / f"{count}.jsonl")
    method = registry.create("augment", name, settings(name, folder))
    method.fit(corpus)
    job(folder / f"{name}-{count}.jsonl").run(tasks(corpus, 1), batch_augmentation(method, 0))


def main() -> None:
    parser = measuring.parser(__doc__)
    parser.add_argument("methods", nargs="*", metavar="METHOD", default=METHODS)
    parser.add_argument("--file", action="store_true", help="augment one file: METHOD COUNT FOLDER")
    options = parser.parse_args()
    if options.file:
        name, count, folder_name = options.methods
        augment_file(name, count, Path(folder_name))
        return
    measuring.print_machine()
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        write_table(folder / "table.tsv", QUICK if options.quick else measuring.VOCABULARY)
        peaks(*((options.methods[:1], (20, 200)) if options.quick else (options.methods, (SMALL, LARGE))), folder)
        speeds(options.methods, QUICK if options.quick else SENTENCES, folder)


if __name__ == "__main__":
    main()
