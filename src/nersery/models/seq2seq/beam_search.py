"""Beam search with top-k sampling: the texts of a source compete after each subword."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from nersery.models.loading import eager_attention, refuse_nan
from nersery.models.seq2seq.generation import (
    DecoderPass,
    Draft,
    Request,
    Sampler,
    generators_of,
    moved_together,
    packed,
)


@dataclass(slots=True)
class Beams:
    """The texts of one source.

    Args:
        end: The token that ends a text.
        width: How many are written at a time, and how many must have ended before the search does.
        running: Unfinished texts; until there are enough, some have no probability and are never continued.
        ended: In the order in which they did.
    """

    end: int
    width: int
    running: list[Draft] = field(default_factory=list)
    ended: list[Draft] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.running = [Draft(self.end), *(self._impossible() for _ in range(self.width - 1))]

    def _impossible(self) -> Draft:
        return Draft(self.end, [self.end], -math.inf)

    @property
    def are_done(self) -> bool:
        """Whether the search is over."""
        return len(self.ended) >= self.width or all(math.isinf(draft.log_probability) for draft in self.running)

    def advance(self, continuations: Sequence[tuple[int, int, float]]) -> list[int]:
        """Go on with the best texts, and return the place of the text that each of them continues.

        Args:
            continuations: Two for each text, the best first: a running text, its next subword, and the
                log probability of that. Texts end only with one of the first half.
        """
        if self.are_done:
            return [*range(self.width)]
        # There are twice as many continuations as beams, so that enough are left when some of them end their text. One
        # that ends among the second half would not have had a beam of its own, and is dropped.
        parents: list[int] = []
        running: list[Draft] = []
        for rank, (parent, subword, log_probability) in enumerate(continuations):
            before = self.running[parent]
            if math.isinf(before.log_probability + log_probability) or len(running) == self.width:
                continue
            draft = Draft(self.end, [*before.subwords], before.log_probability)
            draft.add(subword, log_probability)
            if not draft.finished:
                parents.append(parent)
                running.append(draft)
            elif rank < self.width:
                self.ended.append(draft)
        missing = self.width - len(running)
        self.running = [*running, *(self._impossible() for _ in range(missing))]
        if self.are_done:
            for draft in self.running:
                draft.finished = True  # the decoder passes no longer carry it
        return [*parents, *[0] * missing]

    def best(self) -> list[Draft]:
        """A text for each beam, finished ones first, then by their mean log probability."""
        unfinished = [Draft(self.end, draft.subwords, draft.log_probability) for draft in self.running]
        return sorted([*self.ended, *unfinished], key=lambda draft: draft.rank, reverse=True)[: self.width]


class BeamSearch(Sampler):
    """Searches with beams, whose continuations are drawn from the top k without replacement.

    After each subword, the continuations of all texts of a source are drawn in proportion to the probability of the
    whole text (Gumbel top-k), so that improbable texts give way to better ones. The arguments are those of `Sampler`;
    a source has a beam for each candidate.

    Reference:
        Kool, van Hoof and Welling (2019). Stochastic Beams and Where to Find Them. ICML. Unlike there, the noise of a
        subword does not depend on that of the subwords before.
    """

    def _rows(self, length: int) -> int:
        """Texts per pass; the beams of a source stay together."""
        width = self._sampling.candidates
        return max(1, super()._rows(length) // width) * width

    def _drafts(self, requests: Sequence[Request], length: int, rows: int) -> list[Draft]:
        width = self._sampling.candidates
        sources = [Beams(request.end, width) for request in requests]
        generators = generators_of(requests)
        values, ids, *tensors = self._read(requests, length)
        owners = torch.arange(len(sources) * width, device=ids.device) // width
        self._advance(sources, values[owners], ids[owners], self._noise(generators, values))
        texts = [n for n in range(len(owners)) if not sources[n // width].are_done]
        passes = packed(texts, [text // width for text in texts], tensors, rows)
        with eager_attention(self._network) if ids.device.type == "cpu" else contextlib.nullcontext():
            for _ in range(1, min(self._sampling.max_subwords, self._longest - len(requests[0].lead)) + 1):
                if not passes:
                    break
                noise = self._noise(generators, values)
                for part in passes:
                    self._step(part, sources, noise[part.texts])
                passes = moved_together(passes, [draft for beams in sources for draft in beams.running], rows)
        return [draft for beams in sources for draft in beams.best()]

    def _step(self, part: DecoderPass, sources: Sequence[Beams], noise: Tensor) -> None:
        """Write one subword of each text of a pass."""
        width, texts = self._sampling.candidates, part.texts.tolist()
        values, ids = self._next(part, [sources[n // width].running[n % width].subwords[-1] for n in texts])
        present = [sources[n // width] for n in texts[: part.size : width]]
        order = self._advance(present, values[: part.size], ids[: part.size], noise[: part.size])
        filling = range(part.size, len(texts))
        part.cache.self_attention_cache.reorder_cache(torch.tensor([*order, *filling], device=ids.device))

    def _advance(self, sources: Sequence[Beams], values: Tensor, ids: Tensor, noise: Tensor) -> list[int]:
        """Let the texts of each source compete; from which row each text that goes on comes.

        Args:
            values: Log probabilities of the best next subwords. Shape: (texts, top_k).
            ids: Those subwords. Shape: (texts, top_k).
            noise: Shape: (texts, top_k).
        """
        width, choices = self._sampling.candidates, values.shape[1]
        # Gumbel top-k: the largest of log probabilities plus noise are a draw without replacement. The noise decides
        # who goes on; the text keeps its own log probability, without noise.
        before = torch.tensor([draft.log_probability for beams in sources for draft in beams.running])
        total = before.to(values.device)[:, None] + values + noise
        refuse_nan(values, self._source)
        found = total.view(len(sources), -1).topk(min(2 * width, width * choices)).indices
        subwords, log_probabilities = (
            tensor.reshape(len(sources), -1).gather(1, found).tolist() for tensor in (ids, values)
        )
        order = []
        for number, (beams, places) in enumerate(zip(sources, found.tolist(), strict=True)):
            parents = [place // choices for place in places]
            continuations = zip(parents, subwords[number], log_probabilities[number], strict=True)
            order += [number * width + parent for parent in beams.advance(list(continuations))]
        return order
