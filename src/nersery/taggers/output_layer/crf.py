"""A linear-chain conditional random field over tags, vectorised over the batch.

Reference: Lafferty, McCallum and Pereira 2001, "Conditional Random Fields".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from nersery.taggers.output_layer.tag_set import TagSet

FORBIDDEN = -1e4
"""The score of a transition that a tag scheme forbids; finite, so that bf16 numbers and gradients stay valid."""
IMPROBABLE = 1e-200
"""The smallest likelihood of a tag in `marginals`, relative to the best tag of its word."""


def viterbi(emissions: Tensor, mask: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """The best tag sequence of each row.

    Args:
        emissions: Shape: (batch, words, tags).
        mask: Whether there is a word at a position; words come first, then padding. Shape: (batch, words).
        transitions: Scores from the row's tag to the column's tag. Shape: (tags, tags).
        start: Score of each tag at the first word. Shape: (tags,).
        end: Score of each tag at the last word. Shape: (tags,).

    Returns:
        Tag indices; 0 after the last word. Shape: (batch, words).
    """
    batch, words, _ = emissions.shape
    score = start + emissions[:, 0]
    history = []
    for position in range(1, words):
        best, origin = (score.unsqueeze(2) + transitions).max(dim=1)
        is_word = mask[:, position].unsqueeze(1)
        history.append(torch.where(is_word, origin, torch.arange(score.shape[1], device=score.device)))
        score = torch.where(is_word, best + emissions[:, position], score)
    tags = emissions.new_zeros(batch, words, dtype=torch.long)
    current = (score + end).argmax(dim=1)
    for position in range(words - 1, -1, -1):
        tags[:, position] = current
        if position:
            current = history[position - 1].gather(1, current.unsqueeze(1)).squeeze(1)
    return tags * mask


def marginals(emissions: Tensor, mask: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """The probability of each tag at each word over all sequences, by the forward-backward algorithm.

    Forward and backward probabilities are scaled as in `log_partition`, so a word costs two small matrix products.

    Args:
        emissions: Shape: (batch, words, tags).
        mask: Shape: (batch, words).
        transitions: Shape: (tags, tags).
        start: Shape: (tags,) or (batch, tags).
        end: Shape: (tags,) or (batch, tags).

    Returns:
        Probabilities that sum to 1 over the tags; undefined after the last word. Shape: (batch, words, tags).
    """
    steps, word_masks = transitions.double().exp(), mask.unsqueeze(2).unbind(1)
    first, *others = emissions.double().unbind(1)
    # Clamped so that other sequences stay possible if a nearly certain tag is illegal.
    words = [(word - word.amax(1, keepdim=True)).exp().clamp_min(IMPROBABLE) for word in (first + start, *others)]
    last = end.double().expand_as(first)
    forward, backward = [_normalized(words[0])], [(last - last.amax(1, keepdim=True)).exp()]
    for word, is_word in zip(words[1:], word_masks[1:], strict=True):
        forward.append(torch.where(is_word, _normalized(forward[-1] @ steps * word), forward[-1]))
    for word, is_word in zip(words[:0:-1], word_masks[:0:-1], strict=True):
        backward.append(torch.where(is_word, _normalized(word * backward[-1] @ steps.T), backward[0]))
    probabilities = _normalized(torch.stack(forward, 1) * torch.stack(backward[::-1], 1))
    return probabilities.to(emissions.dtype)


def _normalized(values: Tensor) -> Tensor:
    """The values, scaled to sum to 1 in the last dimension."""
    return values / values.sum(-1, keepdim=True)


class _LogPartition(torch.autograd.Function):
    """The logarithm of the sum over all tag sequences, and its gradient: the probabilities of tags and transitions.

    Forward and backward probabilities are scaled to sum to one (Rabiner 1989, section V.A) instead of being kept as
    logarithms, so a word costs one small matrix product. In fp64, they underflow only if the scores of two tags of a
    word differ by 700. Autograd over one `logsumexp` per word takes three times as long.
    """

    @staticmethod
    def forward(ctx: Any, emissions: Tensor, mask: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
        steps = transitions.double().exp()
        scores = emissions.to(torch.float64, copy=True)
        scores[:, 0] += start
        highest, last = scores.amax(2, keepdim=True), end.double()
        likelihoods = (scores - highest).exp()
        word_mask = mask.unsqueeze(2)
        totals = [likelihoods[:, 0].sum(1, keepdim=True)]
        forward = [likelihoods[:, 0] / totals[0]]
        for likelihood, is_word in zip(likelihoods.unbind(1)[1:], word_mask.unbind(1)[1:], strict=True):
            following = forward[-1] @ steps * likelihood
            totals.append(following.sum(1, keepdim=True))
            forward.append(torch.where(is_word, following / totals[-1], forward[-1]))
        highest_end = last.amax(1, keepdim=True)
        ending = (last - highest_end).exp()
        final = (forward[-1] * ending).sum(1, keepdim=True)
        sums = torch.stack(totals, 1)
        ctx.save_for_backward(steps, likelihoods / sums, torch.stack(forward, 1), ending / final, word_mask)
        logs = torch.where(word_mask, sums.log() + highest, 0.0).sum(1) + final.log() + highest_end
        return logs.squeeze(1).to(emissions.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor, Tensor, Tensor]:
        steps, likelihoods, forward, ending, word_mask = ctx.saved_tensors
        backward, ahead, back = [ending], [], steps.T
        for likelihood, is_word in zip(likelihoods.unbind(1)[:0:-1], word_mask.unbind(1)[:0:-1], strict=True):
            ahead.append(torch.where(is_word, likelihood * backward[-1], 0.0))
            backward.append(torch.where(is_word, ahead[-1] @ back, backward[-1]))
        weight = gradient.double().view(-1, 1, 1)
        tags = forward * torch.stack(backward[::-1], 1) * weight
        pairs = torch.zeros_like(steps)
        if ahead:
            pairs = steps * ((forward[:, :-1] * weight).flatten(0, 1).T @ torch.stack(ahead[::-1], 1).flatten(0, 1))
        tag_gradient = torch.where(word_mask, tags, 0.0).to(gradient.dtype)
        return tag_gradient, None, *(part.to(gradient.dtype) for part in (pairs, tags[:, 0], tags[:, -1]))  # type: ignore[return-value]


log_partition: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor] = _LogPartition.apply
"""The log partition function. It has the arguments of `marginals`, with start and end per row. Shape: (batch,)."""


class ConditionalRandomField(nn.Module):
    """Scores of tag-to-tag transitions, learnt together with the emissions. Forbidden transitions are never taken.

    Args:
        tags: The tag set, which defines the allowed sequences.
    """

    def __init__(self, tags: TagSet) -> None:
        super().__init__()
        count = len(tags.names)
        self.transitions = nn.Parameter(torch.zeros(count, count))
        self.start, self.end = nn.Parameter(torch.zeros(count)), nn.Parameter(torch.zeros(count))
        self.forbidden: Tensor
        self.forbidden_start: Tensor
        self.forbidden_end: Tensor
        self.register_buffer("forbidden", (~tags.allowed) * FORBIDDEN, persistent=False)
        self.register_buffer("forbidden_start", (~tags.allowed_start) * FORBIDDEN, persistent=False)
        self.register_buffer("forbidden_end", (~tags.allowed_end) * FORBIDDEN, persistent=False)

    def _scores(self) -> tuple[Tensor, Tensor, Tensor]:
        return (self.transitions + self.forbidden, self.start + self.forbidden_start, self.end + self.forbidden_end)

    def loss(self, emissions: Tensor, tags: Tensor, mask: Tensor, begins: Tensor, ends: Tensor) -> Tensor:
        """Negative log-likelihood of the tags, the mean over the words of the batch.

        Args:
            emissions: Shape: (batch, words, tags).
            tags: Tag indices; any valid index after the last word. Shape: (batch, words).
            mask: Shape: (batch, words).
            begins: Whether a row begins where its sentence does; a window that cuts an entity may begin inside it.
                Shape: (batch,).
            ends: Whether a row ends where its sentence does. Shape: (batch,).
        """
        transitions, start, end = self._scores()
        start, end = start * begins.unsqueeze(1), end * ends.unsqueeze(1)
        emissions = emissions.float()
        last = tags.gather(1, mask.sum(1, keepdim=True) - 1).squeeze(1)
        path = start.gather(1, tags[:, :1]).squeeze(1) + end.gather(1, last.unsqueeze(1)).squeeze(1)
        path = path + (emissions.gather(2, tags.unsqueeze(2)).squeeze(2) * mask).sum(1)
        path = path + (transitions[tags[:, :-1], tags[:, 1:]] * mask[:, 1:]).sum(1)
        return (log_partition(emissions, mask, transitions, start, end) - path).sum() / mask.sum()

    def decode(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The best legal tag sequences; see `viterbi`."""
        return viterbi(emissions.float(), mask, *self._scores())

    def marginals(self, emissions: Tensor, mask: Tensor, borders: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """The probability of each tag over all legal sequences; see `marginals`.

        Args:
            borders: Which rows begin and which end where their sentences do, see `loss`; None for all.
        """
        transitions, start, end = self._scores()
        if borders is not None:
            start, end = start * borders[0].unsqueeze(1), end * borders[1].unsqueeze(1)
        return marginals(emissions.float(), mask, transitions, start, end)
