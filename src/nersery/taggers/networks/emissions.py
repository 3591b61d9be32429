"""Compute the scores of the tags at each word of sentences, in forward passes of fixed shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from nersery.core.progress import Progress
from nersery.models.passes import PassShape, window_passes, windows_at_once
from nersery.models.subwords.windows import Window

ScoreWindows = Callable[[Sequence[Window], PassShape], Tensor]
"""A function that scores windows in a pass of the given shape. Shape: (passes, rows, words, tags); there may be more
rows and words than the windows have."""
LENGTH_MULTIPLE = 4
MAX_LENGTH = 512
"""The subwords per row for which a forward pass has room. Longer windows, or Monte Carlo passes, get fewer rows."""


def emissions(
    windows: Sequence[Sequence[Window]],
    score: ScoreWindows,
    *,
    passes: int = 1,
    packed: bool = False,
    device: torch.device,
    progress: Progress | None = None,
) -> list[Tensor]:
    """The scores of each tag at each word, taken from the window that has the word in its core.

    Args:
        windows: The windows of each sentence.
        passes: Monte Carlo passes over each window.
        device: Device of the network; it determines how many windows are scored at once.
        packed: Score windows packed into rows; see `nersery.models.packed.packed_encoder.packed_rows`.
        progress: Counts windows.

    Returns:
        The scores of each sentence. Shape: (words, passes, tags).
    """
    flat = [(number, window) for number, windows_of_sentence in enumerate(windows) for window in windows_of_sentence]
    parts: list[dict[int, Tensor]] = [{} for _ in windows]
    max_windows = windows_at_once(device)
    shaped_passes = window_passes(
        flat,
        lambda length: min(max_windows, max_windows * MAX_LENGTH // (length * passes)),
        LENGTH_MULTIPLE,
        packed=packed,
    )
    for numbers, part, shape in shaped_passes:
        scores = score(part, shape).float().cpu()
        for row, (number, window) in enumerate(zip(numbers, part, strict=True)):
            start, end = window.core
            parts[number][start] = scores[:, row, start - window.start : end - window.start].transpose(0, 1)
        if progress is not None:
            progress.advance(len(part))
    return [torch.cat([part[start] for start in sorted(part)]) for part in parts]
