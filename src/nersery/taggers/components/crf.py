"""A linear-chain conditional random field over tags, vectorised over the batch.

Reference: Lafferty, McCallum and Pereira 2001, "Conditional Random Fields".
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

FORBIDDEN = -1e4
"""The score of a transition that a tag scheme forbids; finite, so that bf16 and gradients stay sound."""


def viterbi(emissions: Tensor, mask: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """The best tag sequence of each row.

    Args:
        emissions: Shape: (batch, words, tags).
        mask: Whether there is a word; true first, then false. Shape: (batch, words).
        transitions: From row tag to column tag. Shape: (tags, tags).
        start: Score of each tag at the first word. Shape: (tags,).
        end: Score of each tag at the last word. Shape: (tags,).

    Returns:
        Tag indices, 0 behind the last word. Shape: (batch, words).
    """
    batch, words, _ = emissions.shape
    score = start + emissions[:, 0]
    history = []
    for position in range(1, words):
        best, origin = (score.unsqueeze(2) + transitions).max(dim=1)
        here = mask[:, position].unsqueeze(1)
        history.append(torch.where(here, origin, torch.arange(score.shape[1], device=score.device)))
        score = torch.where(here, best + emissions[:, position], score)
    tags = emissions.new_zeros(batch, words, dtype=torch.long)
    current = (score + end).argmax(dim=1)
    for position in range(words - 1, -1, -1):
        tags[:, position] = current
        if position:
            current = history[position - 1].gather(1, current.unsqueeze(1)).squeeze(1)
    return tags * mask


def marginals(emissions: Tensor, mask: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """The probability of each tag at each word, over all sequences: forward times backward.

    Args:
        emissions: Shape: (batch, words, tags).
        mask: Shape: (batch, words).
        transitions: Shape: (tags, tags).
        start: Shape: (tags,) or (batch, tags).
        end: Shape: (tags,) or (batch, tags).

    Returns:
        Sums to 1 over the tags; without meaning behind the last word. Shape: (batch, words, tags).
    """
    words = emissions.shape[1]
    forward = [start + emissions[:, 0]]
    for position in range(1, words):
        following = torch.logsumexp(forward[-1].unsqueeze(2) + transitions, dim=1)
        here = mask[:, position].unsqueeze(1)
        forward.append(torch.where(here, following + emissions[:, position], forward[-1]))
    backward = [end.expand_as(forward[0])]
    for position in range(words - 2, -1, -1):
        ahead = (emissions[:, position + 1] + backward[-1]).unsqueeze(1)
        before = torch.logsumexp(transitions + ahead, dim=2)
        backward.append(torch.where(mask[:, position + 1].unsqueeze(1), before, end))
    return (torch.stack(forward, 1) + torch.stack(backward[::-1], 1)).softmax(dim=2)


class ConditionalRandomField(nn.Module):
    """Scores of tag-to-tag transitions, learnt beside the emissions; forbidden ones are never taken.

    Args:
        allowed: Whether a tag may follow another. Shape: (tags, tags).
        allowed_start: Whether a sentence may begin with the tag. Shape: (tags,).
        allowed_end: Whether a sentence may end with the tag. Shape: (tags,).
    """

    def __init__(self, allowed: Tensor, allowed_start: Tensor, allowed_end: Tensor) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(allowed.shape))
        self.start = nn.Parameter(torch.zeros(allowed_start.shape))
        self.end = nn.Parameter(torch.zeros(allowed_end.shape))
        self.forbidden: Tensor
        self.forbidden_start: Tensor
        self.forbidden_end: Tensor
        self.register_buffer("forbidden", (~allowed) * FORBIDDEN, persistent=False)
        self.register_buffer("forbidden_start", (~allowed_start) * FORBIDDEN, persistent=False)
        self.register_buffer("forbidden_end", (~allowed_end) * FORBIDDEN, persistent=False)

    def _scores(self) -> tuple[Tensor, Tensor, Tensor]:
        return (self.transitions + self.forbidden, self.start + self.forbidden_start, self.end + self.forbidden_end)

    def loss(self, emissions: Tensor, tags: Tensor, mask: Tensor, begins: Tensor, ends: Tensor) -> Tensor:
        """Negative log-likelihood of the tags, the mean over the words of the batch.

        Args:
            emissions: Shape: (batch, words, tags).
            tags: Any valid index behind the last word. Shape: (batch, words).
            mask: Shape: (batch, words).
            begins: Whether a row begins where its sentence does; a window that cuts an entity may begin inside it.
                Shape: (batch,).
            ends: Whether it ends where its sentence does. Shape: (batch,).
        """
        transitions, start, end = self._scores()
        start, end = start * begins.unsqueeze(1), end * ends.unsqueeze(1)
        emissions = emissions.float()
        partition = start + emissions[:, 0]
        for position in range(1, emissions.shape[1]):
            following = torch.logsumexp(partition.unsqueeze(2) + transitions, dim=1) + emissions[:, position]
            partition = torch.where(mask[:, position].unsqueeze(1), following, partition)
        last = tags.gather(1, mask.sum(1, keepdim=True) - 1).squeeze(1)
        path = start.gather(1, tags[:, :1]).squeeze(1) + end.gather(1, last.unsqueeze(1)).squeeze(1)
        path = path + (emissions.gather(2, tags.unsqueeze(2)).squeeze(2) * mask).sum(1)
        path = path + (transitions[tags[:, :-1], tags[:, 1:]] * mask[:, 1:]).sum(1)
        return (torch.logsumexp(partition + end, dim=1) - path).sum() / mask.sum()

    def decode(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The best legal tag sequences; see `viterbi`."""
        return viterbi(emissions.float(), mask, *self._scores())

    def marginals(self, emissions: Tensor, mask: Tensor, borders: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """The probability of each tag over all legal sequences; see `marginals`.

        Args:
            borders: Which rows begin and end where their sentences do, see `loss`; None: all.
        """
        transitions, start, end = self._scores()
        if borders is not None:
            start, end = start * borders[0].unsqueeze(1), end * borders[1].unsqueeze(1)
        return marginals(emissions.float(), mask, transitions, start, end)
