"""What shards and workers cost and give: rows a second, and memory that does not grow with the input.

Run ``python benchmarks/engine.py [ROWS]`` (200,000 by default). The aim: several workers are faster than one process,
Ray is at most 10 % slower than local workers, and the peak of memory is flat. The step is mention replacement, one of
the quickest there are, so the engine's own work weighs as much as it ever can: a model's batch takes a hundred times
as long. Speeds are those between the first answer and the last, so that the start of workers and of Ray stands apart;
the best of three.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nersery import io
from nersery.engine.base import Answer, Engine
from nersery.engine.local import LocalEngine
from nersery.engine.pool import Pool
from nersery.engine.ray import RayEngine
from nersery.engine.shards import ShardJob
from nersery.engine.stages import Augment
from nersery.engine.work import Orders
from nersery.loop import FileJob
from rule_methods import sentences

ROWS, GOLD, SHARD = 200_000, 5_000, 10_000
RUNS = 3
ENGINES = ("one process", "local 1", "local 2", *(("ray 2",) if importlib.util.find_spec("ray") else ()))


class Clock:
    """When the first answer came, and when all was done."""

    def __init__(self) -> None:
        self.started = self.first = time.monotonic()

    def watched(self, made: Iterable[Any]) -> Iterator[Any]:
        """The same, with the time of the first noted."""
        for number, each in enumerate(made):
            if number == 0:
                self.first = time.monotonic()
            yield each

    def figures(self, rows: int) -> dict[str, float]:
        """Rows a second, seconds until the first answer, and peaks of memory in MiB."""
        seconds = time.monotonic() - self.first
        own, others = (
            resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        return {"speed": rows / seconds, "start": self.first - self.started, "own": own, "worker": others}


def carry_out(engine: str, rows: Path, gold: Path, target: Path) -> dict[str, float]:
    """One job from file to file, in this process."""
    corpus = io.open_corpus(rows)
    stage = Augment("mention_replacement", {}, io.open_corpus(gold))
    count = sum(1 for _ in rows.open("rb"))
    clock = Clock()
    if engine == "one process":
        step = stage.fit(stage.load(), None, None)
        job = FileJob(target, stage.encode, io.reject_line, {})
        job.run(clock.watched(stage.items(corpus.outcomes())), step)
        return clock.figures(count)
    name, workers = engine.split()
    started: Engine[Any] = LocalEngine() if name == "local" else RayEngine(int(workers), quiet=True)
    with Pool(started, Orders(stage), int(workers), print) as pool:

        def answers(batches: Iterable[Any]) -> Iterator[Answer]:
            yield from clock.watched(pool.answers(batches))

        ShardJob(target, SHARD, {}).run(corpus.outcomes(), answers)
        figures = clock.figures(count)
    return {**figures, "worker": clock.figures(count)["worker"]}  # only of workers that have ended is that known


def in_a_process(engine: str, rows: Path, folder: Path, number: int) -> dict[str, float]:
    """One job in a process of its own, whose memory nobody else's adds to."""
    target = folder / f"{rows.stem}-{engine.replace(' ', '-')}-{number}"
    command = [sys.executable, __file__, engine, str(rows), str(folder / "gold.jsonl"), str(target)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return figures


def main() -> None:
    if len(sys.argv) > 2:
        engine, *paths = sys.argv[1:]
        print(json.dumps(carry_out(engine, *map(Path, paths))))
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small, large = folder / "small.jsonl", folder / "large.jsonl"
        for path, size in ((folder / "gold.jsonl", GOLD), (small, count // 10), (large, count)):
            io.write(sentences(size), path)
        head = f"{'peak MiB of ' + format(count // 10, ','):>20} {'of ' + format(count, ','):>12}"
        print(f"{'':12} {'rows/s':>10} {'start, s':>9} {head} {'a worker':>9}")
        for engine in ENGINES:
            peak = in_a_process(engine, small, folder, 0)["own"]
            runs = [in_a_process(engine, large, folder, number) for number in range(RUNS)]
            best = max(runs, key=lambda run: run["speed"])
            print(
                f"{engine:12} {best['speed']:10,.0f} {best['start']:9.1f} {peak:20.0f} {best['own']:12.0f} "
                f"{best['worker']:9.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
