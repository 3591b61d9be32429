"""Embeddings of sentences: the mean over the last hidden states of their subwords."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nersery.core.errors import SettingsError
from nersery.core.settings.typed_settings import Precision
from nersery.models.likelihoods.likelihood import Text
from nersery.models.passes import PassShape, window_passes, windows_at_once
from nersery.models.pretrained.loading import ModelSource, autocast, pick_device, position_count
from nersery.models.subwords.collation import collate
from nersery.models.subwords.subwords import SubwordEncoder
from nersery.models.subwords.windows import Window

Embeddings = NDArray[np.float32]

LENGTH_MULTIPLE = 4
"""Every forward pass is padded to a multiple of this many subwords; see `by_length`."""
CHUNK = 8192
"""Texts that are sorted by length together."""


class TextEncoder:
    """A pretrained encoder that turns texts into vectors of length 1, so that a dot product is a cosine.

    A text longer than the model is read in overlapping windows, and every word counts once.

    Args:
        source: A model by name or folder. Of an encoder-decoder the encoder is used.
        device, precision: See `nersery.models.pretrained.model_settings.ModelSettings`.

    Raises:
        MissingResourceError: If there is no such model.
    """

    def __init__(self, source: ModelSource, *, device: str = "auto", precision: Precision = "auto") -> None:
        whole = source.encoder()
        network = whole.get_encoder() if whole.config.is_encoder_decoder else whole
        self._adopt(network.to(pick_device(device)), source.tokenizer(), source, precision)

    @classmethod
    def of(cls, network: Any, tokenizer: Any, source: ModelSource) -> Self:
        """An encoder from a network in memory, which stays on its device. Messages name the source."""
        encoder = cls.__new__(cls)
        encoder._adopt(network, tokenizer, source, "auto")
        return encoder

    def _adopt(self, network: Any, tokenizer: Any, source: ModelSource, precision: Precision) -> None:
        self.source, self.precision, self.device = source, precision, network.device
        self.network: Any = network.eval()
        self.subwords = SubwordEncoder(tokenizer, position_count(network))

    def sentences(self, texts: Sequence[Text]) -> Embeddings:
        """A vector per text: the mean over its subwords and special tokens, as in sentence encoders.

        Shape: (texts, dimension).

        Raises:
            SettingsError: If the model computes NaN.
        """
        sums = np.zeros((len(texts), int(self.network.config.hidden_size)))
        counts = np.zeros(len(texts))
        for numbers, windows, shape in self._passes(texts):
            hidden = self._hidden(windows, shape)
            mask = torch.zeros(hidden.shape[:2])
            for row, window in enumerate(windows):
                mask[row, self._counted(window)] = 1
            mask = mask.to(self.device)
            pooled = (hidden * mask.unsqueeze(2)).sum(1).cpu().numpy()
            np.add.at(sums, numbers, pooled[: len(windows)])
            np.add.at(counts, numbers, mask.sum(1).cpu().numpy()[: len(windows)])
        rows = sums / np.maximum(counts, 1)[:, None]
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(norms).all():
            raise SettingsError(
                f'the model "{self.source.name}" computes NaN. Use precision = "fp32", or another model'
            )
        return (rows / np.where(norms > 0, norms, 1)).astype(np.float32)

    def _passes(self, texts: Sequence[Text]) -> Iterator[tuple[list[int], list[Window], PassShape]]:
        for start in range(0, len(texts), CHUNK):
            chunk = enumerate(texts[start : start + CHUNK], start)
            owned = [(number, window) for number, text in chunk for window in self.subwords.windows(text)]
            yield from window_passes(owned, lambda _: windows_at_once(self.device), LENGTH_MULTIPLE)

    def _counted(self, window: Window) -> list[int]:
        """Positions of the special tokens, and of the subwords of the words in the core of the window."""
        spans = self.subwords.word_spans(window)
        core = spans[window.core[0] - window.start : window.core[1] - window.start]
        length = len(window.subwords)
        front, back = len(self.subwords.prefix), length - len(self.subwords.suffix)
        return [*range(front), *range(core[0][0] if core else 0, core[-1][1] if core else 0), *range(back, length)]

    @torch.no_grad()
    def _hidden(self, windows: Sequence[Window], shape: PassShape) -> Tensor:
        """The hidden states of the last layer. Shape: (windows at once, subwords, dimension)."""
        batch = collate(windows, self.subwords.pad, longest=self.subwords.max_subwords, **shape).to(self.device)
        with autocast(self.device, self.precision):
            output = self.network(input_ids=batch.input_ids, attention_mask=batch.attention_mask)
        return output.last_hidden_state.float()
