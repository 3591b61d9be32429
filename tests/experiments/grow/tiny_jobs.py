"""Grow jobs with a tiny encoder, quick trainings, two folds and one round of relabelling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nersery
from nersery import io
from nersery.experiments.grow import budget, candidates, plan, schedules, search
from nersery.experiments.grow.schedules import Schedule
from tests.standins import sentences

FOLDS = 2
"""Its number is also the seed of the training on all sentences."""


def prepare(folder: Path, monkeypatch: pytest.MonkeyPatch, encoder: str) -> Path:
    original = plan._PlanDraft.table

    def table(draft: Any, schedule: Schedule) -> dict[str, Any]:
        made = original(draft, schedule)
        made["tagger"]["learning_rate"] = 0.005
        return made

    monkeypatch.setattr(plan._PlanDraft, "table", table)
    for rate in ("HEAD_RATE", "SHORT_HEAD_RATE"):
        monkeypatch.setattr(schedules, rate, 0.05)
    monkeypatch.setattr(plan, "SCHEDULES", (Schedule(8, 4),))
    monkeypatch.setattr(search, "SCHEDULES", (Schedule(12, 4), Schedule(8, 4)))
    monkeypatch.setattr(plan, "MIN_STEPS", 8)
    monkeypatch.setattr(plan, "FEW_FOLDS", FOLDS)
    monkeypatch.setattr(candidates, "ROUNDS", candidates.ROUNDS[:1])
    monkeypatch.setattr(candidates, "MULTILINGUAL", encoder)
    monkeypatch.setattr(budget, "CLOSING", 1.0)
    monkeypatch.chdir(folder)
    for name, count, start in (("train", 24, 0), ("test", 12, 200), ("raw", 30, 300)):
        io.write(sentences(count, start), f"{name}.conll")
    return folder


def grow(**settings: Any) -> Any:
    given = {"raw": "raw.conll", "test": "test.conll", "output": "out", "language": "xx", "quiet": True}
    return nersery.grow("train.conll", **{**given, **settings})
