"""What aligners have learnt, in the folder of a training: other workers and calls after a kill take it from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nersery import io
from nersery.core.file_settings import files_in
from nersery.core.files import write_atomic
from nersery.core.typed_settings import settings_of
from nersery.crosslingual.aligners.base import Aligner, Pairs
from nersery.crosslingual.parallel_corpus.whole_pairs import WholePairs

STATE = "state.json"
"""As `nersery.models.training.checkpoint` calls it, so that the folder is known as that of a training."""
LEARNT = "learnt"


def learnt_path(aligner: Aligner, pairs: Pairs, folder: Path | None) -> Path | None:
    """The file or folder, existing or not, for what an aligner learns from pairs; None if nothing is kept.

    A folder with nothing but its record, left by a failed call, is reused.

    Args:
        folder: The training's folder.

    Raises:
        OtherTrainingError: If it belongs to other settings or pairs.
        BrokenStateError: If its record cannot be read.
    """
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / STATE
    wanted = training_fingerprint(aligner, pairs)
    if record.exists() and any(path != record for path in folder.iterdir()):
        from nersery.models.training.checkpoint import read_state  # imports torch, which takes seconds

        read_state(folder, wanted)
    else:
        write_atomic(record, json.dumps({"fingerprint": wanted}))
    return folder / LEARNT


def training_fingerprint(aligner: Aligner, pairs: Pairs) -> dict[str, Any]:
    """All that the learning depends on, as JSON gives it back."""
    settings = settings_of(aligner)
    facts = {"aligner": settings, "files": files_in(type(aligner), settings), "pairs": pairs_digest(pairs)}
    return json.loads(json.dumps(facts))


def pairs_digest(pairs: Pairs) -> str:
    """Tells pairs from others; of those in files it is known without reading them."""
    if isinstance(pairs, WholePairs):
        return pairs.digest
    return io.digest_of((pair.source, pair.target) for pair in pairs)
