"""A small LSTM language model over whole words, trained from scratch and sampled."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from nersery.core.batched import batched
from nersery.models.likelihoods.likelihood import Text
from nersery.models.pretrained.loading import pick_device
from nersery.models.tokens import TOKEN_PREFIX, UNKNOWN
from nersery.models.training.trainer import History, TrainingPlan, seeded, train

Row = tuple[int, ...]
"""Word ids of a text between `BEGIN` and `END`."""

PAD, BEGIN, END, RARE = range(4)
"""Ids that are not words of the vocabulary. `RARE` stands for every word outside it."""
FIRST_WORD = RARE + 1
ROWS = 32
"""Texts per sampling step. A fixed number makes each text independent of those sampled with it, to the last bit."""
CLIP = 5.0
MAX_WEIGHT = 0.1
"""Weights start as random numbers up to this size."""


class LSTMLanguageModel:
    """A one-layer LSTM that predicts each word of a text from those before it.

    Args:
        words: The vocabulary; all other words are `nersery.models.tokens.UNKNOWN`.
        embedding: Dimension of the word embeddings.
        hidden: Dimension of the hidden state of the LSTM.
        dropout: Dropout rate of the embeddings and of the LSTM's output in training, in [0, 1).
        seed: Seed of the initial weights.
    """

    def __init__(
        self, words: Sequence[str], *, embedding: int, hidden: int, dropout: float, seed: int = 0, device: str = "auto"
    ) -> None:
        self.words = tuple(words)
        self._ids = {word: number for number, word in enumerate(self.words, start=FIRST_WORD)}
        with seeded(seed):
            network = _Network(FIRST_WORD + len(self.words), embedding, hidden, dropout)
        self.network = network.to(pick_device(device)).eval()

    def fit(
        self, texts: Sequence[Text], plan: TrainingPlan, *, dev: Sequence[Text] = (), seed: int = 0, **keeping: Any
    ) -> History:
        """Train on texts; the loss of a step is the sum over its words and ends.

        Args:
            dev: Texts to choose the best weights by. Empty keeps the last weights.
            keeping: ``progress``, ``folder`` and ``fingerprint`` of `nersery.models.training.trainer.train`.
        """
        rows, dev_rows = ([self._row(text) for text in part] for part in (texts, dev))
        with seeded(seed):
            return train(
                self.network,
                rows,
                lambda batch: self._losses(batch).sum(),
                plan,
                seed=seed,
                evaluate=(lambda: -self._mean_loss(dev_rows, plan.batch_size)) if dev_rows else None,
                **keeping,
            )

    def _row(self, text: Text) -> Row:
        return (BEGIN, *(self._ids.get(word, RARE) for word in text), END)

    def _losses(self, rows: Sequence[Row]) -> Tensor:
        """The loss of each word and end of some texts. Shape: (words of all texts)."""
        tensors = [torch.tensor(row, device=self.network.device) for row in rows]
        padded = nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=PAD)
        logits, _ = self.network(padded[:, :-1])
        targets = padded[:, 1:]
        return nn.functional.cross_entropy(logits[targets != PAD], targets[targets != PAD], reduction="none")

    @torch.no_grad()
    def _mean_loss(self, rows: Sequence[Row], batch_size: int) -> float:
        return float(torch.cat([self._losses(part) for part in batched(rows, batch_size)]).mean())

    def sample(
        self, rngs: Sequence[random.Random], *, max_words: int, temperature: float = 1.0, starts: Sequence[Text] = ()
    ) -> list[tuple[str, ...] | None]:
        """A new text for each generator, sampled word by word from the whole distribution.

        Args:
            rngs: One for each text, the only source of randomness.
            max_words: A text that has not ended after this many words is None.
            temperature: Above 0; lower values favour probable words.
            starts: The beginning of each text. Empty lets all begin with any word.
        """
        texts: list[tuple[str, ...] | None] = []
        ids = [self._row(text)[1:-1] for text in starts or [()] * len(rngs)]
        for start in range(0, len(rngs), ROWS):
            end = start + ROWS
            rows = self._sampled(rngs[start:end], ids[start:end], max_words, temperature)
            for *words, last in rows:
                written = tuple(UNKNOWN if number == RARE else self.words[number - FIRST_WORD] for number in words)
                texts.append(written if last == END else None)
        return texts

    @torch.no_grad()
    def _sampled(
        self, rngs: Sequence[random.Random], starts: Sequence[Row], max_words: int, temperature: float
    ) -> list[list[int]]:
        """The ids of each text, `END` included if it has ended."""
        ids = torch.full((ROWS, 1), BEGIN, device=self.network.device)
        state = None
        rows: list[list[int]] = [[] for _ in rngs]
        for step in range(max_words + 1):
            scores, state = self.network(ids, state)
            scores = scores[:, -1] / temperature
            scores[:, [PAD, BEGIN]] = -torch.inf
            sums = scores.double().softmax(-1).cumsum(-1).cpu()
            for row, rng, start, probabilities in zip(rows, rngs, starts, sums, strict=False):
                if row[-1:] != [END]:
                    row.append(start[step] if step < len(start) else _sampled_index(probabilities, rng))
            if all(row[-1] == END for row in rows):
                break
            last = [row[-1] for row in rows] + [END] * (ROWS - len(rows))
            ids = torch.tensor(last, device=ids.device)[:, None]
        return rows


def _sampled_index(sums: Tensor, rng: random.Random) -> int:
    """An index drawn from a distribution, which is given as cumulative sums."""
    place = torch.searchsorted(sums, rng.random() * float(sums[-1]), right=True)
    return min(int(place), len(sums) - 1)


class _Network(nn.Module):
    def __init__(self, size: int, embedding: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(size, embedding)
        self.lstm = nn.LSTM(embedding, hidden, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden, size, bias=False)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -MAX_WEIGHT, MAX_WEIGHT)

    @property
    def device(self) -> torch.device:
        return self.output.weight.device

    def forward(self, ids: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Scores of the word after each position, and the state after the last. Shape: (texts, words, vocabulary)."""
        states, state = self.lstm(self.dropout(self.embedding(ids)), state)
        return self.output(self.dropout(states)), state


def training_plan(epochs: int, batch_size: int, learning_rate: float, patience: int | None = None) -> TrainingPlan:
    """A plan for gradient descent. Its steps have almost equal lengths, because gradients of summed loss are clipped.

    The rate falls linearly; DAGA's code halves it after each epoch without a gain on dev.

    Args:
        patience: Stop after this many epochs without a lower loss on dev.
    """
    return TrainingPlan(
        epochs=epochs,
        patience=patience,
        batch_size=batch_size,
        learning_rate=learning_rate,
        clip=CLIP,
        optimizer="sgd",
        schedule="linear",
        precision="fp32",
    )


def frequent(texts: Sequence[Text], min_count: int) -> list[str]:
    """Words that occur at least ``min_count`` times, and all that begin with `TOKEN_PREFIX`, sorted."""
    counts = Counter(word for text in texts for word in text)
    return sorted(word for word, count in counts.items() if count >= min_count or word.startswith(TOKEN_PREFIX))
