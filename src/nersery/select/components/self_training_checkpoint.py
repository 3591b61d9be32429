"""The checkpoint of a self-training: what joined at each step, also on disk, so that a kill costs only one step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nersery.core.sentence import Entity, Sentence
from nersery.core.system.files import write_atomic
from nersery.models.training.training_state import RECORD, read_state, readable

CERTAINTY = "self_training.certainty"
"""The score for the certainty of the tagger when a candidate joined. The selector `certainty` has its own score."""


@dataclass
class Joined:
    """A candidate that joined the training data, with its certainty (in [0, 1]) and its labels at that time."""

    certainty: float
    labels: list[tuple[int, int, str]]


@dataclass
class TrainingStep:
    """A step of the self-training.

    Args:
        joined: The candidates that joined at this step, by id. The tagger was trained on them, on gold and, unless
            candidates are relabelled, on the candidates that joined before.
        sentences: The number of training sentences of the step. A repeated gold sentence counts each time.
        dev_f1: Dev F1 of the tagger that was trained on them, in [0, 1]; None without dev.
    """

    joined: dict[str, Joined] = field(default_factory=dict)
    sentences: int = 0
    dev_f1: float | None = None


def as_joined(sentence: Sentence, joined: Joined) -> Sentence:
    """The candidate with the certainty and the labels that it had when it joined."""
    if tuple(map(tuple, joined.labels)) != sentence.labels:
        sentence = sentence.with_entities(Entity(*label) for label in joined.labels)
    return sentence.with_scores(**{CERTAINTY: joined.certainty})


def tagger_folder(folder: Path, steps: int) -> Path:
    """The folder of the last trained tagger, given the number of recorded steps."""
    return folder / f"tagger-{steps}"


def read_checkpoint(folder: Path | None, fingerprint: Mapping[str, Any]) -> list[TrainingStep]:
    """Read the steps that an earlier call finished."""
    if folder is None or (state := read_state(folder, fingerprint)) is None:
        return []
    with readable(folder):
        return [
            TrainingStep(
                {id: Joined(**joined) for id, joined in step["joined"].items()}, step["sentences"], step["dev_f1"]
            )
            for step in state["steps"]
        ]


def write_checkpoint(folder: Path, fingerprint: Mapping[str, Any], steps: Sequence[TrainingStep]) -> None:
    """Write the finished steps."""
    state = {"fingerprint": fingerprint, "steps": [asdict(step) for step in steps]}
    write_atomic(folder / RECORD, json.dumps(state, ensure_ascii=False))
