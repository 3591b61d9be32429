"""The network of a recurrent tagger."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nersery.taggers.networks.word_features import FIRST, PAD, UNKNOWN, KnownWords
from nersery.taggers.output_layer.crf import ConditionalRandomField
from nersery.taggers.output_layer.tag_set import TagSet


class BiLSTM(nn.Module):
    """Two LSTMs; one reads each row from the first item to the last, the other from the last to the first.

    Both read padding last, so the length of the padding does not change the numbers of a row.
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
            lengths: Items per row, at least 1. Shape: (rows,).

        Returns:
            Shape: (rows, items, 2 * hidden).
        """
        forward_states, backward_states, order = self._states(items, lengths)
        return torch.cat([forward_states, _reordered(backward_states, order)], dim=2)

    def ends(self, items: Tensor, lengths: Tensor) -> Tensor:
        """The states after each LSTM has read a whole row. Shape: (rows, 2 * hidden)."""
        forward_states, backward_states, _ = self._states(items, lengths)
        rows = torch.arange(len(lengths), device=lengths.device)
        return torch.cat([forward_states[rows, lengths - 1], backward_states[rows, lengths - 1]], dim=1)

    def _states(self, items: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The states of the forward LSTM, those of the backward LSTM, and the order of the latter."""
        positions = torch.arange(items.shape[1], device=items.device)
        last = lengths.unsqueeze(1) - 1
        order = torch.where(positions <= last, last - positions, positions)
        return self.forwards(items)[0], self.backwards(_reordered(items, order))[0], order


def _reordered(items: Tensor, order: Tensor) -> Tensor:
    return items.gather(1, order.unsqueeze(2).expand(-1, -1, items.shape[2]))


@dataclass(frozen=True)
class Sizes:
    """The dimensions of a network's representations.

    Args:
        word: Dimension of a word, by its id.
        character: Dimension of a character.
        spelling: Dimension of a word by its characters, half of it from each direction.
        hidden: Dimension of a word in its sentence, from each direction.
    """

    word: int
    character: int
    spelling: int
    hidden: int


class RecurrentNetwork(nn.Module):
    """A BiLSTM over word ids and spellings, with a CRF on top.

    Args:
        dropout: Dropout rate of the inputs and outputs of the BiLSTM, in [0, 1).
        word_dropout: Probability of showing a word as unknown in training, in [0, 1).
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
        """The device of the weights."""
        return self.output.weight.device

    @torch.no_grad()
    def take_over(self, other: RecurrentNetwork) -> None:
        """Copy the weights of a network. Its words and characters must have the same ids here; new ones come after."""
        earlier = other.state_dict()
        for name, weights in self.state_dict().items():
            weights[: len(earlier[name])] = earlier[name]

    def spell(self, spellings: Tensor, lengths: Tensor) -> Tensor:
        """The representations of words by their characters.

        Args:
            spellings: Shape: (words, characters).
            lengths: Shape: (words,).

        Returns:
            Shape: (words, dimension of a spelling).
        """
        return self.spelling.ends(self.character(spellings), lengths)

    def forward(self, ids: Tensor, vectors: Tensor, spelled: Tensor, lengths: Tensor) -> Tensor:
        """The scores of each tag at each word.

        Args:
            ids: Word ids. Shape: (rows, words).
            vectors: The user's vectors, added to the embeddings. Shape: (rows, words, dimension of a word), or 0 for
                the last if there are none.
            spelled: Representations by characters. Shape: (rows, words, dimension of a spelling).
            lengths: Words per row. Shape: (rows,).

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
