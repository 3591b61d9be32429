"""A job on numbers, and the files that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nersery import Sentence
from nersery.core.outcome import Outcome, Reject
from nersery.pipeline.job import FileJob

ITEMS = range(50)


def step(batch: Sequence[int]) -> list[Outcome]:
    """Writes most numbers, rejects the others for two reasons."""
    return [Reject(f"reason {n % 3}") if n % 5 in (0, 3) else Sentence((f"न{n}",)) for n in batch]


def encode(sentence: Sentence) -> str:
    return f"{sentence.text}\n"


def job(folder: Path, seed: int = 0, name: str = "out.txt") -> FileJob:
    return FileJob(folder / name, encode, {"seed": seed, "input": {"sha": "é"}})


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
