from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from nersery.models.training import cross_entropy
from nersery.models.training.cross_entropy import mean_cross_entropy


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("block", [1, 60, 1 << 20])
def test_equals_the_mean_of_torch(dtype: torch.dtype, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_entropy, "BLOCK", block)
    generator = torch.Generator().manual_seed(0)
    scores = (4 * torch.randn(7, 20, generator=generator)).to(dtype).requires_grad_()
    targets = torch.randint(20, (7,), generator=generator)
    found = mean_cross_entropy(scores, targets)
    (gradient,) = torch.autograd.grad(3 * found, scores)
    expected = functional.cross_entropy(scores.float(), targets)
    (wanted,) = torch.autograd.grad(3 * expected, scores)
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    assert gradient.dtype == dtype
    assert torch.allclose(gradient, wanted, rtol=1e-2 if dtype == torch.bfloat16 else 1e-5, atol=1e-7)
