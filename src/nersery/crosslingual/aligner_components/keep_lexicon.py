"""Save what an aligner has learnt in a folder that the user chooses (``--keep``), for the setting ``priors``."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

from nersery.core.errors import DiskError, SettingsError
from nersery.core.outcome import Tally
from nersery.core.registry import name_of
from nersery.core.settings.typed_settings import settings_of
from nersery.core.system.folders import check_replaceable, replaced_folder
from nersery.crosslingual.aligner_components.aligner_checkpoint import LEARNT, training_fingerprint
from nersery.crosslingual.aligners.base import Aligner, AlignStage
from nersery.io.jsonl import rejects_of
from nersery.models.training.training_state import RECORD
from nersery.pipeline.stage_job import StageJob


def check_keep(folder: Path, aligner: Aligner, output: Path, *, force: bool) -> None:
    """Raise `SettingsError` if what an aligner learns cannot be kept in a folder."""
    from nersery.crosslingual.hmm.lexicon import FACTS, TENSORS

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
    check_replaceable(folder, FACTS, "priors", (FACTS, TENSORS), force=force)


def keep_learnt(job: StageJob, keep: Path) -> Tally:
    """Run an alignment job, and save what the aligner learnt in a folder.

    If an earlier call ended between these two steps, the pairs are aligned again with what it had learnt.

    Raises:
        DiskError: If what was learnt cannot be copied. It is then still in the training folder.
    """
    learnt = job.training / LEARNT
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
    """Whether an earlier call of the same job learnt and then aligned everything, but did not save what it learnt."""
    learnt = job.training / LEARNT
    if keep.exists() or not job.target.exists() or not learnt.is_dir():
        return False
    if job.target.stat().st_mtime_ns < learnt.stat().st_mtime_ns:  # the alignments of another job
        return False
    assert isinstance(job.stage, AlignStage)
    try:
        record = json.loads((job.training / RECORD).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return bool(record == {"fingerprint": training_fingerprint(job.stage.create_method(), job.stage.pairs)})


def _reason(error: OSError) -> str:
    """Why a folder could not be copied. `shutil.Error` lists the files, each with its error."""
    if isinstance(error, shutil.Error) and error.args and error.args[0]:
        return str(error.args[0][0][-1])
    return error.strerror or str(error)
