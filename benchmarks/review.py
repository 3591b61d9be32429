"""The response times of the page of ``nersery label review``, with or without busy processes beside it.

    python benchmarks/review.py [--sentences 100000] [--busy N] [--quick]

A client sends the same requests as the page: the first sentence as soon as the command has printed its address, then
sentences while the file is being read, others after it is read, a search for a text in one of a hundred sentences, and
one for a type.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import busy
import measuring
from nersery import Sentence, io

ASKED = 20
"""The number of sentences requested one after the other."""
RARE = "rareword"


class Page:
    """The page of a running review.

    Args:
        address: The address that the command prints.
        started: When the command was started, by `time.perf_counter`.
    """

    def __init__(self, address: str, started: float) -> None:
        self.address, self.started = address, started

    def answer(self, path: str) -> tuple[object, float]:
        """The answer to a request, and the milliseconds that it took."""
        start = time.perf_counter()
        with urlopen(self.address + path) as response:
            value = json.load(response)
        return value, 1000 * (time.perf_counter() - start)

    def sentences(self, first: int) -> list[float]:
        """The milliseconds for each of `ASKED` sentences from ``first`` on."""
        return [self.answer(f"sentence/{number}")[1] for number in range(first, first + ASKED)]

    def is_read(self) -> bool:
        """Whether the whole file has been read."""
        overview, _ = self.answer("overview")
        assert isinstance(overview, dict)
        return bool(overview["isWhole"])


@contextmanager
def review(source: Path, target: Path) -> Iterator[Page]:
    """Run a review in a separate process."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "nersery", "label", "review", str(source), str(target)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    try:
        address = next(word for line in process.stderr for word in line.split() if word.startswith("http://"))
        yield Page(address, start)
    finally:
        process.kill()
        process.wait()


def sentences(count: int) -> Iterator[Sentence]:
    """Invented sentences, some with a word that is searched for."""
    for number, sentence in enumerate(measuring.invented(count)):
        yield replace(sentence, words=(RARE, *sentence.words[1:])) if number % 100 == 0 else sentence


def measure(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.jsonl"
        io.write(sentences(count), source)
        with review(source, Path(folder) / "kept.jsonl") as page:
            page.answer("sentence/0")
            print(f"first sentence: {time.perf_counter() - page.started:.1f} s", flush=True)
            print(f"next sentence, while the page still reads: {measuring.spread(page.sentences(1), '.0f')} ms")
            while not page.is_read():
                time.sleep(0.1)
            print(f"all is read: {time.perf_counter() - page.started:.1f} s")
            print(f"next sentence: {measuring.spread(page.sentences(count // 2), '.0f')} ms")
            searches = [page.answer(f"search?text={RARE}")[1] for _ in range(5)]
            print(f"search: {measuring.spread(searches, '.0f')} ms")
            searches = [page.answer("search?type=PER")[1] for _ in range(5)]
            print(f"search for a type: {measuring.spread(searches, '.0f')} ms")


def main() -> None:
    parser = measuring.parser(__doc__)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--busy", type=int, default=0, help="other processes, as of benchmarks/busy.py")
    options = parser.parse_args()
    measuring.print_machine()
    with busy.beside(options.busy):
        measure(2 * ASKED if options.quick else options.sentences)


if __name__ == "__main__":
    main()
