"""The cost and benefit of shards and workers: rows per second, and memory that does not grow with the input.

    python benchmarks/engine.py [ROWS] [RUNS] [--quick]

It takes 200,000 rows and the best of three runs. The aim: several workers are faster than one process, Ray costs at
most 10 % more than local workers, and peak memory is constant. The step is mention replacement, one of the fastest, so
the engine's own work has the largest possible share: a batch of a model takes a hundred times as long. All figures
cover the time between the first answer and the last, so the start of workers and of Ray is separate. The processor
time of all processes together shows what the same job costs if other jobs run beside it. Of Ray's processor time, 35 ms
per second are used by its own processes, even without work.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import resource
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import measuring
from nersery import io
from nersery.augment.base import AugmentStage
from nersery.pipeline.engines.base import Answer, Engine
from nersery.pipeline.engines.local import LocalEngine
from nersery.pipeline.engines.pool import Pool
from nersery.pipeline.engines.ray import RayEngine
from nersery.pipeline.engines.worker import WorkerTask
from nersery.pipeline.job import FileJob
from nersery.pipeline.shards import ShardJob

ROWS, GOLD, SHARD = 200_000, 5_000, 10_000
RUNS = 3
ENGINES = ("one process", "local 1", "local 2", *(("ray 2",) if importlib.util.find_spec("ray") else ()))


def processor_seconds() -> float:
    """The processor seconds that this process and all its descendants have used."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # the process has ended in the meantime
            fields = path.read_text().rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1])
            used[int(path.parent.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    ours, before = {os.getpid()}, 0
    while len(ours) > before:
        before = len(ours)
        ours |= {process for process, parent in parents.items() if parent in ours}
    return sum(used[process] for process in ours)


class Clock:
    """Records the wall-clock time and the processor time at the first answer."""

    def __init__(self) -> None:
        self.started = self.first = time.monotonic()
        self.used = 0.0

    def watched(self, made: Iterable[Any]) -> Iterator[Any]:
        """Yield the same items, and record the time of the first."""
        for number, each in enumerate(made):
            if number == 0:
                self.first, self.used = time.monotonic(), processor_seconds()
            yield each

    def figures(self, rows: int) -> dict[str, float]:
        """Rows per second, seconds until the first answer, processor microseconds per row, and peak memory in MiB."""
        seconds, used = time.monotonic() - self.first, processor_seconds() - self.used
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {"speed": rows / seconds, "start": self.first - self.started, "cost": 1e6 * used / rows, "peak": peak}


def carry_out(engine: str, rows: Path, gold: Path, target: Path) -> dict[str, float]:
    """Run one job from file to file in this process, and return its figures."""
    corpus = io.open_corpus(rows)
    stage = AugmentStage("mention_replacement", gold=io.open_corpus(gold))
    count = sum(1 for _ in rows.open("rb"))
    clock = Clock()
    if engine == "one process":
        step = stage.fit(stage.load(), None, None)
        job = FileJob(target, stage.encode, {})
        job.run(clock.watched(stage.items(corpus.outcomes())), step)
        return clock.figures(count)
    name, workers = engine.split()
    started: Engine[Any] = LocalEngine() if name == "local" else RayEngine(int(workers), quiet=True)
    with Pool(started, WorkerTask(stage), int(workers), print) as pool:

        def answers(batches: Iterable[Any]) -> Iterator[Answer]:
            yield from clock.watched(pool.answers(batches))

        ShardJob(target, SHARD, {}).run(stage.items(corpus.outcomes()), answers)
        return clock.figures(count)


def in_a_process(engine: str, rows: Path, folder: Path, number: int) -> dict[str, float]:
    """Run one job in a separate process, so that no other job adds to its memory."""
    target = folder / f"{rows.stem}-{engine.replace(' ', '-')}-{number}"
    job = ["--job", engine, str(rows), str(folder / "gold.jsonl"), str(target)]
    figures: dict[str, float] = json.loads(measuring.in_own_process(__file__, *job).output.splitlines()[-1])
    return figures


def main() -> None:
    parser = measuring.parser(__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=ROWS)
    parser.add_argument("runs", nargs="?", type=int, default=RUNS)
    parser.add_argument("--job", nargs=4, metavar=("ENGINE", "ROWS", "GOLD", "TARGET"), help="one job, in this process")
    options = parser.parse_args()
    if options.job:
        print(json.dumps(carry_out(options.job[0], *map(Path, options.job[1:]))))
        return
    measuring.print_machine()
    gold, rows, runs, engines = GOLD, options.rows, options.runs, ENGINES
    if options.quick:
        gold, rows, runs, engines = 20, 200, 1, ENGINES[:2]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small, large = folder / "small.jsonl", folder / "large.jsonl"
        for path, size in ((folder / "gold.jsonl", gold), (small, rows // 10), (large, rows)):
            io.write(measuring.invented(size), path)
        print(f"{'':12} {'cost':>6} {'rows/s':>9} {'µs a row':>9} {'start, s':>9}  ", end="")
        print(f"peak MiB of {rows // 10:,} and {rows:,} rows; cost: against one process")
        plain = 0.0
        for engine in engines:
            peak = in_a_process(engine, small, folder, 0)["peak"]
            found = [in_a_process(engine, large, folder, number) for number in range(runs)]
            speed, cost = max(run["speed"] for run in found), min(run["cost"] for run in found)
            start, largest = min(run["start"] for run in found), max(run["peak"] for run in found)
            plain = plain or cost
            print(f"{engine:12} {cost / plain if plain else 1:6.2f} {speed:9,.0f} {cost:9.1f} {start:9.1f}  ", end="")
            print(f"{peak:.0f} and {largest:.0f}", flush=True)


if __name__ == "__main__":
    main()
