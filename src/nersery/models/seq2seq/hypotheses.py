"""The texts that are sampled for each source, either independently or as beams that compete after each subword."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from nersery.models.pretrained.loading import ModelSource, refuse_nan


@dataclass(slots=True)
class Hypothesis:
    """A text that is being sampled.

    Args:
        end: The token that ends the text, which is not part of ``subwords``.
        log_probability: Sum of the log probabilities of the subwords, the end included.
    """

    end: int
    subwords: list[int] = field(default_factory=list)
    log_probability: float = 0.0
    finished: bool = False

    def add(self, subword: int, log_probability: float) -> None:
        """Append a subword."""
        self.log_probability += log_probability
        if subword == self.end:
            self.finished = True
        else:
            self.subwords.append(subword)

    @property
    def mean(self) -> float:
        """The mean log probability of its subwords."""
        return self.log_probability / max(1, len(self.subwords) + self.finished)

    @property
    def rank(self) -> tuple[bool, float]:
        """The sort key of candidates. Finished ones rank first."""
        return self.finished, self.mean


class IndependentCandidates:
    """Texts that are sampled independently.

    Args:
        ends: For each source the token that ends its texts.
        count: Texts per source.
        source: The model, for messages.
    """

    def __init__(self, ends: Sequence[int], count: int, source: ModelSource) -> None:
        self._source = source
        self.hypotheses = [Hypothesis(end) for end in ends for _ in range(count)]

    def extend(self, texts: Sequence[int], values: Tensor, ids: Tensor, noise: Tensor) -> list[int]:
        """Write the next subword of some unfinished texts, and return the place in ``texts`` of each one's parent.

        Here each text is its own parent.

        Args:
            texts: The numbers of the texts.
            values: Log probabilities of the best next subwords. Shape: (texts, top_k).
            ids: Those subwords. Shape: (texts, top_k).
            noise: Gumbel noise. The largest sum of value and noise is a random draw. Shape: (texts, top_k).
        """
        chosen = (values + noise).argmax(-1, keepdim=True)
        drawn = torch.cat((ids.gather(1, chosen).double(), values.gather(1, chosen).double()), 1).cpu()
        refuse_nan(drawn, self._source)
        for text, (subword, log_probability) in zip(texts, drawn.tolist(), strict=True):
            if not self.hypotheses[text].finished:
                self.hypotheses[text].add(int(subword), log_probability)
        return [*range(len(texts))]

    def best(self) -> list[Hypothesis]:
        """The texts of all sources at the end of the search."""
        return self.hypotheses


class Beams:
    """The texts of one source.

    Args:
        end: The token that ends a text.
        width: The number of texts written at a time, and the number that must have ended before the search ends.

    Attributes:
        running: Unfinished texts. Until there are enough, placeholders of probability 0, which are never continued.
        ended: Ended texts, in the order in which they ended.
    """

    def __init__(self, end: int, width: int) -> None:
        self.end, self.width, self.ended = end, width, list[Hypothesis]()
        self.running = [Hypothesis(end), *(self._impossible() for _ in range(width - 1))]

    def _impossible(self) -> Hypothesis:
        return Hypothesis(self.end, [self.end], -math.inf)

    @property
    def are_done(self) -> bool:
        """Whether the search is over."""
        return len(self.ended) >= self.width or all(
            math.isinf(hypothesis.log_probability) for hypothesis in self.running
        )

    def advance(self, continuations: Sequence[tuple[int, int, float]]) -> list[int]:
        """Continue the best texts, and return the place of the parent of each running text.

        Args:
            continuations: Two for each text, best first: the number of a running text, its next subword, and the log
                probability of that subword. Texts can end only with one of the first half.
        """
        if self.are_done:
            return [*range(self.width)]
        # There are twice as many continuations as beams, so that enough are left if some of them end their text. An
        # ended text in the second half would not have had its own beam, and is dropped.
        parents: list[int] = []
        running: list[Hypothesis] = []
        for rank, (parent, subword, log_probability) in enumerate(continuations):
            before = self.running[parent]
            if math.isinf(before.log_probability + log_probability) or len(running) == self.width:
                continue
            hypothesis = Hypothesis(self.end, [*before.subwords], before.log_probability)
            hypothesis.add(subword, log_probability)
            if not hypothesis.finished:
                parents.append(parent)
                running.append(hypothesis)
            elif rank < self.width:
                self.ended.append(hypothesis)
        missing = self.width - len(running)
        self.running = [*running, *(self._impossible() for _ in range(missing))]
        if self.are_done:
            for hypothesis in self.running:
                hypothesis.finished = True  # decoder passes then drop it
        return [*parents, *[0] * missing]

    def best(self) -> list[Hypothesis]:
        """A text for each beam: finished texts first, then by mean log probability, highest first."""
        unfinished = [
            Hypothesis(self.end, hypothesis.subwords, hypothesis.log_probability) for hypothesis in self.running
        ]
        return sorted([*self.ended, *unfinished], key=lambda hypothesis: hypothesis.rank, reverse=True)[: self.width]


class CompetingCandidates:
    """Texts that compete with the others of their source: beam search with top-k sampling.

    After each subword, the continuations of all texts of a source are drawn from the top k without replacement, in
    proportion to the probability of the whole text (Gumbel top-k), so that improbable texts give way to better ones.

    Reference:
        Kool, van Hoof and Welling (2019). Stochastic Beams and Where to Find Them. ICML. Unlike there, the noise of a
        subword does not depend on that of the subwords before.
    """

    def __init__(self, ends: Sequence[int], count: int, source: ModelSource) -> None:
        self._source, self._width = source, count
        self._sources = [Beams(end, count) for end in ends]

    @property
    def hypotheses(self) -> list[Hypothesis]:
        """The unfinished texts."""
        return [hypothesis for beams in self._sources for hypothesis in beams.running]

    def extend(self, texts: Sequence[int], values: Tensor, ids: Tensor, noise: Tensor) -> list[int]:
        """See `IndependentCandidates.extend`; texts of a source come together."""
        sources = [self._sources[text // self._width] for text in texts[:: self._width]]
        width, choices = self._width, values.shape[1]
        # Gumbel top-k: the largest sums of log probability and noise are a draw without replacement. The noise only
        # chooses the continuations. A text keeps its own log probability, without noise.
        before = torch.tensor([hypothesis.log_probability for beams in sources for hypothesis in beams.running])
        total = before.to(values.device)[:, None] + values + noise
        refuse_nan(values, self._source)
        best = total.view(len(sources), -1).topk(min(2 * width, width * choices)).indices
        subwords, log_probabilities = (
            tensor.reshape(len(sources), -1).gather(1, best).tolist() for tensor in (ids, values)
        )
        order = []
        for number, (beams, places) in enumerate(zip(sources, best.tolist(), strict=True)):
            parents = [place // choices for place in places]
            continuations = zip(parents, subwords[number], log_probabilities[number], strict=True)
            order += [number * width + parent for parent in beams.advance(list(continuations))]
        return order

    def best(self) -> list[Hypothesis]:
        """The best texts of each source; see `Beams.best`."""
        return [hypothesis for beams in self._sources for hypothesis in beams.best()]
