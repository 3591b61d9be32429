from __future__ import annotations

import pytest
import torch

from nersery.models.training.deterministic import WORKSPACE, fixed_order


@pytest.mark.parametrize(("device", "expected"), [("cuda", True), ("cpu", False)])
def test_fixed_order_makes_sums_deterministic_on_a_gpu(
    device: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WORKSPACE, "as it was")  # and removed again afterwards
    monkeypatch.delenv(WORKSPACE)
    with fixed_order(torch.device(device)):
        assert torch.are_deterministic_algorithms_enabled() is expected
        assert torch.is_deterministic_algorithms_warn_only_enabled() is expected
    assert not torch.are_deterministic_algorithms_enabled()
