"""A small training whose state is saved, and ways to end it early."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nersery.core.random import item_rng
from nersery.models.training.trainer import History, TrainingPlan, seeded, train

STEPS = 12
PLAN: dict[str, Any] = {
    "steps": STEPS,
    "epochs": None,
    "evaluate_every": 3,
    "patience": None,
    "batch_size": 4,
    "learning_rate": 0.05,
    "head_learning_rate": 0.1,
    "warmup": 0.2,
    "weight_decay": 0.1,
    "clip": 1.0,
    "optimizer": "adamw",
    "schedule": "linear",
    "precision": "fp32",
}


class Tied(nn.Module):
    """A network with everything that a state has to contain: a tied weight, dropout, running means."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)
        self.second.weight = self.first.weight
        self.norm, self.dropout = nn.BatchNorm1d(4), nn.Dropout(0.4)

    def forward(self, rows: Tensor) -> Tensor:
        hidden = self.dropout(self.norm(self.first(rows)).relu())
        out: Tensor = self.third(self.second(hidden))
        return out


class Wider(Tied):
    def __init__(self) -> None:
        super().__init__()
        self.third = nn.Linear(4, 3)


def drawn(example: int, index: int, number: int) -> list[float]:
    rng = item_rng(example, index, number)
    return [rng.gauss(0, 1) for _ in range(4)]


def fit(
    folder: Path | None,
    *,
    step: Callable[[], object] = lambda: None,
    score: Callable[[], float] = lambda: float(torch.rand(())),
    seed: int = 5,
    examples: Sequence[int] = range(10),
    evaluates: bool = True,
    **changes: Any,
) -> tuple[nn.Module, History]:
    """A training in which every number depends on everything before it.

    Args:
        step: Called before each step.
        score: The score of an evaluation; by default a random number that follows those of dropout.
    """
    plan = TrainingPlan(**{**PLAN, **{key: changes.pop(key) for key in set(changes) & set(PLAN)}})
    with seeded(seed):
        model = changes.pop("model", Tied)()

        def loss_of(rows: Sequence[list[float]]) -> Tensor:
            step()
            return nn.functional.cross_entropy(model(torch.tensor(rows)), torch.arange(len(rows)) % 2)

        settings: dict[str, Any] = {"seed": seed, "draw": drawn, "folder": folder}
        if evaluates:
            settings["evaluate"] = score
        history = train(model, examples, loss_of, plan, is_new=lambda n: n.startswith("third"), **settings, **changes)
    return model, history


def outcome(model: nn.Module, history: History) -> dict[str, Any]:
    """All results of a training, to the last bit."""
    weights = b"".join(tensor.numpy().tobytes() for tensor in model.state_dict().values())
    content: dict[str, Any] = json.loads(json.dumps(asdict(history)))
    return {"weights": sha256(weights).hexdigest(), "history": content}
