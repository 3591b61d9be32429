"""Reads the files that a run has made, which a power failure or a copy of the folder may have damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nersery import io
from nersery.core.errors import DataError, NerseryError
from nersery.core.sentence import Corpus
from nersery.io.jsonl import rejects_of


def damaged(path: Path) -> NerseryError:
    """The error for a file of a run that is not as nersery wrote it, e.g. after a power failure."""
    return NerseryError(
        f"{path} is damaged. Delete it, and repeat the command, which makes it again: if that needs a tagger that is "
        "no longer there, it is trained again"
    )


def read_made(path: Path, rows: int | None) -> Corpus:
    """The sentences that a stage has made; a `NerseryError` if the file or that of its rejects is damaged.

    Args:
        rows: Number of rows in both files together, if it is known.
    """
    row_count = sum(file.read_bytes().count(b"\n") for file in (path, rejects_of(path)) if file.exists())
    if rows not in (None, row_count):
        raise damaged(path)
    try:
        return io.read(path)
    except DataError:
        raise damaged(path) from None


def read_record(path: Path, *keys: str) -> dict[str, Any]:
    """A JSON object with some keys; a `NerseryError` if the file holds anything else."""
    try:
        record = json.loads(path.read_text("utf-8"))
    except ValueError:
        raise damaged(path) from None
    if not isinstance(record, dict) or not record.keys() >= {*keys}:
        raise damaged(path)
    return record


def read_result(path: Path) -> dict[str, Any]:
    """The ``result.json`` of a system; a `NerseryError` if it is damaged."""
    return read_record(path, "scores", "train_sentences", "kept_sentences", "training")
