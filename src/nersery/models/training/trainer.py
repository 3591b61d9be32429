"""The training loop of every model that nersery fine-tunes.

We do not use transformers' Trainer. Importing it takes 8 s, and equal seeds must give equal bytes, so autocast, the
batches and the order of random draws must be ours.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from nersery.core.errors import DataError, SettingsError
from nersery.core.progress import Progress
from nersery.core.settings.typed_settings import Precision
from nersery.core.version import __version__
from nersery.core.warnings import set_in_context
from nersery.models.pretrained.computer import environment
from nersery.models.pretrained.loading import GLOBAL_STATE_LOCK, autocast
from nersery.models.pretrained.torch_state import SEEDED
from nersery.models.training.checkpoint import Checkpoint, open_checkpoint
from nersery.models.training.deterministic import fixed_order
from nersery.models.training.memory import kept_memory
from nersery.models.training.snapshot import Tensors, load_weights, restore, snapshot, weights_of

Example = TypeVar("Example")
Optimizer = Literal["adamw", "adam", "sgd"]
Schedule = Literal["linear", "constant"]


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """The length of a training, its learning rates and its optimizer.

    Args:
        steps: Training steps. None takes ``epochs``.
        epochs: Passes over the data if ``steps`` is None.
        evaluate_every: Steps between two evaluations on dev. None evaluates after each epoch, but at most ten times if
            ``steps`` is given.
        patience: Stop after this many evaluations without improvement. None never stops early.
        batch_size: Examples per step.
        learning_rate: The highest rate, reached after the warm-up.
        head_learning_rate: The highest rate of parameters that were not pretrained. None takes ``learning_rate``.
        warmup: Share of the steps during which the rate rises, in [0, 1].
        weight_decay: Weight decay of AdamW, not applied to biases and norms.
        clip: The largest gradient norm.
    """

    steps: int | None = None
    epochs: int | None = None
    evaluate_every: int | None = None
    patience: int | None = None
    batch_size: int
    learning_rate: float
    head_learning_rate: float | None = None
    warmup: float = 0.0
    weight_decay: float = 0.0
    clip: float = 1.0
    optimizer: Optimizer = "adam"
    schedule: Schedule = "constant"
    precision: Precision

    def total_steps(self, examples: int) -> int:
        """The number of training steps for a number of examples."""
        return self.steps or (self.epochs or 1) * self.epoch_steps(examples)

    def epoch_steps(self, examples: int) -> int:
        """The number of steps in one epoch."""
        return math.ceil(examples / self.batch_size)

    def evaluation_steps(self, examples: int) -> int:
        """The number of steps between two evaluations."""
        if self.evaluate_every is not None:
            return self.evaluate_every
        epoch = self.epoch_steps(examples)
        return epoch if self.steps is None else max(epoch, math.ceil(self.steps / 10))


@dataclass(frozen=True)
class DevScore:
    """The measurements of an evaluation after a step."""

    step: int
    loss: float
    score: float


@dataclass(frozen=True)
class History:
    """The evaluations of a training. The weights of ``best`` were restored."""

    evaluations: tuple[DevScore, ...]
    best: DevScore | None
    steps: int


def train(
    model: nn.Module,
    examples: Sequence[Example],
    loss_of: Callable[[Sequence[Any]], Tensor],
    plan: TrainingPlan,
    *,
    seed: int,
    draw: Callable[[Example, int, int], Any] | None = None,
    evaluate: Callable[[], float] | None = None,
    is_new: Callable[[str], bool] = lambda name: False,
    progress: Progress | None = None,
    folder: Path | None = None,
    fingerprint: Mapping[str, Any] | None = None,
) -> History:
    """Train a model in place and restore the weights of its best evaluation.

    Args:
        examples: Training examples, shuffled in every epoch as a function of the seed.
        loss_of: Returns the mean loss of a batch of examples, or of the results of ``draw``. Runs under autocast.
        draw: Turns an example, given its index and the epoch from 0, into a training input, e.g. with new masks.
            Randomness must depend on these numbers alone.
        evaluate: Returns a score; higher is better. None keeps the last weights.
        is_new: Returns whether a parameter of that name was not pretrained.
        folder: Folder for the checkpoint of this training alone. The same call resumes the training, or loads the
            weights if it has ended. The caller removes the folder. None writes no checkpoint.
        fingerprint: What the result depends on besides plan and seed, as JSON values. A folder with another fingerprint
            is refused.

    Raises:
        DataError: If there are no examples.
        SettingsError: If the loss is not finite, or the folder belongs to another training.
        NerseryError: If the checkpoint cannot be read.
        OSError: If the disk is full.
    """
    if not examples:
        raise DataError("there is no example to train on", fix="give at least one")
    device = next(model.parameters()).device
    depends_on = {
        **(fingerprint or {}),
        "nersery": __version__,
        "environment": environment(device, plan.precision),
        "plan": asdict(plan),
        "seed": seed,
        "examples": len(examples),
        "weights": {name: list(tensor.shape) for name, tensor in weights_of(model).items()},
    }
    with kept_memory(), fixed_order(device), open_checkpoint(folder, depends_on) as checkpoint:
        training = _Training(model, _optimizer(model, plan, is_new), plan, len(examples), device)
        if checkpoint is not None:
            checkpoint.load(training.load_state)
        if progress is not None:
            training.start(progress)
        if not training.finished:
            batches = islice(_batches(len(examples), plan.batch_size, seed), training.step, training.total)
            drawn = ([draw(examples[i], i, epoch) if draw else examples[i] for i in part] for epoch, part in batches)
            training.run(drawn, loss_of, evaluate, progress, checkpoint)
        model.eval()
        history = History(tuple(training.evaluations), training.best, training.step)
        del training
    return history


@dataclass
class _Training:
    """A running training. All of its mutable state is in the checkpoint."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    plan: TrainingPlan
    examples: int
    device: torch.device
    step: int = 0
    losses: list[Tensor] = field(default_factory=list)
    """Losses since the last evaluation."""
    evaluations: list[DevScore] = field(default_factory=list)
    best: DevScore | None = None
    best_weights: Tensors = field(default_factory=dict)
    finished: bool = False
    started: float = field(default_factory=time.monotonic)
    """The time at which the training began. When it resumes, this time is moved back by the seconds already spent."""

    @property
    def note(self) -> str:
        score = self.best.score if self.best else None
        if score is None:
            return ""
        return f"dev {score:.3f}" if score >= 0 else f"dev loss {-score:.3f}"

    @property
    def total(self) -> int:
        """The number of all steps, unless patience ends the training earlier."""
        return self.plan.total_steps(self.examples)

    def start(self, progress: Progress) -> None:
        """Add the steps to the total, and the steps of an earlier call to those that are done."""
        progress.total = (progress.total or 0) + self.total
        if self.step:
            progress.advance(self.step, resumed=True, note=self.note)

    def run(
        self,
        batches: Iterable[Sequence[Any]],
        loss_of: Callable[[Sequence[Any]], Tensor],
        evaluate: Callable[[], float] | None,
        progress: Progress | None,
        checkpoint: Checkpoint | None,
    ) -> None:
        """Take the remaining steps and restore the best weights."""
        every = self.plan.evaluation_steps(self.examples)
        self.model.train()
        for batch in batches:
            self._take_step(loss_of, batch)
            if progress is not None:
                progress.advance(note=self.note)
            if (self.step % every == 0 or self.step == self.total) and self._evaluate(evaluate):
                break
            if checkpoint is not None and checkpoint.is_due:
                checkpoint.save(self._facts(), self._parts())
        if self.best is not None and self.best is not self.evaluations[-1]:
            load_weights(self.model, self.best_weights)
        self.finished = True
        if checkpoint is not None:
            checkpoint.save(self._facts(), self._parts())

    def _take_step(self, loss_of: Callable[[Sequence[Any]], Tensor], batch: Sequence[Any]) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = group["highest_rate"] * _rate(self.step, self.total, self.plan)
        # Per step, because autocast caches cast weights, and training changes them.
        with autocast(self.device, self.plan.precision):
            loss = loss_of(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        take_clipped_step(self.optimizer, self.plan.clip)
        self.losses.append(loss.detach())
        self.step += 1

    def _evaluate(self, evaluate: Callable[[], float] | None) -> bool:
        """Evaluate, copy the weights if they are the best so far, and return whether to stop early."""
        mean_loss = _mean_loss(self.losses, self.step)
        self.losses.clear()
        if evaluate is None:
            return False
        self.model.eval()
        self.evaluations.append(DevScore(self.step, round(mean_loss, 4), evaluate()))
        self.model.train()
        if self.best is None or self.evaluations[-1].score > self.best.score:
            self.best = self.evaluations[-1]
            self.best_weights = {name: tensor.clone() for name, tensor in weights_of(self.model).items()}
            return False
        without_gain = len(self.evaluations) - 1 - self.evaluations.index(self.best)
        return self.plan.patience is not None and without_gain >= self.plan.patience

    def _facts(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "finished": self.finished,
            "evaluations": [asdict(evaluation) for evaluation in self.evaluations],
            "best": self.best.step if self.best else None,
            "seconds": time.monotonic() - self.started,
        }

    def _parts(self) -> dict[str, Tensors]:
        if self.finished:
            return {f"final-{self.step}": snapshot(self.model, None, self.device)}
        now = snapshot(self.model, self.optimizer, self.device)
        if self.losses:
            now["losses"] = torch.stack(self.losses)
        best = {f"best-{self.best.step}": self.best_weights} if self.best else {}
        return {f"step-{self.step}": now, **best}

    def load_state(self, facts: Mapping[str, Any], parts: Mapping[str, Tensors]) -> None:
        self.step, self.finished = facts["step"], facts["finished"]
        self.started -= facts.get("seconds", 0.0)
        self.evaluations = [DevScore(**evaluation) for evaluation in facts["evaluations"]]
        now = parts[f"{'final' if self.finished else 'step'}-{self.step}"]
        restore(now, self.model, self.optimizer, self.device)
        if "losses" in now:
            self.losses = list(now["losses"].to(self.device, copy=True))
        if facts["best"] is not None:
            self.best = next(evaluation for evaluation in self.evaluations if evaluation.step == facts["best"])
        if self.best is not None and not self.finished:
            weights = parts[f"best-{self.best.step}"]
            self.best_weights = {name: tensor.to(self.device, copy=True) for name, tensor in weights.items()}


def _mean_loss(losses: list[Tensor], step: int) -> float:
    mean = float(torch.stack(losses).float().mean())
    if not math.isfinite(mean):
        raise SettingsError(
            f'the training loss is {mean} at step {step}. Use a lower learning_rate, or precision = "fp32"'
        )
    return mean


def _batches(examples: int, batch_size: int, seed: int) -> Iterator[tuple[int, list[int]]]:
    """Yield the epoch and the indices of the examples of each batch, without end, as a function of the seed."""
    generator = torch.Generator().manual_seed(seed)
    for number in count():
        order = torch.randperm(examples, generator=generator).tolist()
        for start in range(0, examples, batch_size):
            yield number, order[start : start + batch_size]


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
            "highest_rate": (plan.head_learning_rate if new else None) or plan.learning_rate,
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


def take_clipped_step(optimizer: torch.optim.Optimizer, clip: float) -> None:
    """Take a step with gradients scaled down to a norm of at most ``clip``, and then remove the gradients.

    The optimizer scales the gradients when it reads them, which saves a pass over all of them.
    """
    gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    optimizer.grad_scale = ((nn.utils.get_total_norm(gradients) + 1e-6) / clip).clamp(min=1.0)  # type: ignore[attr-defined]
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's global random state (dropout, new heads) and restore the previous one. Other threads wait."""
    devices = range(torch.cuda.device_count())
    with GLOBAL_STATE_LOCK, torch.random.fork_rng(devices), set_in_context(SEEDED, True):
        torch.manual_seed(seed)
        yield
