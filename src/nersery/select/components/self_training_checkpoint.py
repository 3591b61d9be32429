"""The checkpoint of a self-training: what joined at each step, on disk too, so that a kill costs one step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nersery.core.files import write_atomic
from nersery.core.sentence import Entity, Sentence

STEPS_FILE = "state.json"
CERTAINTY = "self_training.certainty"
"""The score that says how sure the tagger was of a candidate when it joined; the selector `certainty` has its own."""


@dataclass
class Joined:
    """A candidate that joined the training data: its certainty then, in [0, 1], and the labels it bore."""

    certainty: float
    labels: list[tuple[int, int, str]]


@dataclass
class TrainingStep:
    """A step of the self-training.

    Args:
        joined: What the tagger was trained on beside gold and, unless candidates are relabelled, the joined of the
            steps before; by id.
        sentences: Number of training sentences of the step; a repeated gold sentence counts each time.
        dev_f1: Of the tagger that was trained on them, in [0, 1]; None without dev.
    """

    joined: dict[str, Joined] = field(default_factory=dict)
    sentences: int = 0
    dev_f1: float | None = None


def as_joined(sentence: Sentence, joined: Joined) -> Sentence:
    """A candidate with the certainty and the labels with which it joined."""
    if tuple(map(tuple, joined.labels)) != sentence.labels:
        sentence = sentence.with_entities(Entity(*label) for label in joined.labels)
    return sentence.with_scores(**{CERTAINTY: joined.certainty})


def tagger_folder(folder: Path, steps: int) -> Path:
    """Folder of the tagger that was trained last, given the number of recorded steps."""
    return folder / f"tagger-{steps}"


def read_checkpoint(folder: Path | None, fingerprint: Mapping[str, Any]) -> list[TrainingStep]:
    """The steps that an earlier call finished."""
    from nersery.models.training.checkpoint import read_state, readable

    state = read_state(folder, fingerprint) if folder is not None else None
    if folder is None or state is None:
        return []
    with readable(folder):
        return [
            TrainingStep(
                {id: Joined(**joined) for id, joined in step["joined"].items()}, step["sentences"], step["dev_f1"]
            )
            for step in state["steps"]
        ]


def write_checkpoint(folder: Path, fingerprint: Mapping[str, Any], steps: Sequence[TrainingStep]) -> None:
    """Write down the steps that are finished."""
    state = {"fingerprint": fingerprint, "steps": [asdict(step) for step in steps]}
    write_atomic(folder / STEPS_FILE, json.dumps(state, ensure_ascii=False))
