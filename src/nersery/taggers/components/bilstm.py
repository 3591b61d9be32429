"""A bidirectional LSTM whose results do not depend on padding."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class BiLSTM(nn.Module):
    """Two LSTMs, one of which reads each row from its last item to the first.

    Padding is behind them both, so that a row gets the same numbers whatever it is padded to.
    """

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.size = 2 * hidden
        self.forwards = nn.LSTM(size, hidden, batch_first=True)
        self.backwards = nn.LSTM(size, hidden, batch_first=True)

    def forward(self, items: Tensor, lengths: Tensor) -> Tensor:
        """The states at each item.

        Args:
            items: Shape: (rows, items, size).
            lengths: At least 1. Shape: (rows,).

        Returns:
            Shape: (rows, items, 2 * hidden).
        """
        forward_states, backward_states, order = self._states(items, lengths)
        return torch.cat([forward_states, _reordered(backward_states, order)], dim=2)

    def ends(self, items: Tensor, lengths: Tensor) -> Tensor:
        """The states when all of a row is read. Shape: (rows, 2 * hidden)."""
        forward_states, backward_states, _ = self._states(items, lengths)
        rows = torch.arange(len(lengths), device=lengths.device)
        return torch.cat([forward_states[rows, lengths - 1], backward_states[rows, lengths - 1]], dim=1)

    def _states(self, items: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The states from the first item on, from the last item on, and the order in which the latter stand."""
        positions = torch.arange(items.shape[1], device=items.device)
        last = lengths.unsqueeze(1) - 1
        order = torch.where(positions <= last, last - positions, positions)
        return self.forwards(items)[0], self.backwards(_reordered(items, order))[0], order


def _reordered(items: Tensor, order: Tensor) -> Tensor:
    return items.gather(1, order.unsqueeze(2).expand(-1, -1, items.shape[2]))
