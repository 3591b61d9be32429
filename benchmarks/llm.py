"""How busy requests keep a server, and how long cached answers take: `python benchmarks/llm.py [--quick]`.

A local server process answers each request after 200 ms. "Busy" is the time that it spent on requests, divided by 32
times the time from the first to the last request. 100 % means that 32 requests were always in progress.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import measuring
from nersery import Corpus, Sentence, annotate
from nersery.annotate.llm_labels import LlmLabels

LATENCY, CONCURRENCY = 0.2, 32


def main() -> None:
    quick = measuring.parser(__doc__).parse_args().quick
    measuring.print_machine()
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.llm_server import serving

    with tempfile.TemporaryDirectory() as name, serving(Path(name), "--latency", str(LATENCY)) as server:
        sentences = [Sentence((f"o.{number}", "o.1", "PER.1")) for number in range(64 if quick else 10_000)]
        cache = str(Path(name) / "cache")

        def timed() -> float:
            started = time.perf_counter()
            method = LlmLabels("tiny", server=server.url, cache=cache, types=["PER"], concurrency=CONCURRENCY)
            result = annotate(Corpus(sentences), method)
            assert result.tally.written == len(sentences)
            return time.perf_counter() - started

        asked = timed()
        with urllib.request.urlopen(server.url.removesuffix("v1") + "stats") as response:
            stats = json.load(response)
        share = stats["busy"] / stats["seconds"] / CONCURRENCY
        print(f"{len(sentences):,} requests of {1000 * LATENCY:.0f} ms, {CONCURRENCY} at once: {asked:.1f} s")
        print(f"the server was {100 * share:.1f} % busy")
        print(f"{len(sentences):,} cached answers: {timed():.1f} s")


if __name__ == "__main__":
    main()
