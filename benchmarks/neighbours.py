"""Nearest neighbours of every sentence among all others: time, memory, and agreement with a loop.

    python benchmarks/neighbours.py [SENTENCES] [--quick]

The vectors are random, of length 1, in 200 clusters, and as wide as those of the bundled encoder. Encoding is not
measured. The loop searches one query at a time with numpy. Its time is extrapolated from the first thousand.
"""

from __future__ import annotations

import resource
import time

import numpy as np
from numpy.typing import NDArray

import measuring
from nersery.models.embeddings.neighbours import nearest

SENTENCES = 100_000
WIDTH = 384
CLUSTERS = 200
NEIGHBOURS = 2
FEW = 1_000


def vectors(count: int) -> NDArray[np.float32]:
    """Random vectors of length 1, in clusters. Shape: (count, WIDTH)."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((CLUSTERS, WIDTH), dtype=np.float32)
    found = centres[rng.integers(CLUSTERS, size=count)]
    found += rng.standard_normal((count, WIDTH), dtype=np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def by_loop(queries: NDArray[np.float32], keys: NDArray[np.float32]) -> NDArray[np.int64]:
    """Search the neighbours of one query at a time, without the query itself."""
    found = np.empty((len(queries), NEIGHBOURS), dtype=np.int64)
    for number, query in enumerate(queries):
        cosines = keys @ query
        cosines[number] = -2
        best = np.argpartition(-cosines, NEIGHBOURS)[:NEIGHBOURS]
        found[number] = best[np.argsort(-cosines[best], kind="stable")]
    return found


def main() -> None:
    """Print seconds, memory and agreement."""
    parser = measuring.parser(__doc__)
    parser.add_argument("sentences", nargs="?", type=int, default=SENTENCES)
    options = parser.parse_args()
    measuring.print_machine()
    known = vectors(100 if options.quick else options.sentences)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, worked = time.perf_counter(), time.process_time()
    found = nearest(known, known, NEIGHBOURS, np.arange(len(known)))
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    few = known[:FEW]
    start = time.perf_counter()
    looped = by_loop(few, known)
    loop = (time.perf_counter() - start) * len(known) / len(few)
    equal = float((looped == found[: len(few)]).all(axis=1).mean())
    print(f"{loop / seconds:.1f} times as fast as one at a time ({loop:.1f} s): {len(known):,} sentences in ", end="")
    print(f"{seconds:.1f} s, {worked:.1f} s of processor time; the same neighbours for {equal:.1%} of {len(few):,}")
    print(f"peak memory {peak / 1e6:.2f} GB, {(peak - before) / 1e6:.2f} GB more than before")


if __name__ == "__main__":
    main()
