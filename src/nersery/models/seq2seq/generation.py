"""Samples texts from an encoder-decoder in batches. A text does not depend on those sampled with it, to the last bit.

A matrix product rounds differently for other shapes. The number of rows and the source length of a pass therefore
depend on each of its texts alone. Texts with sources of similar length are sampled together, one subword per step, in
several passes. As texts end, the others are packed into fewer passes.
"""

from __future__ import annotations

import contextlib
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput

from nersery.core.batched import batched
from nersery.core.errors import MissingResourceError
from nersery.models.pretrained.loading import ModelSource, eager_attention
from nersery.models.seq2seq.hypotheses import CompetingCandidates, Hypothesis, IndependentCandidates
from nersery.models.seq2seq.seq2seq_inputs import Sampling

CACHE = "cache" if "cache" in Seq2SeqLMOutput.__dataclass_fields__ else "past_key_values"
"""The cache of the decoder in calls and outputs of a network. Before transformers 5.24, it had the second name."""
SOURCES = 16
"""Sources in one pass through the encoder."""
ROWS, ROWS_ON_GPU, MIN_ROWS = 64, 256, 4
"""Texts in one pass through the decoder. A GPU needs many texts to be busy. On a CPU, fewer rows waste less work on
ended texts. Passes longer than `POSITIONS`, source and text together, have fewer rows."""
POSITIONS = 256
PASSES = 4
"""Passes in progress at the same time."""
MIN_LENGTH = 32
"""Sources are padded to this length, or to this length times 2, 4, …"""
BLOCK = 64
"""Subwords per block of the vocabulary; see `largest`."""


@dataclass(frozen=True, slots=True)
class SamplingRequest:
    """A text to sample.

    Args:
        source: The subwords of the source, with special tokens.
        decoder_prefix: The decoder input before the text.
        end: The token that ends the text.
        rng: The only source of randomness.
    """

    source: tuple[int, ...]
    decoder_prefix: tuple[int, ...]
    end: int
    rng: random.Random


@dataclass(frozen=True, slots=True)
class DecoderPass:
    """Texts that go through the decoder together.

    Args:
        texts: Numbers of the texts. Those after the first ``size`` are copies that fill up the pass.
        states: The encoder output. Shape: (rows, subwords, width).
        mask: 1 for a subword of a source, 0 for padding. Shape: (rows, subwords).
    """

    texts: Tensor
    size: int
    states: Tensor
    mask: Tensor
    cache: EncoderDecoderCache

    @classmethod
    def of(cls, texts: Sequence[int], tensors: Sequence[Tensor], size: int) -> DecoderPass:
        """A pass with the tensors that `tensors` returns."""
        states, mask, *layers = tensors
        cache = EncoderDecoderCache(zip(*(layers[number::4] for number in range(4)), strict=True))
        return cls(torch.tensor(texts, device=mask.device), size, states, mask, cache)

    def tensors(self) -> list[Tensor]:
        """All tensors of the texts. Shape of each: (rows, …)."""
        return [self.states, self.mask, *_layers(self.cache)]

    def unfinished(self, hypotheses: Sequence[Hypothesis]) -> list[int]:
        """The places of unfinished texts in the pass."""
        return [place for place, text in enumerate(self.texts.tolist()[: self.size]) if not hypotheses[text].finished]


class Sampler:
    """Samples several texts for each source, independently or as beams, and keeps the most probable.

    Args:
        network: A network of transformers, in evaluation mode.
        source: The model, for messages.
        pad: The padding id of sources.
        suppressed: Ids that are never sampled.
        longest: The most subwords of source and text together.
    """

    def __init__(
        self,
        network: Any,
        source: ModelSource,
        sampling: Sampling,
        *,
        pad: int,
        suppressed: Sequence[int],
        longest: int,
    ) -> None:
        self._network, self._source, self._sampling = network, source, sampling
        self._pad, self._longest = pad, longest
        self._suppressed = torch.tensor(suppressed, dtype=torch.long, device=network.device)

    @torch.no_grad()  # not inference_mode; see `autocast`
    def draw(self, requests: Sequence[SamplingRequest]) -> list[Hypothesis]:
        """The best text for each request; see `Hypothesis.rank`."""
        by_shape: dict[tuple[int, bool, int], list[int]] = defaultdict(list)
        for number, request in enumerate(requests):
            by_shape[*self._shape(request.source), len(request.decoder_prefix)].append(number)
        best: dict[int, Hypothesis] = {}
        candidates = self._sampling.candidates
        for (length, *_), numbers in sorted(by_shape.items()):
            rows = self._rows(length)
            at_once = max(1, PASSES * rows // candidates)
            for part in batched(numbers, at_once):
                hypotheses = self._hypotheses([requests[number] for number in part], length, rows)
                for place, number in enumerate(part):
                    of_source = hypotheses[place * candidates : (place + 1) * candidates]
                    best[number] = max(of_source, key=lambda hypothesis: hypothesis.rank)
        return [best[number] for number in range(len(requests))]

    def _shape(self, source: Sequence[int]) -> tuple[int, bool]:
        """The padded length of a source, and whether it needs no padding.

        Models drop the mask if no source of a pass is padded, which rounds differently.
        """
        length = MIN_LENGTH
        while length <= len(source):
            length *= 2
        return min(length, self._longest), len(source) == self._longest

    def _rows(self, length: int) -> int:
        """The number of texts per pass for a padded length of sources. The beams of a source stay together."""
        max_rows = ROWS_ON_GPU if self._network.device.type == "cuda" else ROWS
        rows = max(MIN_ROWS, max_rows * POSITIONS // max(POSITIONS, length + self._sampling.max_subwords))
        width = self._sampling.candidates if self._sampling.beams else 1
        return max(1, rows // width) * width

    def _hypotheses(self, requests: Sequence[SamplingRequest], length: int, rows: int) -> Sequence[Hypothesis]:
        """Texts for sources of one padded length. The candidates of a source are side by side."""
        count = self._sampling.candidates
        kind = CompetingCandidates if self._sampling.beams else IndependentCandidates
        candidates = kind([request.end for request in requests], count, self._source)
        generators = [np.random.default_rng(request.rng.getrandbits(64)) for request in requests]
        values, ids, *tensors = self._read(requests, length)
        owners = torch.arange(len(requests) * count, device=ids.device) // count
        candidates.extend(range(len(owners)), values[owners], ids[owners], self._noise(generators, values))
        texts = [text for text, hypothesis in enumerate(candidates.hypotheses) if not hypothesis.finished]
        passes = _packed(texts, [text // count for text in texts], tensors, rows)
        with eager_attention(self._network) if ids.device.type == "cpu" else contextlib.nullcontext():
            for _ in range(1, min(self._sampling.max_subwords, self._longest - len(requests[0].decoder_prefix)) + 1):
                if not passes:
                    break
                noise = self._noise(generators, values)
                for part in passes:
                    self._step(part, candidates, noise[part.texts])
                passes = _repacked(passes, candidates.hypotheses, rows)
        return candidates.best()

    def _step(self, part: DecoderPass, candidates: IndependentCandidates | CompetingCandidates, noise: Tensor) -> None:
        texts, hypotheses = part.texts.tolist(), candidates.hypotheses
        values, ids = self._next(part, [hypotheses[text].subwords[-1] for text in texts])
        used = slice(part.size)
        order = [*candidates.extend(texts[used], values[used], ids[used], noise[used]), *range(part.size, len(texts))]
        if order != [*range(len(texts))]:
            part.cache.self_attention_cache.reorder_cache(torch.tensor(order, device=ids.device))

    def _noise(self, generators: Sequence[np.random.Generator], values: Tensor) -> Tensor:
        """Gumbel noise for the next subwords, with which the argmax becomes a sample. Shape: (texts, top_k).

        Args:
            generators: One for each source.
            values: The result of `_choices`.
        """
        # One step at a time, because all steps of a large `top_k` or `max_subwords` would fill the memory with noise.
        shape = (self._sampling.candidates, values.shape[1])
        noise = -np.log(np.stack([generator.standard_exponential(shape) for generator in generators]))
        return torch.from_numpy(noise.astype(np.float32)).flatten(0, 1).to(self._network.device)

    def _read(self, requests: Sequence[SamplingRequest], length: int) -> list[Tensor]:
        """Choices for the first subword of each source, and the tensors of a `DecoderPass`. Shape: (sources, …)."""
        parts = []
        for part in batched(requests, SOURCES):
            filled = [*part, *[part[0]] * (SOURCES - len(part))]
            ids = [request.source + (self._pad,) * (length - len(request.source)) for request in filled]
            known = [[1] * len(request.source) + [0] * (length - len(request.source)) for request in filled]
            mask = torch.tensor(known, device=self._network.device)
            output = self._network(
                input_ids=torch.tensor(ids, device=mask.device),
                attention_mask=mask,
                decoder_input_ids=torch.tensor([request.decoder_prefix for request in filled], device=mask.device),
                use_cache=True,
            )
            cache = getattr(output, CACHE)
            if not isinstance(cache, EncoderDecoderCache):
                raise MissingResourceError(
                    f'the model "{self._source.name}" keeps no cache as BART and T5 do, which generation needs. Name '
                    "another encoder-decoder"
                )
            tensors = [*self._choices(output.logits), output.encoder_last_hidden_state, mask, *_layers(cache)]
            parts.append([tensor[: len(part)] for tensor in tensors])
        return [torch.cat(column) for column in zip(*parts, strict=True)]

    def _next(self, part: DecoderPass, last: Sequence[int]) -> tuple[Tensor, Tensor]:
        output = self._network(
            encoder_outputs=BaseModelOutput(last_hidden_state=part.states),
            attention_mask=part.mask,
            decoder_input_ids=torch.tensor(last, device=part.mask.device)[:, None],
            use_cache=True,
            **{CACHE: part.cache},
        )
        return self._choices(output.logits)

    def _choices(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Log probabilities of the best next subwords, and their ids. Shape of each: (rows, top_k)."""
        scores = logits[:, -1].float().index_fill_(1, self._suppressed, -torch.inf).log_softmax(-1)
        return largest(scores, min(self._sampling.top_k, scores.shape[-1] - len(self._suppressed)))


def largest(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The result of `torch.topk` for each row, several times faster for long rows.

    The largest values lie in the blocks with the largest maxima.
    """
    blocks = scores.shape[1] // BLOCK
    if count >= blocks:
        return scores.topk(count)
    whole, rest = scores[:, : blocks * BLOCK], scores[:, blocks * BLOCK :]
    best = whole.view(-1, blocks, BLOCK).amax(2).topk(count).indices
    places = (best[:, :, None] * BLOCK + torch.arange(BLOCK, device=best.device)).flatten(1)
    values, chosen = torch.cat((whole.gather(1, places), rest), 1).topk(count)
    behind = torch.arange(blocks * BLOCK, scores.shape[1], device=best.device).expand(len(scores), -1)
    return values, torch.cat((places, behind), 1).gather(1, chosen)


def _layers(cache: EncoderDecoderCache) -> list[Tensor]:
    """The keys and values of each layer, for the text and for the source."""
    both = zip(cache.self_attention_cache.layers, cache.cross_attention_cache.layers, strict=True)
    return [tensor for layers in both for layer in layers for tensor in (layer.keys, layer.values)]


def _packed(texts: Sequence[int], places: Sequence[int], tensors: Sequence[Tensor], rows: int) -> list[DecoderPass]:
    """Passes of ``rows`` texts.

    Args:
        places: The row of each text in the tensors.
    """
    passes = []
    for start in range(0, len(texts), rows):
        size = len(texts[start : start + rows])
        numbers = [*range(start, start + size), *[start] * (rows - size)]
        index = torch.tensor([places[number] for number in numbers], device=tensors[0].device)
        kept = [tensor.index_select(0, index) for tensor in tensors]
        passes.append(DecoderPass.of([texts[number] for number in numbers], kept, size))
    return passes


def _repacked(passes: list[DecoderPass], hypotheses: Sequence[Hypothesis], rows: int) -> list[DecoderPass]:
    """The passes, packed into fewer passes if their unfinished texts fit."""
    places = [part.unfinished(hypotheses) for part in passes]
    count = sum(map(len, places))
    if -(-count // rows) == len(passes):
        return passes
    if not count:
        return []
    texts = [part.texts.tolist()[place] for part, rest in zip(passes, places, strict=True) for place in rest]
    kept = ([tensor[rest] for tensor in part.tensors()] for part, rest in zip(passes, places, strict=True) if rest)
    return _packed(texts, range(count), [torch.cat(column) for column in zip(*kept, strict=True)], rows)
