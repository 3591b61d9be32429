"""Training on a GPU with a fixed order of sums. Equal seeds then give equal bytes, also if a training is resumed."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator
from typing import Any

import torch

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
"""The environment variable that fixes the workspace. Without it, the GPU's matrix products may change their order."""


@contextlib.contextmanager
def fixed_order(device: torch.device) -> Iterator[None]:
    """Make a GPU use algorithms that add numbers in the same order each time, within the context. A CPU always does.

    If there is no such algorithm, the usual one runs.
    """
    if device.type != "cuda":
        yield
        return
    os.environ.setdefault(WORKSPACE, ":4096:8")
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    memory: Any = torch.utils.deterministic
    filled = memory.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    memory.fill_uninitialized_memory = False  # it finds bugs, but takes time
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*deterministic", category=UserWarning)
            yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        memory.fill_uninitialized_memory = filled
