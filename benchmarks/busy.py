"""What training and prediction cost beside another process, by how long waiting threads spin before they sleep.

    python benchmarks/busy.py [--model bundled] [--quick]

Threads that wait for each other spin, by default 300,000 times (`GOMP_SPINCOUNT`). If another process has taken the
core of one of them, the others spin in vain. The other process is a plain Python loop in a session of its own, as of
somebody else.
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
from nersery.core.own_process import SPINS
from nersery.experiments.run_time import tagger_speed
from nersery.experiments.systems import MethodSettings

COUNTS = (300_000, 10_000, 2_000, 1_000, 0)
REPEATS = 3


def measure(model: str, repeats: int) -> list[float]:
    """Milliseconds of a training step of 16 sentences, and of a predicted sentence; medians."""
    settings = MethodSettings("transformer", {"model": model, "steps": 300}, kind="tagger")
    speeds = [tagger_speed(settings, measuring.example(48)) for _ in range(repeats)]
    return [1000 * median(one.step for one in speeds), 1000 * median(one.sentence for one in speeds)]


@contextmanager
def beside(others: int) -> Iterator[None]:
    """Within it, other processes are busy."""
    command = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(command, start_new_session=True) for _ in range(others)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main() -> None:
    """Measure each count, idle and beside busy processes; the ratios are to the library's own count."""
    parser = measuring.parser(__doc__)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--once", action="store_true", help="measure in this process, and print JSON")
    options = parser.parse_args()
    if options.once:
        print(json.dumps(measure(options.model, 1 if options.quick else REPEATS)))
        return
    measuring.print_machine()
    print("| other processes | spins | ratio | training step, ms | sentence, ms |")
    print("| --- | --- | --- | --- | --- |")
    given = ["--once", "--model", options.model, *["--quick"] * options.quick]
    for others in (0,) if options.quick else (0, 1, 2):
        first = 0.0
        for count in COUNTS[:2] if options.quick else COUNTS:
            os.environ[SPINS] = str(count)  # read by the next process when it starts
            with beside(others):
                step, sentence = json.loads(measuring.in_own_process(__file__, *given).output.splitlines()[-1])
            first = first or step
            print(f"| {others} | {count:,} | {step / first:.2f} | {step:.0f} | {sentence:.2f} |", flush=True)


if __name__ == "__main__":
    main()
