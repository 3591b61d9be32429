"""The network of a recurrent tagger."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nersery.taggers.components.crf import ConditionalRandomField
from nersery.taggers.components.tag_set import TagSet
from nersery.taggers.components.word_features import FIRST, PAD, UNKNOWN, KnownWords


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


@dataclass(frozen=True)
class Sizes:
    """How many numbers stand for what.

    Args:
        word: A word by its id.
        character: A character.
        spelling: A word by its characters, half of them from each end.
        hidden: A word in its sentence, from each direction.
    """

    word: int
    character: int
    spelling: int
    hidden: int


class RecurrentNetwork(nn.Module):
    """Word ids and spellings, a BiLSTM over them, and a CRF on top.

    Args:
        dropout: Of what goes into the BiLSTM and what comes out of it, in [0, 1).
        word_dropout: How often training shows a word as an unknown one, in [0, 1).
    """

    def __init__(self, lexicon: KnownWords, tags: TagSet, sizes: Sizes, dropout: float, word_dropout: float) -> None:
        super().__init__()
        self.word = nn.Embedding(FIRST + len(lexicon.words), sizes.word, padding_idx=PAD)
        self.character = nn.Embedding(FIRST + len(lexicon.characters), sizes.character, padding_idx=PAD)
        self.spelling = BiLSTM(sizes.character, sizes.spelling // 2)
        self.before = nn.Dropout(dropout)
        self.context = BiLSTM(sizes.word + self.spelling.size, sizes.hidden)
        self.after = nn.Dropout(dropout)
        self.output = nn.Linear(self.context.size, len(tags.names))
        self.crf = ConditionalRandomField(tags)
        self.word_dropout = word_dropout

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.output.weight.device

    @torch.no_grad()
    def take_over(self, other: RecurrentNetwork) -> None:
        """The weights of a network whose words and characters have the same ids here, before those that are new."""
        earlier = other.state_dict()
        for name, weights in self.state_dict().items():
            weights[: len(earlier[name])] = earlier[name]

    def spell(self, spellings: Tensor, lengths: Tensor) -> Tensor:
        """Words by their characters.

        Args:
            spellings: Shape: (words, characters).
            lengths: Shape: (words,).

        Returns:
            Shape: (words, numbers of a spelling).
        """
        return self.spelling.ends(self.character(spellings), lengths)

    def forward(self, ids: Tensor, vectors: Tensor, spelled: Tensor, lengths: Tensor) -> Tensor:
        """Scores of each tag at each word.

        Args:
            ids: Of words. Shape: (rows, words).
            vectors: What the user's vectors add to them. Shape: (rows, words, numbers of a word), or 0 for the last.
            spelled: Shape: (rows, words, numbers of a spelling).
            lengths: In words. Shape: (rows,).

        Returns:
            Shape: (rows, words, tags).
        """
        if self.training and self.word_dropout:
            ids = ids.masked_fill(torch.rand(ids.shape, device=ids.device) < self.word_dropout, UNKNOWN)
        words = self.word(ids)
        if vectors.shape[2]:
            words = words + vectors
        states = self.context(self.before(torch.cat([words, spelled], dim=2)), lengths)
        return self.output(self.after(states))
