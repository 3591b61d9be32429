"""Two transformer taggers that learn from the same batches and from each other; the first of them labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nersery.core.errors import SettingsError
from nersery.core.progress import Progress
from nersery.core.ranges import NotNegative
from nersery.core.sentence import Sentence
from nersery.taggers.components.decoding import Example, loss
from nersery.taggers.transformer import Head, TransformerTagger


@dataclass
class CoRegularizedTagger(TransformerTagger):
    """Two encoders that learn together and are drawn to their common opinion, so that wrong labels count less.

    A training step costs twice as much as that of `transformer`; the saved tagger is as large and as fast.

    Args:
        head: Only `linear`, because the encoders agree about the tag of each word.
        agreement: Weight of the agreement in the loss, 0 or more.

    Reference:
        Zhou and Chen (2021). Learning from Noisy Labels for Entity-Centric Information Extraction; ACLM (Ghosh et al.
        2023, Table 8) uses it with LUKE.

    Departures:
        - The weight of the agreement is constant. The paper trains without it at first.
    """

    head: Head = "linear"
    agreement: NotNegative = 5.0
    _peer: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        super().__post_init__()
        if self.head != "linear":
            raise SettingsError(f"head is {self.head}, expected linear: the encoders agree about the tag of each word")

    def fit(
        self,
        gold: Sequence[Sentence],
        dev: Sequence[Sentence] = (),
        *,
        seed: int = 0,
        progress: Progress | None = None,
        folder: Path | None = None,
        warm: bool = False,
    ) -> dict[str, Any]:
        """Train; see `Tagger.fit`."""
        try:
            return super().fit(gold, dev, seed=seed, progress=progress, folder=folder, warm=warm)
        finally:
            self._peer = None  # a second training starts as one after loading would

    def _learners(self, warm: bool) -> list[Any]:
        self._peer = self._new_network(self._tags).to(self._network.device)
        if warm:
            self._peer.load_state_dict(self._network.state_dict())
        return [self._network, self._peer]

    def _trained_parts(self) -> nn.Module:
        return nn.ModuleDict({"network": self._network, "peer": self._peer})

    def _loss(self, batch: Sequence[Example]) -> Tensor:
        windows = [window for window, *_ in batch]
        both = [self._scores(windows, network=network) for network in (self._network, self._peer)]
        task = torch.stack([loss(scores, mask, batch, None, self._tags) for scores, mask in both]).mean()
        return task + self.agreement * disagreement(*(scores[mask] for scores, mask in both))


def disagreement(ours: Tensor, theirs: Tensor) -> Tensor:
    """The divergence of two opinions from their mean, in nats; 0 if they are the same.

    Args:
        ours, theirs: Scores of tags. Shape: (words, tags).
    """
    logs = torch.stack([ours, theirs]).float().log_softmax(dim=-1)
    mean = logs.exp().mean(dim=0)
    divergence: Tensor = (torch.special.xlogy(mean, mean) - mean * logs).sum(dim=-1).mean()
    return divergence
