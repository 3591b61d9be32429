"""Probabilities of texts under causal language models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from nersery.core.settings.typed_settings import Precision
from nersery.models.likelihoods.likelihood import Likelihood, Text
from nersery.models.passes import PassShape, window_passes
from nersery.models.pretrained.loading import (
    ModelSource,
    autocast,
    pick_device,
    position_count,
    quiet_transformers,
    refuse_nan,
)
from nersery.models.subwords.collation import collate
from nersery.models.subwords.subwords import SubwordEncoder
from nersery.models.subwords.windows import MAX_SUBWORDS, Window

PASS_SUBWORDS = 1024
LENGTH_MULTIPLE = 8
"""The shape of a forward pass depends on each of its windows alone (see `by_length`): the length is padded to a
multiple of 8, and there are as many rows as fit into `PASS_SUBWORDS`."""


class CausalLM:
    """A causal language model that scores texts.

    A text is its words joined by single spaces. It starts with the BOS token, or with EOS if there is none, as in the
    training of GPT-2. Neither this token nor the end of the text is scored; without either token, the first subword is
    not scored. A text longer than the model is read in overlapping windows: each subword is scored once, with at least
    half a window before it.

    Args:
        source: A model by name or folder.
        device, precision: See `nersery.models.pretrained.model_settings.ModelSettings`.

    Attributes:
        begin: The token before every text: one id, or none.
        max_subwords: The longest window, BOS included.

    Raises:
        MissingResourceError: If there is no such model.
    """

    kind: Literal["perplexity", "pseudo-perplexity"] = "perplexity"

    def __init__(self, source: ModelSource, *, device: str = "auto", precision: Precision = "auto") -> None:
        self.source, self.precision = source, precision
        self.device = pick_device(device)
        self.network: Any = source.model("AutoModelForCausalLM", whole=True).to(self.device).eval()
        self.tokenizer: Any = source.tokenizer()
        tokens = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)
        self.begin: tuple[int, ...] = next(((int(token),) for token in tokens if token is not None), ())
        limits = (position_count(self.network), self.tokenizer.model_max_length, MAX_SUBWORDS)
        self.max_subwords = int(min(limit for limit in limits if limit is not None))

    def likelihoods(self, texts: Sequence[Text]) -> list[Likelihood]:
        """The likelihood of each text, independent of the others; a `SettingsError` if the model computes NaN."""
        likelihoods = [Likelihood()] * len(texts)
        for numbers, windows, shape in self._passes(texts):
            for number, window, row in zip(numbers, windows, self._scores(windows, shape), strict=True):
                start, end = window.core
                likelihoods[number] += Likelihood(math.fsum(row[start - window.start :]), end - start)
        return likelihoods

    def vocabulary_issue(self, words: Sequence[str]) -> str:
        """Evidence that the model was made for other languages; see `SubwordEncoder.vocabulary_issue`."""
        return SubwordEncoder(self.tokenizer).vocabulary_issue(words)

    def _passes(self, texts: Sequence[Text]) -> Iterator[tuple[list[int], list[Window], PassShape]]:
        if not texts:
            return
        with quiet_transformers():  # it warns about texts longer than the model, which we split
            encoded = self.tokenizer([" ".join(text) for text in texts], add_special_tokens=False)
        owned = [
            (number, window)
            for number, subwords in enumerate(encoded["input_ids"])
            for window in _windows((*self.begin, *subwords), self.max_subwords)
        ]
        yield from window_passes(owned, lambda length: PASS_SUBWORDS // length, LENGTH_MULTIPLE)

    @torch.no_grad()
    def _scores(self, windows: Sequence[Window], shape: PassShape) -> list[list[float]]:
        """Log probabilities of the subwords of each window, given the subwords before them; 0 for the first."""
        pad = int(self.tokenizer.pad_token_id or 0)  # at the end, where causal attention does not see it
        batch = collate(windows, pad, longest=self.max_subwords, **shape).to(self.device)
        ids, mask = batch.input_ids, batch.attention_mask
        with autocast(self.device, self.precision):
            logits: Tensor = self.network(input_ids=ids, attention_mask=mask, use_cache=False).logits
        logs = -nn.functional.cross_entropy(logits[:, :-1].float().transpose(1, 2), ids[:, 1:], reduction="none")
        rows = [row[: len(window.subwords) - 1] for row, window in zip(logs, windows, strict=False)]
        refuse_nan(torch.cat(rows), self.source)
        return [[0.0, *row.tolist()] for row in rows]


def _windows(subwords: tuple[int, ...], room: int) -> Iterator[Window]:
    """The windows of a text, with each subword as a word. The first window scores all its subwords except the first.
    The others score their second half.
    """
    start, scored = 0, 1
    while scored < len(subwords):
        end = min(start + room, len(subwords))
        yield Window(subwords[start:end], tuple(range(end - start)), start, (scored, end))
        scored = end
        start = scored - room // 2
