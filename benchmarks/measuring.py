"""The common code of the benchmarks: options, the machine's speed, timers, separate processes, and invented sentences.

Only ratios can be compared between processors. Each benchmark therefore prints ratios first: against other code, or
against a plain Python loop (`python_speed`), always from the same run.

    python benchmarks/measuring.py

prints what this machine is, and how fast it computes a matrix product and a plain Python loop. With ``--processes 2``,
it also prints how much more two processes compute than one: twice as much on two cores, less on threads of one core.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, cycle, islice
from pathlib import Path

from nersery import Entity, Sentence, io
from nersery.io.input_files.shipped import shipped

TYPES = ("PER", "LOC", "ORG")
WORDS = 20
"""The number of words of an invented sentence."""
VOCABULARY = 20_000
SIDE = 512
"""The number of rows and columns of the matrices; on a GPU, 16 times as many."""


def parser(doc: str | None) -> argparse.ArgumentParser:
    """A parser with the option ``--quick`` that prints the module's docstring as help."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--quick", action="store_true", help="tiny sizes: shows that it still runs; the figures are void")
    return made


def example(count: int, name: str | None = None) -> list[Sentence]:
    """Sentences of a corpus, by default the shipped one, repeated until there are ``count``, with distinct ids."""
    corpus = io.read(name or shipped("recipes/example") / "test.conll")
    return [replace(sentence, id=str(number)) for number, sentence in enumerate(islice(cycle(corpus), count))]


def invented(count: int) -> Iterator[Sentence]:
    """Sentences with two entities each; the frequency of words follows Zipf's law."""
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


# --- time and memory ------------------------------------------------------------------------------------------------


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """The seconds that a call takes, including its work on a GPU."""
    start = clock()
    work()
    synchronize()
    return clock() - start


def synchronize() -> None:
    """Wait for the GPU, if one is in use."""
    if (torch := sys.modules.get("torch")) and torch.cuda.is_available():
        torch.cuda.synchronize()


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """The median, minimum and maximum as text.

    >>> spread([3.0, 1.0, 2.0])
    '2.00 (1.00 to 3.00)'
    """
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def ratios(slow: Sequence[float], fast: Sequence[float]) -> list[float]:
    """The ratio of each pair of timings. The timings of a pair were taken one after the other."""
    return [left / right for left, right in zip(slow, fast, strict=True)]


@dataclass(frozen=True)
class Finished:
    """A process that has ended.

    Args:
        output: The text that it printed.
        seconds: Its processor time, summed over all threads.
        peak: Its peak memory in MiB; at least the memory of this process when it started the other.
    """

    output: str
    seconds: float
    peak: float


def in_own_process(*command: str, folder: str | Path | None = None) -> Finished:
    """Run ``python COMMAND`` in a folder.

    Raises:
        SystemExit: If the command fails.
    """
    process = subprocess.Popen([sys.executable, *command], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"this command failed: python {' '.join(command)}")
    return Finished(output, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


# --- the machine ----------------------------------------------------------------------------------------------------


def print_machine() -> None:
    """Print the properties of the machine that the figures of this run depend on.

    If torch is not loaded here, another process prints them, because a child's peak memory includes its parent's.
    """
    if "torch" in sys.modules:
        print("\n".join(machine()), flush=True)
    else:
        print(in_own_process(__file__).output, end="", flush=True)


def machine() -> Iterator[str]:
    """The processor, its instructions, threads and precision, and its speed at simple tasks."""
    import torch

    from nersery.models.pretrained.loading import has_fast_bf16

    cpu = torch.device("cpu")
    limits = [
        f"{name}={os.environ[name]}" for name in ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA") if name in os.environ
    ]
    details = [torch.backends.cpu.get_cpu_capability(), *limits, "bf16" if has_fast_bf16(cpu) else "no bf16"]
    yield f"{processor()}: {', '.join(details)}; torch {torch.__version__}, {torch.get_num_threads()} threads"
    speeds = f"fp32 {matrix_speed('cpu', torch.float32):,.0f}"
    if has_fast_bf16(cpu):
        speeds += f", bf16 {matrix_speed('cpu', torch.bfloat16):,.0f}"
    yield f"matrix product: {speeds} GFLOP/s; plain Python: {python_speed() / 1e6:.1f} million words/s"
    if torch.cuda.is_available():
        plain, half = (matrix_speed("cuda", dtype) / 1000 for dtype in (torch.float32, torch.bfloat16))
        yield f"{torch.cuda.get_device_name()}: matrix product: fp32 {plain:,.0f}, bf16 {half:,.0f} TFLOP/s"


def processor() -> str:
    """The processor's name; on Linux, the name that its vendor gives."""
    with open("/proc/cpuinfo", encoding="utf-8") if os.path.exists("/proc/cpuinfo") else open(os.devnull) as stream:
        names = (line.partition(":")[2].strip() for line in stream if line.startswith("model name"))
        return next(names, platform.processor() or platform.machine())


def matrix_speed(device: str, dtype: object) -> float:
    """The speed of a product of two square matrices in GFLOP/s, the best of five."""
    import torch

    side = SIDE if device == "cpu" else 16 * SIDE
    matrix = torch.rand(side, side, device=device).to(dtype)  # type: ignore[call-overload]
    torch.mm(matrix, matrix)
    return 2e-9 * side**3 / min(seconds(lambda: torch.mm(matrix, matrix)) for _ in range(5))


def products(seconds_long: float = 3.0) -> float:
    """Matrix products per second on one thread, over a fixed time."""
    import torch

    torch.set_num_threads(1)
    matrix, count, start = torch.rand(SIDE, SIDE), 0, time.perf_counter()
    while time.perf_counter() - start < seconds_long:
        torch.mm(matrix, matrix)
        count += 1
    return count / seconds_long


def gain_of_processes(count: int) -> float:
    """The matrix products of ``count`` simultaneous processes, divided by those of one process."""

    def together(number: int) -> float:
        command = [sys.executable, __file__, "--products"]
        started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(number)]
        return sum(float(process.communicate()[0]) for process in started)

    alone = together(1)
    return together(count) / alone


def python_speed() -> float:
    """The speed of a plain Python loop that splits lines and counts their words, in words per second, best of three."""
    lines = [f"{' '.join(f'word{(number * place) % 997}' for place in range(WORDS))}\n" for number in range(500)]

    def count() -> None:
        counts = Counter[str]()
        for line in lines:
            for word in line.split():
                counts[word] += 1

    return WORDS * len(lines) / min(seconds(count, time.process_time) for _ in range(3))


def main() -> None:
    """Print what this machine is."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("--products", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.products:
        print(products())
        return
    print("\n".join(machine()))
    if chosen.processes > 1:
        gain = gain_of_processes(chosen.processes)
        print(f"{chosen.processes} processes compute {gain:.2f} times as much as one")


if __name__ == "__main__":
    main()
