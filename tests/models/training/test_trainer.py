"""The training loop. Gradients are chosen so that each step shows the settings of the optimizer."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nersery.core.errors import DataError, SettingsError
from nersery.core.progress import Progress
from nersery.models.training.trainer import DevScore, History, TrainingPlan, seeded, take_clipped_step, train

PLAN = TrainingPlan(
    steps=10,
    epochs=None,
    evaluate_every=None,
    patience=None,
    batch_size=4,
    learning_rate=0.5,
    head_learning_rate=None,
    warmup=0.0,
    weight_decay=0.1,
    clip=1e9,
    optimizer="sgd",
    schedule="constant",
    precision="fp32",
)


class Tiny(nn.Module):
    """A weight, a bias and a norm in a body and in a head."""

    def __init__(self) -> None:
        super().__init__()
        for part in ("body", "head"):
            layers = nn.ModuleDict({"linear": nn.Linear(2, 2), "norm": nn.LayerNorm(2)})
            self.add_module(part, layers)
        for parameter in self.parameters():
            nn.init.ones_(parameter)

    def values(self) -> dict[str, float]:
        """The first number of every parameter."""
        return {name: float(parameter.detach().flatten()[0]) for name, parameter in self.named_parameters()}


def total(model: nn.Module, factor: float = 1.0) -> Tensor:
    """A loss whose gradient is the factor everywhere."""
    return factor * torch.stack([parameter.sum() for parameter in model.parameters()]).sum()


def run(
    model: nn.Module | None = None,
    loss_of: Callable[[Sequence[Any]], Tensor] | None = None,
    examples: Sequence[Any] = tuple(range(10)),
    **settings: Any,
) -> History:
    """A training; settings that are not fields of a plan are arguments of `train`."""
    model = model or Tiny()
    names = {field.name for field in dataclasses.fields(TrainingPlan)}
    plan = dataclasses.replace(PLAN, **{key: value for key, value in settings.items() if key in names})
    rest = {key: value for key, value in settings.items() if key not in names}
    return train(model, examples, loss_of or (lambda batch: total(model)), plan, **{"seed": 0, **rest})


def rates(**settings: Any) -> dict[str, list[float]]:
    """The rate of each parameter in each step: its change under a gradient of one."""
    model = Tiny()
    seen = []

    def loss_of(batch: Sequence[Any]) -> Tensor:
        seen.append(model.values())
        return total(model)

    run(model, loss_of, **settings)
    seen.append(model.values())
    return {name: [seen[i][name] - seen[i + 1][name] for i in range(len(seen) - 1)] for name in seen[0]}


class TestPlan:
    @pytest.mark.parametrize(
        ("steps", "epochs", "every", "examples", "expected"),
        [
            (None, 3, None, 9, (9, 3, 3)),
            (None, 3, None, 8, (6, 2, 2)),
            (None, None, None, 8, (2, 2, 2)),
            (7, None, None, 8, (7, 2, 2)),
            (100, None, None, 8, (100, 2, 10)),
            (101, None, None, 8, (101, 2, 11)),
            (100, None, None, 80, (100, 20, 20)),
            (100, None, 3, 80, (100, 20, 3)),
            (None, 2, 7, 3, (2, 1, 7)),
        ],
    )
    def test_computes_total_epoch_and_evaluation_steps(self, steps, epochs, every, examples, expected):
        plan = dataclasses.replace(PLAN, steps=steps, epochs=epochs, evaluate_every=every)
        assert (plan.total_steps(examples), plan.epoch_steps(examples), plan.evaluation_steps(examples)) == expected

    def test_the_loop_follows_the_plan(self):
        seen = []
        history = run(
            loss_of=lambda batch: (seen.append(len(batch)), torch.zeros((), requires_grad=True))[1],
            examples=range(9),
            steps=None,
            epochs=2,
            evaluate_every=4,
            evaluate=lambda: float(len(seen)),
        )
        assert seen == [4, 4, 1, 4, 4, 1]
        assert [evaluation.step for evaluation in history.evaluations] == [4, 6]
        assert history.steps == 6


class TestRates:
    @pytest.mark.parametrize(
        ("schedule", "warmup", "expected"),
        [
            ("constant", 0.0, [1] * 10),
            ("linear", 0.0, [1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]),
            ("constant", 0.4, [1 / 5, 2 / 5, 3 / 5, 4 / 5, 1, 1, 1, 1, 1, 1]),
            ("linear", 0.4, [1 / 5, 2 / 5, 3 / 5, 4 / 5, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6]),
            ("linear", 0.25, [2 / 7, 4 / 7, 6 / 7, 7 / 7.5, 6 / 7.5, 5 / 7.5, 4 / 7.5, 3 / 7.5, 2 / 7.5, 1 / 7.5]),
            ("linear", 1.0, [step / 11 for step in range(1, 11)]),
        ],
    )
    def test_each_step_has_the_scheduled_rate(self, schedule: str, warmup: float, expected: list[float]):
        for rate in rates(schedule=schedule, warmup=warmup).values():
            assert rate == pytest.approx([0.5 * factor for factor in expected], rel=1e-4)

    @pytest.mark.parametrize("head_rate", [None, 0.25])
    def test_new_parameters_have_their_own_rate(self, head_rate: float | None):
        found = rates(head_learning_rate=head_rate, is_new=lambda name: name.startswith("head."), steps=2)
        assert len(found) == 8
        for name, rate in found.items():
            expected = 0.25 if name.startswith("head.") and head_rate else 0.5
            assert rate == pytest.approx([expected, expected])

    def test_the_head_rate_is_not_used_without_new_parameters(self):
        assert {rate for found in rates(head_learning_rate=0.25, steps=1).values() for rate in found} == {0.5}


class TestOptimizer:
    @pytest.mark.parametrize("optimizer", ["adamw", "adam", "sgd"])
    def test_only_adamw_decays_and_only_weights(self, optimizer: str):
        model = Tiny()
        run(model, lambda batch: total(model, 0.0), optimizer=optimizer, steps=2)
        for name, value in model.values().items():
            decays = optimizer == "adamw" and name.endswith("linear.weight")
            assert value == pytest.approx((1 - 0.5 * 0.1) ** 2 if decays else 1.0), name

    @pytest.mark.parametrize(
        ("optimizer", "reference"),
        [
            ("adamw", lambda parameters: torch.optim.AdamW(parameters, lr=0.5, weight_decay=0.1)),
            ("adam", lambda parameters: torch.optim.Adam(parameters, lr=0.5)),
            ("sgd", lambda parameters: torch.optim.SGD(parameters, lr=0.5)),
        ],
    )
    def test_steps_equal_those_of_the_named_torch_optimizer(
        self, optimizer: str, reference: Callable[..., torch.optim.Optimizer]
    ):
        weights = []
        for by_hand in (False, True):
            torch.manual_seed(0)
            model = nn.Linear(3, 2, bias=False)

            def loss_of(batch: Sequence[Any], model: nn.Module = model) -> Tensor:
                return (model(torch.arange(12.0).view(4, 3)) - 1).square().mean()

            if by_hand:
                own = reference(model.parameters())
                for _ in range(5):
                    own.zero_grad()
                    loss_of([]).backward()
                    own.step()
            else:
                run(model, loss_of, optimizer=optimizer, steps=5)
            weights.append(model.weight.detach())
        torch.testing.assert_close(*weights)

    def test_clips_only_long_gradients(self):
        norm = 20**0.5  # of a gradient of ones
        cut, whole = (rates(clip=clip, steps=1)["body.norm.bias"] for clip in (0.5 * norm, 2 * norm))
        assert cut == pytest.approx([0.25], rel=1e-4)
        assert whole == pytest.approx([0.5])

    def test_frozen_parameters_do_not_change(self):
        model = Tiny()
        model.get_submodule("body").requires_grad_(False)
        run(model, lambda batch: total(model.get_submodule("head")), optimizer="adamw")
        assert {name: value == 1 for name, value in model.values().items()} == {
            name: name.startswith("body.") for name in model.values()
        }


class TestBest:
    SCORES = (0.1, 0.9, 0.2, 0.3, 0.4)

    @staticmethod
    def evaluated(scores: Sequence[float], **settings: Any) -> tuple[History, float, list[float]]:
        """The history, the final value of a weight, and its value at each evaluation."""
        model, seen = Tiny(), []

        def evaluate() -> float:
            assert not model.training
            seen.append(model.values()["body.linear.bias"])
            return scores[len(seen) - 1]

        def loss_of(batch: Sequence[Any]) -> Tensor:
            assert model.training
            return total(model)

        history = run(model, loss_of, evaluate=evaluate, evaluate_every=2, **settings)
        assert not model.training
        return history, model.values()["body.linear.bias"], seen

    def test_restores_the_best_weights(self):
        history, kept, seen = self.evaluated(self.SCORES)
        assert kept == seen[1] != seen[-1]
        assert history.best == history.evaluations[1] == DevScore(4, history.evaluations[1].loss, 0.9)
        assert history.steps == 10

    def test_keeps_the_last_weights_if_they_are_best(self):
        history, kept, seen = self.evaluated((0.1, 0.2, 0.3, 0.4, 0.5))
        assert kept == seen[-1]
        assert history.best is history.evaluations[-1]

    def test_the_first_of_equal_scores_is_best(self):
        assert self.evaluated((0.1, 0.9, 0.9, 0.9, 0.9))[1] == self.evaluated(self.SCORES)[2][1]

    @pytest.mark.parametrize(("patience", "steps"), [(1, 6), (2, 8), (3, 10), (None, 10)])
    def test_stops_after_patience_evaluations_without_improvement(self, patience: int | None, steps: int):
        history, kept, seen = self.evaluated(self.SCORES, patience=patience)
        assert history.steps == steps
        assert len(seen) == steps // 2
        assert kept == seen[1]

    def test_keeps_the_last_weights_without_evaluation(self):
        model = Tiny()
        assert run(model, evaluate_every=2) == History((), None, 10)
        assert model.values()["body.linear.bias"] == 1 - 10 * 0.5

    def test_the_loss_is_the_mean_since_the_last_evaluation(self):
        losses = iter([1.0, 2.0, 3.0, 5.0, 7.0])
        history = run(
            loss_of=lambda batch: torch.tensor(next(losses), requires_grad=True),
            evaluate=lambda: 0.0,
            evaluate_every=2,
            steps=5,
        )
        assert [evaluation.loss for evaluation in history.evaluations] == [1.5, 4.0, 7.0]


class TestOrder:
    @staticmethod
    def batches(seed: int, **settings: Any) -> list[list[int]]:
        seen: list[list[int]] = []
        run(
            loss_of=lambda batch: (seen.append(list(batch)), torch.zeros((), requires_grad=True))[1],
            seed=seed,
            **{"steps": None, "epochs": 2, **settings},
        )
        return seen

    def test_each_pass_has_every_example_once_in_its_own_order(self):
        seen = self.batches(0)
        assert [len(batch) for batch in seen] == [4, 4, 2] * 2
        first, second = (list(chain(*part)) for part in (seen[:3], seen[3:]))
        assert sorted(first) == sorted(second) == list(range(10))
        assert first != second

    def test_the_order_depends_only_on_the_seed(self):
        torch.manual_seed(1)
        first = self.batches(0)
        torch.manual_seed(2)
        assert self.batches(0) == first
        assert self.batches(1) != first

    def test_draw_gets_the_index_and_the_pass_of_an_example(self):
        examples = [f"x{number}" for number in range(10)]
        plain = self.batches(0, examples=examples)
        drawn = self.batches(0, examples=examples, draw=lambda example, index, number: (example, index, number))
        assert [[example for example, _, _ in batch] for batch in drawn] == plain
        assert all(example == f"x{index}" for batch in drawn for example, index, _ in batch)
        assert [{number for _, _, number in batch} for batch in drawn] == [{0}] * 3 + [{1}] * 3


class TestLimits:
    @pytest.mark.parametrize("bad", [float("nan"), float("inf")])
    def test_refuses_a_loss_that_is_not_finite(self, bad: float):
        losses = iter([1.0, 1.0, 1.0, bad, 1.0, 1.0])
        with pytest.raises(SettingsError, match=f"the training loss is {bad} at step 4. Use a lower learning_rate"):
            run(loss_of=lambda batch: torch.tensor(next(losses), requires_grad=True), evaluate_every=2)

    def test_refuses_no_examples(self):
        with pytest.raises(DataError, match="no example to train on"):
            run(examples=[])

    def test_progress_shows_steps_and_dev_score(self):
        progress = Progress("train", 10, quiet=True)
        run(progress=progress, evaluate=lambda: 0.25)
        assert (progress.done, progress.resumed, progress.note) == (10, 0, "dev 0.250")

    def test_seeded_sets_and_restores_the_random_state(self):
        torch.manual_seed(7)
        expected = torch.rand(3)
        torch.manual_seed(7)
        drawn = []
        for seed in (1, 1, 2):
            with seeded(seed):
                drawn.append(torch.rand(3))
        assert torch.equal(torch.rand(3), expected)
        assert torch.equal(drawn[0], drawn[1])
        assert not torch.equal(drawn[0], drawn[2])
        with pytest.raises(KeyError), seeded(1):
            raise KeyError

    def test_threads_have_separate_random_numbers(self) -> None:
        def drawn(seed: int) -> list[float]:
            with seeded(seed):
                return [(time.sleep(0.002), torch.rand(1).item())[1] for _ in range(5)]

        with ThreadPoolExecutor(3) as pool:
            assert [*pool.map(drawn, range(3))] == [*map(drawn, range(3))]


@pytest.mark.parametrize("kind", [torch.optim.AdamW, torch.optim.Adam, torch.optim.SGD])
@pytest.mark.parametrize("clip", [0.1, 1e9])
def test_the_optimizer_scales_gradients_as_clipping_does(kind: type[torch.optim.Optimizer], clip: float) -> None:
    ours, theirs = Tiny(), Tiny()
    for model in (ours, theirs):
        optimizer = kind(model.parameters(), lr=0.1, fused=True)  # type: ignore[call-arg]
        for factor in (3.0, -1.0):
            total(model, factor).backward()  # type: ignore[no-untyped-call]
            if model is ours:
                take_clipped_step(optimizer, clip)
            else:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
                optimizer.step()
                optimizer.zero_grad()
        assert all(parameter.grad is None for parameter in model.parameters())
    assert ours.values() == pytest.approx(theirs.values(), rel=1e-6)
