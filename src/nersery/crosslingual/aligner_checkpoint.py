"""What aligners have learnt, in the folder of a training: other workers and calls after a kill take it from there."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from nersery.core.files import write_atomic
from nersery.core.registry import files_in, settings_of
from nersery.crosslingual.aligners.base import Aligner, Pairs
from nersery.crosslingual.bitext import WholePairs

RECORD = "state.json"
"""As `nersery.models.training.checkpoint` calls it, so that the folder is known as that of a training."""
PLACE = "learnt"


def place_for(aligner: Aligner, pairs: Pairs, folder: Path | None) -> Path | None:
    """The folder, there already or not, for what an aligner learns from some pairs; None where nothing is kept.

    A folder with its record alone, as a call that failed before it learnt anything leaves it, is in nobody's way.

    Args:
        folder: That of the training. Whose it is stands in it before anything else.

    Raises:
        OtherTrainingError: When it holds what was learnt otherwise, or from other pairs.
        BrokenStateError: When it cannot be told what it holds.
    """
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / RECORD
    wanted = _fingerprint(aligner, pairs)
    if record.exists() and any(path != record for path in folder.iterdir()):
        from nersery.models.training.checkpoint import read_state  # imports torch, which takes seconds

        read_state(folder, wanted)
    else:
        write_atomic(record, json.dumps({"fingerprint": wanted}))
    return folder / PLACE


def _fingerprint(aligner: Aligner, pairs: Pairs) -> dict[str, Any]:
    """All that the learning depends on, as JSON gives it back."""
    settings = settings_of(aligner)
    found = {"aligner": settings, "files": files_in(type(aligner), settings), "pairs": digest_of(pairs)}
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


def digest_of(pairs: Pairs) -> str:
    """Tells pairs from others; of those in files it is known without reading them."""
    if isinstance(pairs, WholePairs):
        return pairs.digest
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update(repr((pair.source, pair.target)).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()
