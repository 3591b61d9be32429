"""One training loop for every model that nersery fine-tunes: optimizer, schedule, precision, best weights.

Written by hand rather than on transformers' Trainer: it costs 8 s to import, and autocast, batches and the order of
chance must be ours for the same seed to give the same bytes.
"""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from nersery.errors import SettingsError
from nersery.lm.load import Precision, autocast
from nersery.progress import Progress

Example = TypeVar("Example")
Optimizer = Literal["adamw", "adam", "sgd"]
Schedule = Literal["linear", "constant"]


@dataclass(frozen=True)
class TrainingPlan:
    """How long and how fast to train.

    Args:
        steps: Batches in all; None counts in epochs.
        epochs: Passes over the data when ``steps`` is None.
        evaluate_every: Steps between two evaluations on dev; None evaluates after each epoch, but at most ten
            times when ``steps`` is given.
        patience: Stop after so many evaluations without a better one; None never stops early.
        batch_size: Examples a step.
        learning_rate: The highest rate, after the warm-up.
        head_learning_rate: The same for parameters that were not pretrained; None takes ``learning_rate``.
        warmup: Share of the steps over which the rate rises, in [0, 1].
        weight_decay: AdamW's; not applied to biases and norms.
        clip: Largest norm of a step's gradient.
    """

    steps: int | None
    epochs: int | None
    evaluate_every: int | None
    patience: int | None
    batch_size: int
    learning_rate: float
    head_learning_rate: float | None
    warmup: float
    weight_decay: float
    clip: float
    optimizer: Optimizer
    schedule: Schedule
    precision: Precision

    def total_steps(self, examples: int) -> int:
        """Steps for that many examples."""
        return self.steps or (self.epochs or 1) * self.epoch_steps(examples)

    def epoch_steps(self, examples: int) -> int:
        """Steps of one pass."""
        return math.ceil(examples / self.batch_size)

    def evaluation_steps(self, examples: int) -> int:
        """Steps between two evaluations."""
        if self.evaluate_every is not None:
            return self.evaluate_every
        epoch = self.epoch_steps(examples)
        return epoch if self.steps is None else max(epoch, math.ceil(self.steps / 10))


@dataclass(frozen=True)
class Evaluation:
    """What was measured after a step."""

    step: int
    loss: float
    score: float


@dataclass(frozen=True)
class History:
    """The course of a training; ``best`` is the evaluation whose weights were kept."""

    evaluations: tuple[Evaluation, ...]
    best: Evaluation | None
    steps: int


def train(
    model: nn.Module,
    examples: Sequence[Example],
    loss_of: Callable[[Sequence[Example]], Tensor],
    plan: TrainingPlan,
    *,
    seed: int,
    device: torch.device,
    evaluate: Callable[[], float] | None = None,
    is_new: Callable[[str], bool] = lambda name: False,
    progress: Progress | None = None,
) -> History:
    """Train a model in place, and leave it with the weights of its best evaluation.

    Args:
        examples: Whatever ``loss_of`` understands; each pass sees them in a new order.
        loss_of: The mean loss of a batch, run under autocast.
        evaluate: A score, higher is better; None keeps the last weights.
        is_new: Whether a parameter of that name was not pretrained.

    Raises:
        SettingsError: When the loss is no longer a number.
    """
    total, every = plan.total_steps(len(examples)), plan.evaluation_steps(len(examples))
    optimizer = _optimizer(model, plan, is_new)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, total, plan))
    evaluations: list[Evaluation] = []
    best: Evaluation | None = None
    best_weights: dict[str, Tensor] = {}
    losses: list[Tensor] = []
    step = 0
    batches = _batches(examples, plan.batch_size, seed)
    model.train()
    for step in range(1, total + 1):
        with autocast(device, plan.precision):  # entered anew each step: it keeps the weights it has cast
            loss = loss_of(next(batches))
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())
        if progress is not None:
            progress.advance(note=f"dev {best.score:.3f}" if best else "")
        if step % every == 0 or step == total:
            mean_loss = _mean_loss(losses, step)
            losses.clear()
            if evaluate is None:
                continue
            model.eval()
            evaluations.append(Evaluation(step, round(mean_loss, 4), evaluate()))
            model.train()
            if best is None or evaluations[-1].score > best.score:
                best = evaluations[-1]
                best_weights = copy.deepcopy(model.state_dict())
            elif plan.patience is not None and _without_gain(evaluations, best) >= plan.patience:
                break
    if best is not None and best is not evaluations[-1]:
        model.load_state_dict(best_weights)
    model.eval()
    return History(tuple(evaluations), best, step)


def _without_gain(evaluations: Sequence[Evaluation], best: Evaluation) -> int:
    return len(evaluations) - 1 - evaluations.index(best)


def _mean_loss(losses: Sequence[Tensor], step: int) -> float:
    mean = float(torch.stack(tuple(losses)).float().mean())
    if not math.isfinite(mean):
        raise SettingsError(
            f'the training loss is {mean} at step {step}. Use a lower learning_rate, or precision = "fp32"'
        )
    return mean


def _batches(examples: Sequence[Example], batch_size: int, seed: int) -> Iterator[list[Example]]:
    generator = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(len(examples), generator=generator).tolist()
        for start in range(0, len(order), batch_size):
            yield [examples[index] for index in order[start : start + batch_size]]


def _rate(step: int, total: int, plan: TrainingPlan) -> float:
    """The factor on the learning rate at a step."""
    warmup = plan.warmup * total
    if step < warmup:
        return (step + 1) / (warmup + 1)
    if plan.schedule == "constant":
        return 1.0
    return (total - step) / max(1.0, total - warmup)


def _optimizer(model: nn.Module, plan: TrainingPlan, is_new: Callable[[str], bool]) -> torch.optim.Optimizer:
    groups: dict[tuple[bool, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            groups.setdefault((is_new(name), parameter.ndim > 1), []).append(parameter)
    parameters: list[dict[str, Any]] = [
        {
            "params": members,
            "lr": (plan.head_learning_rate if new else None) or plan.learning_rate,
            "weight_decay": plan.weight_decay if decays and plan.optimizer == "adamw" else 0.0,
        }
        for (new, decays), members in groups.items()
    ]
    match plan.optimizer:
        case "adamw":
            return torch.optim.AdamW(parameters, fused=True)
        case "adam":
            return torch.optim.Adam(parameters, fused=True)
        case "sgd":
            return torch.optim.SGD(parameters, fused=True)


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's global chance (dropout, new heads) from a seed, and as it was before afterwards."""
    devices = range(torch.cuda.device_count())
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        yield
