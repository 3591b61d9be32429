"""Draw texts from an encoder-decoder, many at once, each the same to the last bit whatever is drawn beside it.

A product of matrices rounds differently for other shapes. So every pass has a number of rows and a source length that
follow from each of its texts alone. Texts of like source length are drawn together, subword by subword, spread over
several passes; when enough of them have ended, the others move together into fewer.
"""

from __future__ import annotations

import contextlib
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from nersery.core.errors import MissingResourceError
from nersery.models.loading import ModelSource, eager_attention, refuse_nan
from nersery.models.seq2seq.seq2seq_inputs import Sampling

SOURCES = 16
"""Sources in one pass through the encoder."""
ROWS, ROWS_ON_GPU, LEAST_ROWS = 64, 256, 4
"""Texts in one pass through the decoder. A GPU needs many to be busy; a CPU is soon busy, and with fewer rows less is
computed for texts that have ended. What is longer than `POSITIONS`, source and text together, gets fewer."""
POSITIONS = 256
PASSES = 4
"""Passes that are under way at the same time."""
SHORTEST = 32
"""Sources are padded to this length, or twice, four times, … as much."""
BLOCK = 64
"""Subwords of the vocabulary of which the best is looked at first."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to draw a text for.

    Args:
        source: Its subwords, with special tokens.
        lead: What the decoder is given before it writes.
        end: What it writes when it is done.
        rng: The only chance there is.
    """

    source: tuple[int, ...]
    lead: tuple[int, ...]
    end: int
    rng: random.Random


@dataclass(slots=True)
class Draft:
    """A text while it is drawn.

    Args:
        end: The subword that ends it, which is not kept.
        log_probability: Of all subwords together, the end included.
    """

    end: int
    subwords: list[int] = field(default_factory=list)
    log_probability: float = 0.0
    finished: bool = False

    def add(self, subword: int, log_probability: float) -> None:
        """Go on with a subword."""
        self.log_probability += log_probability
        if subword == self.end:
            self.finished = True
        else:
            self.subwords.append(subword)

    @property
    def mean(self) -> float:
        """The log probability a subword."""
        return self.log_probability / max(1, len(self.subwords) + self.finished)

    @property
    def rank(self) -> tuple[bool, float]:
        """By which the best of several is found; a finished one goes before any unfinished one."""
        return self.finished, self.mean


@dataclass(frozen=True, slots=True)
class DecoderPass:
    """Texts that go through the decoder together.

    Args:
        texts: Their numbers; those behind the first ``size`` are copies that fill it up.
        states: What the encoder made of the sources. Shape: (rows, subwords, width).
        mask: 1 for a subword of a source, 0 for padding. Shape: (rows, subwords).
    """

    texts: Tensor
    size: int
    states: Tensor
    mask: Tensor
    cache: EncoderDecoderCache

    @classmethod
    def of(cls, texts: Sequence[int], tensors: Sequence[Tensor], size: int) -> DecoderPass:
        """From what `tensors` told."""
        states, mask, *layers = tensors
        cache = EncoderDecoderCache(zip(*(layers[number::4] for number in range(4)), strict=True))
        return cls(torch.tensor(texts, device=mask.device), size, states, mask, cache)

    def tensors(self) -> list[Tensor]:
        """All that is kept of the texts. Shape of each: (rows, …)."""
        return [self.states, self.mask, *_layers(self.cache)]

    def unfinished(self, drafts: Sequence[Draft]) -> list[int]:
        """The places of texts that have not ended."""
        return [place for place, text in enumerate(self.texts.tolist()[: self.size]) if not drafts[text].finished]


class Sampler:
    """Draws texts, several for each source, and keeps the most probable.

    Args:
        network: Of transformers, in evaluation mode.
        source: Its name, for messages.
        pad: The id that fills up short sources.
        barred: Ids that are never drawn.
        longest: The most subwords that source and text may have.
    """

    def __init__(
        self, network: Any, source: ModelSource, sampling: Sampling, *, pad: int, barred: Sequence[int], longest: int
    ) -> None:
        self._network, self._source, self._sampling = network, source, sampling
        self._pad, self._longest = pad, longest
        self._barred = torch.tensor(barred, dtype=torch.long, device=network.device)

    @torch.no_grad()  # in inference mode autocast would cast all weights anew in every pass
    def draw(self, requests: Sequence[Request]) -> list[Draft]:
        """The best text for each; see `Draft.rank`."""
        by_shape: dict[tuple[int, bool, int], list[int]] = defaultdict(list)
        for number, request in enumerate(requests):
            by_shape[*self._shape(request.source), len(request.lead)].append(number)
        best: dict[int, Draft] = {}
        candidates = self._sampling.candidates
        for (length, *_), numbers in sorted(by_shape.items()):
            rows = self._rows(length)
            at_once = max(1, PASSES * rows // candidates)
            for start in range(0, len(numbers), at_once):
                part = numbers[start : start + at_once]
                drafts = self._drafts([requests[number] for number in part], length, rows)
                for place, number in enumerate(part):
                    own = drafts[place * candidates : (place + 1) * candidates]
                    best[number] = max(own, key=lambda draft: draft.rank)
        return [best[number] for number in range(len(requests))]

    def _shape(self, source: Sequence[int]) -> tuple[int, bool]:
        """The length that a source is padded to, and whether there is no padding at all.

        Models leave out the mask, and so compute otherwise, when no source of a pass is padded.
        """
        length = SHORTEST
        while length <= len(source):
            length *= 2
        return min(length, self._longest), len(source) == self._longest

    def _rows(self, length: int) -> int:
        """How many texts there are in a pass, for sources of some length."""
        most = ROWS_ON_GPU if self._network.device.type == "cuda" else ROWS
        return max(LEAST_ROWS, most * POSITIONS // max(POSITIONS, length + self._sampling.max_subwords))

    def _drafts(self, requests: Sequence[Request], length: int, rows: int) -> list[Draft]:
        """Texts for sources of like length, all candidates of a source side by side."""
        candidates = self._sampling.candidates
        drafts = [Draft(request.end) for request in requests for _ in range(candidates)]
        noise = self._noise(requests)
        values, ids, *tensors = self._read(requests, length)
        owners = torch.arange(len(drafts), device=ids.device) // candidates
        self._extend(drafts, values[owners], ids[owners], noise[:, 0])
        texts = [text for text, draft in enumerate(drafts) if not draft.finished]
        passes = _packed(texts, [text // candidates for text in texts], tensors, rows)
        with eager_attention(self._network) if ids.device.type == "cpu" else contextlib.nullcontext():
            for step in range(1, min(self._sampling.max_subwords, self._longest - len(requests[0].lead)) + 1):
                for part in passes:
                    drafted = [drafts[text] for text in part.texts.tolist()]
                    values, ids = self._next(part, [draft.subwords[-1] for draft in drafted])
                    self._extend(drafted[: part.size], values, ids, noise[part.texts, step])
                passes = _moved_together(passes, drafts, rows)
        return drafts

    def _noise(self, requests: Sequence[Request]) -> Tensor:
        """Gumbel noise, which turns the best choice into a drawn one. Shape: (texts, steps, top_k)."""
        shape = (self._sampling.max_subwords + 1, self._sampling.candidates, self._sampling.top_k)
        drawn = [np.random.default_rng(request.rng.getrandbits(64)).standard_exponential(shape) for request in requests]
        noise = -np.log(np.stack(drawn)).astype(np.float32)
        return torch.from_numpy(noise).transpose(1, 2).flatten(0, 1).to(self._network.device)

    def _read(self, requests: Sequence[Request], length: int) -> list[Tensor]:
        """Choices for the first subword of each source, and what a `DecoderPass` keeps. Shape of each: (sources, …)."""
        parts = []
        for start in range(0, len(requests), SOURCES):
            part = requests[start : start + SOURCES]
            filled = [*part, *[part[0]] * (SOURCES - len(part))]
            ids = [request.source + (self._pad,) * (length - len(request.source)) for request in filled]
            known = [[1] * len(request.source) + [0] * (length - len(request.source)) for request in filled]
            mask = torch.tensor(known, device=self._network.device)
            output = self._network(
                input_ids=torch.tensor(ids, device=mask.device),
                attention_mask=mask,
                decoder_input_ids=torch.tensor([request.lead for request in filled], device=mask.device),
                use_cache=True,
            )
            if not isinstance(output.past_key_values, EncoderDecoderCache):
                raise MissingResourceError(
                    f'the model "{self._source.name}" keeps no cache as BART and T5 do, which generation needs. Name '
                    "another encoder-decoder"
                )
            layers = _layers(output.past_key_values)
            tensors = [*self._choices(output.logits), output.encoder_last_hidden_state, mask, *layers]
            parts.append([tensor[: len(part)] for tensor in tensors])
        return [torch.cat(column) for column in zip(*parts, strict=True)]

    def _next(self, part: DecoderPass, last: Sequence[int]) -> tuple[Tensor, Tensor]:
        """The choices for the next subwords, behind the last ones."""
        output = self._network(
            encoder_outputs=BaseModelOutput(last_hidden_state=part.states),
            attention_mask=part.mask,
            decoder_input_ids=torch.tensor(last, device=part.mask.device)[:, None],
            past_key_values=part.cache,
            use_cache=True,
        )
        return self._choices(output.logits)

    def _choices(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Log probabilities of the best next subwords, and their ids. Shape of each: (rows, top_k)."""
        scores = logits[:, -1].float().index_fill_(1, self._barred, -torch.inf).log_softmax(-1)
        return largest(scores, min(self._sampling.top_k, scores.shape[-1] - len(self._barred)))

    def _extend(self, drafts: Sequence[Draft], values: Tensor, ids: Tensor, noise: Tensor) -> None:
        """Draw the next subword of each text, and add it to those that have not ended."""
        chosen = (values + noise[:, : values.shape[1]]).argmax(-1, keepdim=True)
        drawn = torch.cat((ids.gather(1, chosen).double(), values.gather(1, chosen).double()), 1).cpu()
        refuse_nan(drawn, self._source)
        for draft, (subword, log_probability) in zip(drafts, drawn.tolist(), strict=False):
            if not draft.finished:
                draft.add(int(subword), log_probability)


def largest(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """As `torch.topk` of each row, several times as fast where rows are long.

    The largest of a row are in the blocks whose own largest are the largest.
    """
    blocks = scores.shape[1] // BLOCK
    if count >= blocks:
        return scores.topk(count)
    whole, rest = scores[:, : blocks * BLOCK], scores[:, blocks * BLOCK :]
    best = whole.view(-1, blocks, BLOCK).amax(2).topk(count).indices
    places = (best[:, :, None] * BLOCK + torch.arange(BLOCK, device=best.device)).flatten(1)
    values, where = torch.cat((whole.gather(1, places), rest), 1).topk(count)
    behind = torch.arange(blocks * BLOCK, scores.shape[1], device=best.device).expand(len(scores), -1)
    return values, torch.cat((places, behind), 1).gather(1, where)


def _layers(cache: EncoderDecoderCache) -> list[Tensor]:
    """Keys and values of each layer, those of the text and those of the source."""
    both = zip(cache.self_attention_cache.layers, cache.cross_attention_cache.layers, strict=True)
    return [tensor for layers in both for layer in layers for tensor in (layer.keys, layer.values)]


def _packed(texts: Sequence[int], places: Sequence[int], tensors: Sequence[Tensor], rows: int) -> list[DecoderPass]:
    """Passes of so many rows.

    Args:
        places: Where each text stands in the tensors.
    """
    passes = []
    for start in range(0, len(texts), rows):
        size = len(texts[start : start + rows])
        numbers = [*range(start, start + size), *[start] * (rows - size)]
        where = torch.tensor([places[number] for number in numbers], device=tensors[0].device)
        kept = [tensor.index_select(0, where) for tensor in tensors]
        passes.append(DecoderPass.of([texts[number] for number in numbers], kept, size))
    return passes


def _moved_together(passes: list[DecoderPass], drafts: Sequence[Draft], rows: int) -> list[DecoderPass]:
    """The passes, or fewer of them where the texts that have not ended have room there."""
    places = [part.unfinished(drafts) for part in passes]
    count = sum(map(len, places))
    if -(-count // rows) == len(passes):
        return passes
    if not count:
        return []
    texts = [part.texts.tolist()[place] for part, own in zip(passes, places, strict=True) for place in own]
    kept = ([tensor[own] for tensor in part.tensors()] for part, own in zip(passes, places, strict=True) if own)
    return _packed(texts, range(count), [torch.cat(column) for column in zip(*kept, strict=True)], rows)
