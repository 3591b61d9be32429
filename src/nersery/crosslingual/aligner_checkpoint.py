"""What aligners have learnt, in the folder of a training: other workers and calls after a kill take it from there."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from nersery import io
from nersery.core.errors import DiskError, SettingsError
from nersery.core.file_settings import files_in
from nersery.core.files import check_replaceable, replaced_folder, write_atomic
from nersery.core.outcome import Tally
from nersery.core.registry import name_of
from nersery.core.typed_settings import settings_of
from nersery.crosslingual.aligners.base import Aligner, AlignStage, Pairs
from nersery.crosslingual.bitext import WholePairs
from nersery.pipeline.job import rejects_of
from nersery.pipeline.stage_job import StageJob

RECORD = "state.json"
"""As `nersery.models.training.checkpoint` calls it, so that the folder is known as that of a training."""
PLACE = "learnt"


def place_for(aligner: Aligner, pairs: Pairs, folder: Path | None) -> Path | None:
    """The folder, existing or not, for what an aligner learns from pairs; None if nothing is kept.

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
    facts = {"aligner": settings, "files": files_in(type(aligner), settings), "pairs": pairs_digest(pairs)}
    plain: dict[str, Any] = json.loads(json.dumps(facts))
    return plain


def pairs_digest(pairs: Pairs) -> str:
    """Tells pairs from others; of those in files it is known without reading them."""
    if isinstance(pairs, WholePairs):
        return pairs.digest
    return io.digest_of((pair.source, pair.target) for pair in pairs)


def check_keep(folder: Path, aligner: Aligner, output: Path, *, force: bool) -> None:
    """Raise `SettingsError` if what an aligner learns cannot be kept in a folder."""
    from nersery.crosslingual.hmm.lexicon import RECORD, TENSORS

    settings = settings_of(aligner)
    if "priors" not in settings:
        raise SettingsError(
            f"--keep {folder}: {name_of(aligner)} cannot reuse what it learnt, because it has no setting priors"
        )
    if settings.get("learn") is False:
        raise SettingsError(f"--keep {folder}: with learn = false, nothing is learnt. Leave out --keep")
    taken = (output, rejects_of(output), output.with_name(f"{output.name}.training"))
    if folder.resolve() in [path.resolve() for path in taken]:
        raise SettingsError(
            f"--keep {folder}: the alignments, or files that belong to them, are written there. Choose another folder"
        )
    check_replaceable(folder, RECORD, "priors", (RECORD, TENSORS), force=force)


def keep_learnt(job: StageJob, keep: Path) -> Tally:
    """Run a job of an aligner, and save what it learnt in a folder.

    After an earlier call ended between the two, the pairs are aligned once more with what it had learnt.

    Raises:
        DiskError: If what was learnt cannot be copied; it is then still in the folder of the training.
    """
    learnt = job.training / PLACE
    if _only_copy_is_missing(job, keep):
        job = replace(job, options=replace(job.options, force=True))
    with replaced_folder(keep) as folder:
        tally = job.run(keep_training=True)
        try:
            shutil.copytree(learnt, folder, dirs_exist_ok=True)
        except (OSError, shutil.Error) as error:
            raise DiskError(
                f"{job.target} is written, but what was learnt could not be saved in {keep}: {_reason(error)}. "
                f"It is in {learnt}. Run the same command again, or set priors to that folder"
            ) from None
    shutil.rmtree(job.training, ignore_errors=True)
    return tally


def _only_copy_is_missing(job: StageJob, keep: Path) -> bool:
    """Whether an earlier call of the same job has learnt and then aligned everything, but has kept nothing."""
    learnt = job.training / PLACE
    if keep.exists() or not job.target.exists() or not learnt.is_dir():
        return False
    if job.target.stat().st_mtime_ns < learnt.stat().st_mtime_ns:  # the alignments of another job
        return False
    assert isinstance(job.stage, AlignStage)
    try:
        record = json.loads((job.training / RECORD).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return bool(record == {"fingerprint": _fingerprint(job.stage.create_method(), job.stage.pairs)})


def _reason(error: OSError) -> str:
    """Why a folder could not be copied; the standard library lists the files with the error of each."""
    if isinstance(error, shutil.Error) and error.args and error.args[0]:
        return str(error.args[0][0][-1])
    return error.strerror or str(error)
