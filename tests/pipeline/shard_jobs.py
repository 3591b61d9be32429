"""A job over shards, the files that it writes, and a job that is killed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nersery.pipeline.engines.base import Answer
from nersery.pipeline.shards import ShardJob
from tests.killing import KilledError
from tests.pipeline.fakes import answers, rows

ROWS = rows(50, at3="reject", at4="fail", at41="reject")


def job(folder: Path, seed: int = 0, size: int = 12) -> ShardJob:
    return ShardJob(folder / "out", size, {"seed": seed, "input": {"sha": "é"}})


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def killed_after(count: int) -> Callable[[Iterable[Any]], Iterator[Answer]]:
    """Answers until the process that receives them is killed."""

    def until(given: Iterable[Any]) -> Iterator[Answer]:
        for number, answer in enumerate(answers(given)):
            if number == count:
                raise KilledError
            yield answer

    return until


def start_and_kill(folder: Path, after: int, seed: int = 0, *, overwrite: bool = False) -> Path:
    """Leave a job unfinished after so many batches of 5; a shard of 12 rows is three of them."""
    with pytest.raises(KilledError):
        job(folder, seed).run(ROWS, killed_after(after), batch_size=5, overwrite=overwrite)
    return job(folder).unfinished_folder
