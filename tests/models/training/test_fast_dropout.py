from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from nersery.models.training.fast_dropout import STEPS, dropped


def masks(rate: float, count: int = 200_000, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    return dropped(nn.Dropout(rate), torch.ones(count, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rate", [0.05, 0.1, 0.5, 0.9])
def test_drops_elements_at_the_rate_and_scales_the_others(rate: float, dtype: torch.dtype) -> None:
    found = masks(rate, dtype=dtype).float()
    assert found.unique().tolist() == [0.0, pytest.approx(1 / (1 - rate), rel=1e-4 if dtype == torch.float32 else 4e-3)]
    spread = (rate * (1 - rate) / found.numel()) ** 0.5
    assert abs((found == 0).float().mean().item() - rate) < 4 * spread


def test_elements_are_dropped_independently() -> None:
    gone = (masks(0.3, 400_000) == 0).float() - 0.3
    for distance in (1, 2, 3, 4, 384):
        together = (gone[:-distance] * gone[distance:]).mean().item() / (0.3 * 0.7)
        assert abs(together) < 4 / 400_000**0.5, f"elements {distance} apart depend on each other"


def test_the_mask_follows_torchs_generator() -> None:
    assert torch.equal(masks(0.5, seed=4), masks(0.5, seed=4))
    assert not torch.equal(masks(0.5, seed=4), masks(0.5, seed=5))
    torch.manual_seed(4)
    first, second = (dropped(nn.Dropout(0.5), torch.ones(100)) for _ in range(2))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_have_the_same_mask_as_elements(dtype: torch.dtype) -> None:
    values = torch.ones(7, 11, 3, dtype=dtype, requires_grad=True)
    found = dropped(nn.Dropout(0.4), values)
    found.sum().backward()
    assert torch.equal(values.grad, found)  # type: ignore[arg-type]


@pytest.mark.parametrize("rate", [0.0, 1.0, 0.1 / STEPS])
def test_accepts_rates_of_zero_and_one(rate: float) -> None:
    assert masks(rate).unique().tolist() == [0.0 if rate == 1 else pytest.approx(1, abs=1e-5)]


def test_falls_back_to_torch_in_evaluation_and_for_other_data_types() -> None:
    values = torch.ones(1000)
    assert dropped(nn.Dropout(0.5).eval(), values) is values
    assert dropped(nn.Dropout(0.5), values.double()).unique().tolist() == [0.0, 2.0]
