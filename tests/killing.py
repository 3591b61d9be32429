"""Simulated kills: they end work anywhere, once all earlier work has been saved."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nersery.core.progress import Progress


class KilledError(BaseException):
    """Stands for the kill of a process."""


class KillingProgress(Progress):
    """Kills after a number of steps."""

    def __init__(self, steps: int) -> None:
        super().__init__("train", quiet=True)
        self.steps = steps

    def advance(self, items: int = 1, *, resumed: bool = False, note: str = "") -> None:
        super().advance(items, resumed=resumed, note=note)
        if self.done >= self.steps:
            raise KilledError


def stop_at(step: int) -> Callable[..., None]:
    """A function that kills at its ``step``-th call, from 1."""
    left = iter(range(step - 1))

    def call(*_: object) -> None:
        if next(left, None) is None:
            raise KilledError

    return call


def save_each_step(patch: pytest.MonkeyPatch) -> None:
    """Trainings save their state after each step."""
    patch.setattr("nersery.models.training.checkpoint.CHECKPOINT_SECONDS", 0.0)
    patch.setattr("nersery.models.training.checkpoint.MAX_SHARE", float("inf"))


@pytest.fixture
def saves_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings save their state after each step."""
    save_each_step(monkeypatch)


@pytest.fixture
def saves_each_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs write their journal after each batch, however quick."""
    monkeypatch.setattr("nersery.pipeline.job.CHECKPOINT_SECONDS", 0.0)
