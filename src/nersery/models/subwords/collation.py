"""Windows as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nersery.models.subwords.windows import MAX_SUBWORDS, Window


class WindowBatch(NamedTuple):
    """Windows as tensors.

    Args:
        input_ids: Shape: (windows, subwords).
        attention_mask: 1 for a subword, 0 for padding. Shape: (windows, subwords).
        firsts: Position of each word's first subword, 0 after the last word. Shape: (windows, words).
        word_mask: Whether there is a word. Shape: (windows, words).
    """

    input_ids: Tensor
    attention_mask: Tensor
    firsts: Tensor
    word_mask: Tensor

    def to(self, device: torch.device) -> WindowBatch:
        """The batch on a device."""
        return WindowBatch(*(tensor.to(device) for tensor in self))


def collate(
    windows: Sequence[Window], pad: int, *, rows: int = 0, multiple: int = 1, longest: int = MAX_SUBWORDS
) -> WindowBatch:
    """Pad windows at the end and stack them.

    Args:
        rows: Add copies of the first window up to this many rows.
        multiple: Pad the length to a multiple of this.
        longest: The longest padded length.
    """
    windows = [*windows, *[windows[0]] * (rows - len(windows))]
    length = max(len(window.subwords) for window in windows)
    length = max(length, min(longest, length + -length % multiple))
    words = max(len(window.firsts) for window in windows)
    return WindowBatch(
        torch.tensor([window.subwords + (pad,) * (length - len(window.subwords)) for window in windows]),
        torch.tensor([(1,) * len(window.subwords) + (0,) * (length - len(window.subwords)) for window in windows]),
        torch.tensor([window.firsts + (0,) * (words - len(window.firsts)) for window in windows]),
        torch.tensor([(True,) * len(window.firsts) + (False,) * (words - len(window.firsts)) for window in windows]),
    )
