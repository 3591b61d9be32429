"""The cost of training and prediction beside another process, by how long waiting threads spin before they sleep.

    python benchmarks/busy.py [--model bundled] [--quick]

Threads that wait for each other spin, by default 300,000 times (`GOMP_SPINCOUNT`). If another process has taken the
core of one of them, the others spin in vain. *Watched* is what the command line does
(`nersery.core.system.shared_cores`). The other process is a plain Python loop in its own session, like a process of
another user.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import measuring
from nersery.core.system.process_settings import SPINS, WATCHED_SPINS
from nersery.core.system.shared_cores import CoreWatch
from nersery.experiments.execution.run_time import tagger_speed
from nersery.experiments.systems import MethodSettings

COUNTS = ("300000", WATCHED_SPINS, "2000")
REPEATS = 3


def measure(model: str, repeats: int) -> list[float]:
    """The median milliseconds of a training step of 16 sentences, and of a predicted sentence."""
    settings = MethodSettings("transformer", {"model": model, "steps": 300}, kind="tagger")
    speeds = [tagger_speed(settings, measuring.example(48)) for _ in range(repeats)]
    return [1000 * median(one.step for one in speeds), 1000 * median(one.sentence for one in speeds)]


@contextmanager
def beside(others: int) -> Iterator[None]:
    """Keep other processes busy within this block."""
    command = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(command, start_new_session=True) for _ in range(others)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main() -> None:
    """Measure each count, idle and beside busy processes. The ratios are relative to the library's own count."""
    parser = measuring.parser(__doc__)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--once", action="store_true", help="measure in this process, and print JSON")
    parser.add_argument("--watched", action="store_true", help="with `--once`: watch the cores")
    options = parser.parse_args()
    if options.once:
        watch = CoreWatch() if options.watched else None
        print(json.dumps(measure(options.model, 1 if options.quick else REPEATS)))
        if watch:
            watch.close()
        return
    measuring.print_machine()
    print("| other processes | spins | ratio | training step, ms | sentence, ms |")
    print("| --- | --- | --- | --- | --- |")
    given = ["--once", "--model", options.model, *["--quick"] * options.quick]
    kinds = [*((count, False) for count in COUNTS), (WATCHED_SPINS, True)]
    for others in (0,) if options.quick else (0, 1, 2):
        first = 0.0
        for count, watched in kinds[-2:] if options.quick else kinds:
            os.environ[SPINS] = count  # read by the next process when it starts
            command = [__file__, *given, *["--watched"] * watched]
            with beside(others):
                step, sentence = json.loads(measuring.in_own_process(*command).output.splitlines()[-1])
            first = first or step
            name = f"{count}, watched" if watched else count
            print(f"| {others} | {name} | {step / first:.2f} | {step:.0f} | {sentence:.2f} |", flush=True)


if __name__ == "__main__":
    main()
