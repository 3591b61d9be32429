"""A job on Ray as a process, any part of which a test can kill: ``python -m tests.torture.ray_job FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from nersery.core.errors import NerseryError
from nersery.core.outcome import Tally
from nersery.pipeline.engines.pool import Pool
from nersery.pipeline.engines.ray import RayEngine
from nersery.pipeline.engines.worker import WorkerTask
from nersery.pipeline.shards import ShardJob
from tests.pipeline.fakes import Capitals, rows

ROWS, SHARD = 4000, 50
SLOW = {f"at{number}": "sleep" for number in range(ROWS)}


def run(folder: Path, workers: int = 2) -> Tally:
    """Rows at 20 ms each: 40 s for two workers."""
    with Pool(RayEngine(workers, quiet=True), WorkerTask(Capitals()), workers, print) as pool:
        return ShardJob(folder / "out", SHARD, {}).run(rows(ROWS, **SLOW), pool.answers, batch_size=5)


if __name__ == "__main__":
    try:
        run(Path(sys.argv[1]))
    except NerseryError as error:
        sys.exit(f"error: {error}")
