"""The state of PyTorch that belongs to the user's program: calls neither change it nor depend on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from threading import Lock

SEEDED: ContextVar[bool] = ContextVar("SEEDED", default=False)
"""Whether a training has seeded the random state. At its end, the training restores the user's state."""

AUTOCAST_DEVICES = ("cpu", "cuda", "hpu", "mps", "mtia", "xla", "xpu")
"""The types of devices on which a user may have enabled autocast."""


@contextmanager
def kept_random_state() -> Iterator[None]:
    """Keep the user's random state within the context, even if loading a model draws weights that its file lacks.

    Within a training nothing is kept: the training continues from the state after these draws.
    """
    import torch

    with nullcontext() if SEEDED.get() else torch.random.fork_rng(()):  # weights are made on the CPU
        yield


@contextmanager
def torch_defaults() -> Iterator[None]:
    """Give PyTorch the defaults that models are written for, such as fp32 and gradients, within the context.

    This is also a decorator. It does not import PyTorch: before the first import, nobody has changed the defaults.
    """
    if "torch" not in sys.modules:
        yield
        return
    import torch

    with ExitStack() as state:
        state.enter_context(torch.inference_mode(False))
        state.enter_context(torch.enable_grad())
        for kind in AUTOCAST_DEVICES:
            if torch.is_autocast_enabled(kind):
                # Within the user's autocast, a cache would keep the cast weights of the first step.
                state.enter_context(torch.autocast(kind, enabled=False, cache_enabled=False))
        if torch.get_default_device().type != "cpu":
            state.enter_context(torch.device("cpu"))
        state.enter_context(_FP32.changed())
        yield


class SharedSetting:
    """A setting of the whole process that several threads change at once. The first thread to enter changes it, and
    the last thread to leave restores it.

    Args:
        change: Changes the setting and returns a function that restores it.
    """

    def __init__(self, change: Callable[[], Callable[[], None]]) -> None:
        self._change, self._lock, self._users = change, Lock(), 0
        self._restore: Callable[[], None]

    @contextmanager
    def changed(self) -> Iterator[None]:
        """Change the setting within the context."""
        with self._lock:
            if not self._users:
                self._restore = self._change()
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._restore()


def _to_fp32() -> Callable[[], None]:
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    return lambda: torch.set_default_dtype(before)


_FP32 = SharedSetting(_to_fp32)
