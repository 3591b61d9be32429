"""What an aligner has learnt, saved in the training folder for other workers and for calls after a kill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nersery import io
from nersery.core.settings.file_settings import content_hashes
from nersery.core.settings.typed_settings import settings_of
from nersery.core.system.files import write_atomic
from nersery.crosslingual.aligners.base import Aligner, Pairs
from nersery.crosslingual.parallel_corpus.complete_pairs import CompletePairs
from nersery.models.training.training_state import RECORD, read_state

LEARNT = "learnt"


def learnt_path(aligner: Aligner, pairs: Pairs, folder: Path | None) -> Path | None:
    """Prepare the training folder and return the path for what an aligner learns from pairs; None without a folder.

    The path is that of a file or a folder, which need not exist. A folder that contains only its record, left by a
    failed call, is reused.

    Args:
        folder: The training folder.

    Raises:
        OtherTrainingError: If the folder belongs to other settings or pairs.
        BrokenStateError: If the record in the folder cannot be read.
    """
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / RECORD
    wanted = training_fingerprint(aligner, pairs)
    if record.exists() and any(path != record for path in folder.iterdir()):
        read_state(folder, wanted)
    else:
        write_atomic(record, json.dumps({"fingerprint": wanted}))
    return folder / LEARNT


def training_fingerprint(aligner: Aligner, pairs: Pairs) -> dict[str, Any]:
    """Everything that the learning depends on, in the form in which JSON returns it."""
    settings = settings_of(aligner)
    facts = {"aligner": settings, "files": content_hashes(type(aligner), settings), "pairs": pairs_digest(pairs)}
    return json.loads(json.dumps(facts))


def pairs_digest(pairs: Pairs) -> str:
    """A digest that identifies the pairs; pairs in files have one already, so they are not read."""
    if isinstance(pairs, CompletePairs):
        return pairs.digest
    return io.digest_of((pair.source, pair.target) for pair in pairs)
