"""What the results of a model depend on besides its settings: precision, threads and processor."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator
from pathlib import Path

import torch

from nersery.core.settings.typed_settings import Precision
from nersery.core.system.process_settings import THREADS
from nersery.models.pretrained.loading import PRECISION, pick_device, resolve_precision

ANY = "any, on a GPU"


def environment(device: torch.device, precision: Precision = "auto", threads: int | None = None) -> dict[str, str]:
    """The precision and threads that an unfinished job or training must resume with, by the variable that sets each.

    With another number of threads, sums differ in their last digits, and soon a model writes other words.

    Args:
        threads: None takes the number of this process. It does not matter on a GPU.
    """
    used = ANY if device.type == "cuda" else str(threads or torch.get_num_threads())
    return {PRECISION: resolve_precision(precision, device), THREADS: used}


def computer(threads: int | None = None) -> dict[str, str]:
    """Processor, precision and threads, for the record of a run.

    Args:
        threads: None takes the number of this process.
    """
    device = pick_device("auto")
    facts = environment(device, threads=threads)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else _processor()
    return {"processor": name, "precision": facts[PRECISION], "threads": facts[THREADS]}


@contextlib.contextmanager
def using_threads(threads: int | None) -> Iterator[None]:
    """Set the number of threads of this process within the context. None leaves it unchanged."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads or before)
        yield
    finally:
        torch.set_num_threads(before)


def _processor() -> str:
    """The model of the processor, or its architecture if the system does not report the model."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()
