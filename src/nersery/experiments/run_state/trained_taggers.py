"""The taggers in the folder of a run: trained once, resumed after a kill, and shared by systems with equal teachers.

A teacher has its own file beside its folder::

    seed-0/teachers/3f2a…/         the tagger
    seed-0/teachers/3f2a….json     how it was trained, and how long that took
    seed-0/SYSTEM/teacher.json     a copy of that file, which stays when the taggers are removed
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nersery.core.registry import name_of
from nersery.core.sentence import Sentence
from nersery.core.settings.typed_settings import settings_of
from nersery.core.system.files import copy_atomic, unfinished_path, write_json
from nersery.core.system.locks import lock_when_free
from nersery.core.training_context import Training
from nersery.experiments.systems import TEACHERS
from nersery.models.training.training_state import training_seconds
from nersery.taggers.base import LOADING, Tagger, load_tagger, training_folder, training_record

TEACHER_FILE = "teacher.json"


def teachers_folder(run: Path, seed: int) -> Path:
    """The folder of the teachers of a seed."""
    return run / f"seed-{seed}" / TEACHERS


def trained_once(folder: Path, fit: Callable[[Path], Tagger], settings: Mapping[str, Any]) -> Tagger:
    """The tagger in a folder. It is trained and saved first if there is none.

    Args:
        fit: Trains it; its argument is the folder for the checkpoint.
        settings: Those of `LOADING` apply to the loaded tagger.
    """
    training = training_folder(folder)
    if not folder.exists():
        with lock_when_free(training):
            if not folder.exists():  # else another job of the run has just trained it
                tagger = fit(training)
                unfinished = unfinished_path(folder)
                shutil.rmtree(unfinished, ignore_errors=True)
                tagger.save(unfinished)
                os.replace(unfinished, folder)
    shutil.rmtree(training, ignore_errors=True)  # here, because a kill may have left it after the tagger was finished
    return load_tagger(folder, **{key: settings[key] for key in LOADING if key in settings})


def trained_teacher(run: Path, system: Path, tagger: Tagger, gold: Sequence[Sentence], training: Training) -> Tagger:
    """The teacher of a system: trained on gold, or by another system that has the same teacher and gold.

    Args:
        run: The folder of the run.
        system: The folder of the system for this seed.
        tagger: The teacher, untrained.
        gold: The sentences that the system starts from: gold, and the kept ones of its base.
    """
    # Systems with equal teachers find each other by this hash. Two jobs that train it at once wait in `trained_once`.
    depends_on = json.dumps({"tagger": name_of(tagger), **training_record(tagger, gold, training.dev)}, sort_keys=True)
    folder = teachers_folder(run, training.seed) / hashlib.sha256(depends_on.encode()).hexdigest()[:16]
    record = folder.with_suffix(".json")

    def fit(checkpoint_folder: Path) -> Tagger:
        history = tagger.fit(gold, replace(training, folder=checkpoint_folder))
        origin = {"tagger": name_of(tagger), "model": settings_of(tagger).get("model", "")}
        write_json(record, {**history, **origin, "seconds": training_seconds(checkpoint_folder)})
        return tagger

    teacher = trained_once(folder, fit, settings_of(tagger))
    system.mkdir(parents=True, exist_ok=True)
    copy_atomic(record, system / TEACHER_FILE)
    return teacher
